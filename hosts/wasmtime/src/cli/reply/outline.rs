//! Replies about sections of an outline: read, written, checked, removed.

use std::fmt::Write as _;

use serde::Deserialize;

use super::{
    super::output::{BOLD, DIMMED, GREEN, Output, YELLOW, counted, grouped, instant, plain, table},
    Human,
    memories::length,
    ownership::{Lease, Owner},
};

/// Reply of `read_section`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct ReadSections {
    sections: Vec<Section>,
    pub(crate) more: Vec<String>,
}

/// A section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Section {
    marker: String,
    title: String,
    #[serde(default)]
    summary: String,
    #[serde(default)]
    status: String,
    progress: Option<u64>,
    content: Option<String>,
    tokens: u64,
    is_hidden: bool,
    pruned: Option<String>,
    #[serde(default)]
    shortcuts: Vec<Shortcut>,
    file: Option<File>,
    #[serde(default)]
    readers: Vec<String>,
    version: u64,
    changed_at: String,
    changed_by: Owner,
    lease: Option<Lease>,
    versions: Vec<u64>,
    redacted: Option<Redacted>,
}

/// A shortcut of the index.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Shortcut {
    need: String,
    marker: String,
    label: Option<String>,
}

/// A file that a section refers to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct File {
    path: String,
    size: u64,
    purpose: String,
    modified_at: Option<String>,
    digest: Option<String>,
}

/// What a redaction left.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Redacted {
    digest: String,
    reason: String,
}

/// Reply of `put_section`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct WrittenSection {
    marker: String,
    version: u64,
    tokens: u64,
    lease: Option<Lease>,
    warnings: Vec<Finding>,
    advice: Vec<Advice>,
    revision: u64,
}

/// A section to look at after a change.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Advice {
    marker: String,
    when: String,
}

/// Reply of `read_index`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct OutlineIndex {
    pub(crate) text: String,
    omitted: Vec<u64>,
    shortcuts_omitted: u64,
}

/// Reply of `check_outline`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct OutlineFindings {
    findings: Vec<Finding>,
}

/// An inconsistency.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Finding {
    code: String,
    marker: String,
    message: String,
}

/// Reply of `delete_section`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct DeletedSection {
    #[serde(rename = "deleted_section")]
    marker: String,
    version: u64,
    revision: u64,
}

/// Reply of `redact_section`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct RedactedSection {
    #[serde(rename = "redacted_section")]
    marker: String,
    digests: Vec<String>,
    revision: u64,
}

impl Human for ReadSections {
    fn human(&self, output: Output) -> String {
        if self.sections.is_empty() {
            return format!("{DIMMED}it leads to no section of this level{DIMMED:#}\n");
        }
        self.sections.iter().map(|it| it.human(output)).collect::<Vec<_>>().join("\n")
    }
}

impl Human for Section {
    /// Formats the title, what the section says, and who owns it.
    fn human(&self, output: Output) -> String {
        let Self { marker, title, status, version, changed_at, changed_by, .. } = self;
        let mut text = format!("{BOLD}{} {}{BOLD:#}", plain(marker), plain(title));
        if !status.is_empty() {
            let _ = write!(text, " [{}]", plain(status));
        }
        if let Some(it) = self.progress {
            let _ = write!(text, " {it} %");
        }
        text.push('\n');
        if !self.summary.is_empty() {
            let _ = writeln!(text, "{}", output.wrapped("", "", &plain(&self.summary)));
        }
        let _ = write!(text, "\n{}\n", self.said(output));
        let mut facts = vec![format!(
            "version {version} by {} at {} UTC, {}",
            changed_by.text(),
            instant(changed_at),
            counted(self.tokens, "token")
        )];
        if let [_, .., _] = &*self.versions {
            let kept: Vec<String> = self.versions.iter().map(ToString::to_string).collect();
            facts.push(format!("versions kept: {}", kept.join(", ")));
        }
        if !self.readers.is_empty() {
            facts.push(format!("readers: {}", self.readers.join(", ")));
        }
        facts.extend(self.lease.as_ref().map(|it| format!("owned by {}", it.text())));
        for fact in facts {
            let _ = writeln!(text, "{DIMMED}{}{DIMMED:#}", plain(&fact));
        }
        text
    }
}

impl Section {
    /// Formats the content, or why there is none; then the file and the shortcuts.
    fn said(&self, output: Output) -> String {
        let mut text = match (&self.redacted, &self.content) {
            (Some(Redacted { digest, reason }), _) => {
                format!("redacted: {}\n{}\n", plain(reason), plain(digest))
            }
            (None, Some(content)) if content.is_empty() => String::new(),
            (None, Some(content)) => format!("{}\n", plain(content).trim_end()),
            (None, None) if self.is_hidden => self.hidden(output),
            (None, None) => {
                let reason = plain(self.pruned.as_deref().unwrap_or_default());
                let level = self.marker.chars().nth(1).unwrap_or('1');
                let said = format!("not loaded: {reason}; --level {level} shows it");
                format!("{}\n", output.wrapped("", "", &said))
            }
        };
        if let Some(File { path, size, purpose, modified_at, digest }) = &self.file {
            let (path, purpose) = (plain(path), plain(purpose));
            let _ = writeln!(text, "{path}: {purpose}, {} bytes", grouped(*size));
            if let Some(it) = modified_at {
                let _ = writeln!(text, "  changed {} UTC", instant(it));
            }
            if let Some(it) = digest {
                let _ = writeln!(text, "  {}", plain(it));
            }
        }
        for Shortcut { need, marker, label } in &self.shortcuts {
            let label = label.as_ref().map_or(String::new(), |it| format!(" {it}"));
            let line = format!("{need} → {marker}{label}");
            let _ = writeln!(text, "{}", plain(&line));
        }
        text
    }

    fn hidden(&self, output: Output) -> String {
        let (owner, verb) = match &self.lease {
            Some(it) => (&it.owner, "owns"),
            None => (&self.changed_by, "wrote"),
        };
        let said =
            format!("only its readers see what it says; ask {}, who {verb} it", owner.text());
        format!("{}\n", output.wrapped("", "", &plain(&said)))
    }
}

impl Human for WrittenSection {
    /// Formats what was written, its warnings, and which sections to look at.
    fn human(&self, _: Output) -> String {
        let Self { marker, version, tokens, lease, warnings, advice, revision } = self;
        let (marker, tokens) = (plain(marker), counted(*tokens, "token"));
        let mut text = format!(
            "{GREEN}✓{GREEN:#} {BOLD}{marker}{BOLD:#} version {version} written: {tokens}, \
             revision {revision}\n"
        );
        if let Some(it) = lease {
            let _ = writeln!(text, "  {DIMMED}owned by {}{DIMMED:#}", plain(&it.text()));
        }
        for Finding { code, message, .. } in warnings {
            let _ = writeln!(text, "{YELLOW}! {}{YELLOW:#} {}", plain(code), plain(message));
        }
        for Advice { marker, when } in advice {
            let _ = writeln!(text, "  look at {}: {}", plain(marker), plain(when));
        }
        text
    }
}

impl OutlineIndex {
    /// Returns how much did not fit.
    pub(crate) fn omitted(&self) -> Option<String> {
        let sections = self.omitted.iter().sum();
        let counts = [(sections, "section"), (self.shortcuts_omitted, "shortcut")];
        let counts: Vec<String> =
            counts.iter().filter(|it| it.0 > 0).map(|it| counted(it.0, it.1)).collect();
        (!counts.is_empty()).then(|| counts.join(" and "))
    }
}

impl Human for OutlineFindings {
    /// Formats the findings as a table.
    fn human(&self, output: Output) -> String {
        if self.findings.is_empty() {
            return format!("{GREEN}✓{GREEN:#} nothing found\n");
        }
        let row = |it: &Finding| vec![it.marker.clone(), it.code.clone(), it.message.clone()];
        let rows: Vec<_> = self.findings.iter().map(row).collect();
        let mut text = table(output, &["SECTION", "FINDING", "~WHAT TO DO"], &rows);
        let _ = writeln!(text, "{DIMMED}{}{DIMMED:#}", counted(length(&self.findings), "finding"));
        text
    }
}

impl Human for DeletedSection {
    fn human(&self, _: Output) -> String {
        let Self { marker, version, revision } = self;
        let marker = plain(marker);
        format!(
            "{GREEN}✓{GREEN:#} {BOLD}{marker}{BOLD:#} version {version} deleted, with those \
             before it; revision {revision}\n"
        )
    }
}

impl Human for RedactedSection {
    fn human(&self, _: Output) -> String {
        let Self { marker, digests, revision } = self;
        let (marker, versions) = (plain(marker), counted(length(digests), "version"));
        let mut text = format!(
            "{GREEN}✓{GREEN:#} {BOLD}{marker}{BOLD:#} redacted, revision {revision}\n\
             {DIMMED}{versions} removed; the digest of each remains:{DIMMED:#}\n"
        );
        for digest in digests {
            let _ = writeln!(text, "  {}", plain(digest));
        }
        text
    }
}
