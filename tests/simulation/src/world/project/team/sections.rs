//! The contents of sections, as derived from commits: no acknowledged write is lost (spec 20.2).

use std::collections::BTreeMap;

use serde_json::Value;

/// A section.
#[derive(Debug, Clone)]
struct Section {
    version: u64,
    /// Its content; `None` if it was redacted.
    content: Option<String>,
}

/// The sections by their markers.
#[derive(Debug, Default)]
pub(super) struct Sections(BTreeMap<String, Section>);

impl Sections {
    /// Notes a write. Returns the version.
    pub(super) fn put(&mut self, marker: &str, content: Option<&str>) -> u64 {
        let before = self.0.get(marker);
        let new = content.filter(|it| before.is_none() || !it.starts_with("PRUNE:"));
        let kept = || before.map_or_else(|| Some(String::new()), |it| it.content.clone());
        let content = new.map_or_else(kept, |it| Some(it.to_owned()));
        let version = before.map_or(0, |it| it.version) + 1;
        self.0.insert(marker.to_owned(), Section { version, content });
        version
    }

    pub(super) fn delete(&mut self, marker: &str) {
        self.0.remove(marker);
    }

    pub(super) fn redact(&mut self, marker: &str) {
        if let Some(it) = self.0.get_mut(marker) {
            it.content = None;
        }
    }

    pub(super) fn has(&self, marker: &str) -> bool {
        self.0.contains_key(marker)
    }

    /// Checks a section that was read.
    pub(super) fn check(&self, read: &Value) -> Result<(), String> {
        let marker = read["marker"].as_str().unwrap_or_default();
        let Some(known) = self.0.get(marker) else { return Err(format!("{marker} is not there")) };
        if read["version"].as_u64() != Some(known.version) {
            return Err(format!("{marker} has version {}", known.version));
        }
        let content = read["content"].as_str();
        let is_withheld = read["is_hidden"] == true || read.get("pruned").is_some();
        if content == known.content.as_deref() || (content.is_none() && is_withheld) {
            return Ok(());
        }
        Err(format!("{marker} says {:?}", known.content))
    }
}
