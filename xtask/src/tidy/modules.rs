//! Words that would carry a layer's business into another, and the modules that may
//! use them.
//!
//! It leaves out which module of a crate may name which: that is [`super::order`].

use super::{File, Finding, tokens::Tokens};

const CORE: &str = "components/core/src/";

/// Words that only some files may contain; tests may use them anywhere.
struct Reserved {
    words: &'static [&'static str],
    /// Under this path …
    path: &'static str,
    /// … only these modules of the crate, if any, may use them.
    modules: &'static [&'static str],
    why: &'static str,
}

const RESERVED: &[Reserved] = &[
    Reserved {
        words: &["postcard", "serde", "Serialize", "Deserialize"],
        path: CORE,
        modules: &["record", "row", "rows"],
        why: "only record and a system's `rows` know the stored form: give them a type of their \
              own and convert",
    },
    Reserved {
        words: &["Kv", "Clock", "Log", "Ports"],
        path: CORE,
        modules: &["execute", "port", "kv", "memory_kv"],
        why: "only execute uses the ports: take the value it read as an argument",
    },
    Reserved {
        words: &["Bucket"],
        path: CORE,
        modules: &["execute", "session", "project", "port", "kv", "memory_kv", "stored"],
        why: "only session, project and a system's `stored` read rows: take the value as an argument",
    },
    Reserved {
        words: &["serde_json"],
        path: CORE,
        modules: &[
            "canonical",
            "rounds",
            "assembly",
            "kept",
            "packets",
            "summary",
            "package",
            "free_text",
            "material",
        ],
        why: "the core knows no JSON but the state of rounds, envelopes, packets, packages and the lists in \
              entries: that is the codec's",
    },
    Reserved {
        words: &["http", "StatusCode"],
        path: "components/codec/src/",
        modules: &[],
        why: "the codec knows no HTTP: name a code and let wire choose the status",
    },
    Reserved {
        words: &[
            "TcpListener",
            "TcpStream",
            "UdpSocket",
            "js_sys",
            "rusqlite",
            "tokio",
            "wasm_bindgen",
            "wasmtime",
            "web_sys",
        ],
        path: "components/",
        modules: &[],
        why: "components know no runtime, socket or storage: those are the host's",
    },
    Reserved {
        words: &["fs"],
        path: "components/",
        modules: &[],
        why: "components touch no file: take bytes as an argument",
    },
    Reserved {
        words: &["Kv", "key_value", "sqlite"],
        path: "hosts/spin/front/src/",
        modules: &[],
        why: "the front knows no storage: ask it by the interface `buckets`",
    },
    Reserved {
        words: &["http", "StatusCode"],
        path: "hosts/spin/storage/src/",
        modules: &[],
        why: "the storage knows no HTTP: that is the front's",
    },
    Reserved {
        words: &["env", "fs", "net", "thread"],
        path: "hosts/spin/",
        modules: &[],
        why: "there is no system beneath: what Spin gives is imported by hosts/spin/wit/world.wit",
    },
];

/// Checks every Rust file of the components and of the host for Spin.
pub(super) fn check(files: &[File]) -> Vec<Finding> {
    files.iter().flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Finding> {
    let Some(module) = module_of(&file.path) else { return Vec::new() };
    let tokens = match Tokens::read(&file.text, &module) {
        Ok(tokens) => tokens,
        Err(error) => return vec![Finding::fault(&file.path, 1, format!("is no Rust: {error}"))],
    };
    let mut findings = Vec::new();
    for rule in RESERVED.iter().filter(|rule| file.path.starts_with(rule.path)) {
        if module.iter().any(|part| rule.modules.contains(&part.as_str())) {
            continue;
        }
        findings.extend(tokens.words.iter().filter_map(|(word, line)| {
            let is_reserved = rule.words.contains(&word.as_str());
            is_reserved.then(|| Finding::fault(&file.path, *line, format!("{word}: {}", rule.why)))
        }));
    }
    findings
}

/// The module the file at `path` is, from its crate's root; `None` when it is
/// not in the `src` folder of a component or of the host for Spin.
fn module_of(path: &str) -> Option<Vec<String>> {
    let mut places = ["components/", "hosts/spin/"].iter();
    let (_, inside) = places.find_map(|it| path.strip_prefix(it))?.split_once("/src/")?;
    let mut parts: Vec<String> =
        inside.strip_suffix(".rs")?.split('/').map(str::to_owned).collect();
    if matches!(parts.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        parts.pop();
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::{super::file, *};

    fn is_refused(path: &str, text: &str) -> bool {
        !check(&[file(path, text)]).is_empty()
    }

    #[test]
    fn only_execute_uses_the_ports() {
        let text = "use crate::{port::{Clock, Kv, Log}, Ports};";
        assert!(!is_refused("components/core/src/execute.rs", text));
        assert!(is_refused("components/core/src/session/mod.rs", text));
        assert!(is_refused("components/core/src/project/mod.rs", text));
        assert!(!is_refused("components/core/src/project/mod.rs", "use crate::kv::Bucket;"));
        let stored = "components/core/src/rounds/stored/mod.rs";
        assert!(!is_refused(stored, "use crate::kv::Bucket;"));
        assert!(is_refused(stored, "use crate::port::Ports;"));
    }

    #[test]
    fn only_record_knows_the_stored_form() {
        assert!(!is_refused("components/core/src/record.rs", "use serde::Serialize;"));
        assert!(!is_refused("components/codec/src/lib.rs", "use serde::Serialize;"));
        assert!(is_refused("components/core/src/key.rs", "#[derive(serde::Serialize)] struct A;"));
    }

    #[test]
    fn the_core_knows_the_json_of_rounds_only() {
        assert!(!is_refused("components/core/src/rounds/json.rs", "use serde_json::Value;"));
        assert!(is_refused("components/core/src/reply.rs", "use serde_json::Value;"));
    }

    #[test]
    fn the_outside_stays_outside() {
        assert!(is_refused("components/codec/src/lib.rs", "use http::StatusCode;"));
        assert!(!is_refused("components/wire/src/lib.rs", "use http::StatusCode;"));
        assert!(is_refused("components/wire/src/lib.rs", "use std::net::TcpStream;"));
        assert!(is_refused("components/wire/src/lib.rs", "use wasm_bindgen::JsValue;"));
        assert!(is_refused("components/wire/src/lib.rs", "use std::fs;"));
        assert!(!is_refused("components/wire/tests/all.rs", "use std::fs;"));
        assert!(!is_refused("hosts/wasmtime/src/lib.rs", "use std::net::TcpStream;"));
        assert!(is_refused("hosts/spin/front/src/lib.rs", "use std::net::TcpStream;"));
    }

    #[test]
    fn on_spin_one_part_minds_requests_and_one_storage() {
        assert!(!is_refused("hosts/spin/front/src/lib.rs", "use http::StatusCode;"));
        assert!(is_refused("hosts/spin/storage/src/lib.rs", "use http::StatusCode;"));
        assert!(is_refused("hosts/spin/front/src/lib.rs", "use spin::sqlite::Connection;"));
        assert!(!is_refused("hosts/spin/storage/src/kv.rs", "use spin::sqlite::Connection;"));
    }
}
