//! The configuration of workerd, in Cap'n Proto, written to the data folder at each start.
//!
//! The modules are those in the build folder. The compatibility date, the flags and the
//! classes of objects come from `wrangler.jsonc`, so that tests run what users deploy.

use std::{
    fmt::Write as _,
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::workerd::{Setup, modules};

/// The test module around the Worker.
const UNDER_TEST: &str = "under_test.mjs";
/// A WebAssembly module whose function `trap` traps like compiled code:
/// `(module (func (export "trap") unreachable))`.
const TRAP: &[u8] = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x02\x01\0\x07\x08\x01\x04trap\0\0\x0a\x05\x01\x03\0\0\x0b";

/// A configuration, and the files it names.
#[derive(Debug)]
pub(crate) struct Config {
    text: String,
    /// The name and the path of each module.
    linked: Vec<(String, PathBuf)>,
}

impl Config {
    /// Creates the configuration for `setup`.
    pub(crate) fn of(setup: &Setup) -> Result<Self, String> {
        let built = setup.place.built();
        let mut linked: Vec<_> =
            modules(&built)?.into_iter().map(|it| (it.clone(), built.join(it))).collect();
        // The first module is the Worker.
        linked.sort_by_key(|(name, _)| name != "worker.mjs");
        if setup.is_under_test {
            let around = Path::new(env!("CARGO_MANIFEST_DIR")).join("js").join(UNDER_TEST);
            linked.insert(0, (UNDER_TEST.to_owned(), around));
        }
        let settings = setup.place.settings();
        let settings = fs::read_to_string(&settings)
            .map_err(|error| format!("{}: {error}", settings.display()))?;
        let text = text(setup, &linked, &settings)?;
        Ok(Self { text, linked })
    }

    /// Writes it and links to the modules below `folder`; returns its path.
    pub(crate) fn write(self, folder: &Path) -> io::Result<PathBuf> {
        let worker = folder.join("worker");
        if worker.exists() {
            fs::remove_dir_all(&worker)?;
        }
        fs::create_dir_all(&worker)?;
        fs::create_dir_all(folder.join("objects"))?;
        for (name, path) in self.linked {
            symlink(path, worker.join(name))?;
        }
        fs::write(worker.join("trap.wasm"), TRAP)?;
        let path = worker.join("config.capnp");
        fs::write(&path, self.text)?;
        Ok(path)
    }
}

fn text(setup: &Setup, linked: &[(String, PathBuf)], settings: &str) -> Result<String, String> {
    let settings: Value = serde_json::from_str(&without_comments(settings))
        .map_err(|error| format!("wrangler.jsonc: {error}"))?;
    let date = settings["compatibility_date"].as_str().ok_or("wrangler.jsonc has no date")?;
    let date = quoted(date);
    let flags =
        settings["compatibility_flags"].as_array().map_or_else(|| json!([]), |it| json!(it));
    let mut modules = String::new();
    let trap = setup.is_under_test.then_some("trap.wasm");
    for name in linked.iter().map(|(name, _)| name.as_str()).chain(trap) {
        let is_wasm = Path::new(name).extension().is_some_and(|it| it == "wasm");
        let kind = if is_wasm { "wasm" } else { "esModule" };
        // Writing to a string does not fail.
        let _ = write!(modules, "(name = {0}, {kind} = embed {0}), ", quoted(name));
    }
    let (mut bindings, mut classes) = (String::new(), String::new());
    for (name, value) in &setup.texts {
        let _ = write!(bindings, "(name = {}, text = {}), ", quoted(name), quoted(value));
    }
    for binding in settings["durable_objects"]["bindings"].as_array().into_iter().flatten() {
        let class = binding["class_name"].as_str().unwrap_or_default();
        let _ = write!(
            bindings,
            "(name = {}, durableObjectNamespace = {}), ",
            binding["name"],
            quoted(class),
        );
        let _ = write!(
            classes,
            "(className = {}, uniqueKey = {}, enableSql = true), ",
            quoted(class),
            quoted(&class.to_lowercase()),
        );
    }
    let objects = quoted(&setup.folder.join("objects").to_string_lossy());
    Ok(format!(
        r#"using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "objects", disk = (path = {objects}, writable = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  compatibilityDate = {date},
  compatibilityFlags = {flags},
  modules = [{modules}],
  bindings = [{bindings}],
  durableObjectNamespaces = [{classes}],
  durableObjectStorage = (localDisk = "objects"),
);
"#
    ))
}

/// Removes the comments from `text`, which is JSON with comments.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for line in text.lines() {
        let (mut is_in_text, mut is_escaped) = (false, false);
        let comment = line.char_indices().find(|&(at, it)| {
            let is_quote = it == '"' && !is_escaped;
            is_escaped = it == '\\' && is_in_text && !is_escaped;
            is_in_text ^= is_quote;
            !is_in_text && line[at..].starts_with("//")
        });
        plain.push_str(comment.map_or(line, |(at, _)| &line[..at]));
        plain.push('\n');
    }
    plain
}

/// Quotes `text` for Cap'n Proto, which escapes like JSON.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_may_have_comments() {
        let settings = "{\n  // A date.\n  \"compatibility_date\": \"2026-11-01\", // not later\n  \
            \"url\": \"https://a\\\"//b\" // that\n}";
        let settings: Value = serde_json::from_str(&without_comments(settings)).unwrap();
        assert_eq!(settings, json!({"compatibility_date": "2026-11-01", "url": "https://a\"//b"}));
    }
}
