//! The dependencies that crates may have: the arrows of docs/ARCHITECTURE.md, as a table.
//!
//! Dependencies within a crate are not here: see [`super::modules`].

use super::{File, Finding};
use crate::workspace::{Dependency, Package};

/// The dependencies that one crate may have.
struct Layer {
    name: &'static str,
    /// The members it may use, in tests too.
    members: &'static [&'static str],
    /// The other crates it may use outside of its tests.
    others: Others,
}

enum Others {
    Any,
    /// A positive list: each one was weighed.
    Only(&'static [&'static str]),
    /// All but these, and why.
    Not(&'static [&'static str], &'static str),
}

const CORE: &str = "shared-context-core";
const CODEC: &str = "shared-context-codec";
const MEMORY_TOOL: &str = "shared-context-memory-tool";
const WIRE: &str = "shared-context-wire";
const COMPONENT: &str = "shared-context-component";
const CONTEXT: &str = "shared-context-context";
const WASMTIME: &str = "shared-context-wasmtime";
const CLOUDFLARE: &str = "shared-context-cloudflare";
const SPIN_FRONT: &str = "shared-context-spin-front";
const SPIN_STORAGE: &str = "shared-context-spin-storage";
const CONFORMANCE: &str = "shared-context-conformance";
const SPIN_TESTS: &str = "shared-context-spin-tests";
const SYSTEM: &str = "shared-context-system";
const WORKERS: &str = "shared-context-workers";

/// Crates by which a program reaches the outside.
const OUTSIDE: &[&str] =
    &["axum", "hyper", "hyper-util", "reqwest", "rusqlite", "tokio", "ureq", "wasmtime"];

/// Crates that know JavaScript, which is around the module in a Worker only.
const JAVASCRIPT: &[&str] = &[
    "js-sys",
    "serde-wasm-bindgen",
    "wasm-bindgen",
    "wasm-bindgen-futures",
    "wasm-streams",
    "web-sys",
    "worker",
    "worker-sys",
];

/// The same and HTTP, for what only knows bytes and rows.
const OUTSIDE_AND_HTTP: &[&str] =
    &["axum", "http", "hyper", "hyper-util", "reqwest", "rusqlite", "tokio", "ureq", "wasmtime"];

const LAYERS: &[Layer] = &[
    Layer {
        name: CORE,
        members: &[],
        others: Others::Only(&[
            "jiff",
            "postcard",
            "rsonpath-syntax",
            "serde",
            "serde_json",
            "sha2",
            "strsim",
        ]),
    },
    Layer {
        name: CODEC,
        members: &[CORE],
        others: Others::Not(
            OUTSIDE_AND_HTTP,
            "the codec turns bytes into commands and knows no HTTP, no host and no storage",
        ),
    },
    Layer {
        name: MEMORY_TOOL,
        members: &[CORE, CODEC],
        others: Others::Not(
            OUTSIDE_AND_HTTP,
            "the memory tool turns commands into requests of the JSON tool and knows no HTTP",
        ),
    },
    Layer {
        name: WIRE,
        members: &[CORE, CODEC, MEMORY_TOOL],
        others: Others::Not(
            OUTSIDE,
            "wire turns requests into responses; sockets and storage are the host's",
        ),
    },
    Layer {
        name: COMPONENT,
        members: &[CORE, CODEC],
        others: Others::Not(OUTSIDE, "the component reaches only what wit/world.wit imports"),
    },
    Layer {
        name: CONTEXT,
        members: &[CORE, CODEC],
        others: Others::Not(OUTSIDE, "the component without imports reaches nothing"),
    },
    Layer { name: WASMTIME, members: &[CORE, CODEC, WIRE], others: Others::Any },
    Layer {
        name: CLOUDFLARE,
        members: &[CORE, CODEC, WIRE],
        others: Others::Not(OUTSIDE, "a Worker reaches what the platform gives it, by `worker`"),
    },
    Layer {
        name: SPIN_FRONT,
        members: &[CORE, CODEC, WIRE],
        others: Others::Not(OUTSIDE, "the front reaches what hosts/spin/wit/world.wit imports"),
    },
    Layer {
        name: SPIN_STORAGE,
        members: &[CORE, CODEC],
        others: Others::Not(
            OUTSIDE_AND_HTTP,
            "the storage reaches Spin's by hosts/spin/wit/world.wit, and knows no HTTP",
        ),
    },
    Layer { name: SYSTEM, members: &[CORE, CODEC, WIRE, WASMTIME], others: Others::Any },
    Layer { name: WORKERS, members: &[SYSTEM], others: Others::Any },
    Layer { name: "shared-context-simulation", members: &[CORE, CODEC], others: Others::Any },
    // It is given the application as files, and links nothing of ours that it tests.
    Layer { name: SPIN_TESTS, members: &[SYSTEM], others: Others::Any },
    Layer {
        name: CONFORMANCE,
        members: &[CORE, CODEC, WIRE, WASMTIME, SYSTEM, WORKERS, SPIN_TESTS],
        others: Others::Any,
    },
    Layer {
        name: "shared-context-bench",
        members: &[CORE, CODEC, WIRE, WASMTIME, CONFORMANCE, WORKERS],
        others: Others::Any,
    },
    // It claims what is promised of bytes and rows, and reaches no host.
    Layer {
        name: "shared-context-fuzz",
        members: &[CORE, CODEC, WIRE],
        others: Others::Not(OUTSIDE, "the same input does the same: nothing outside is reached"),
    },
    Layer { name: "shared-context-api", members: &[SYSTEM], others: Others::Any },
    Layer {
        name: "shared-context-mcp",
        members: &[SYSTEM, WORKERS, SPIN_TESTS],
        others: Others::Any,
    },
    Layer { name: "shared-context-bindgen", members: &[], others: Others::Any },
    Layer { name: "xtask-start", members: &[], others: Others::Only(&[]) },
    Layer { name: "xtask", members: &[], others: Others::Any },
];

/// Checks the dependencies of every member.
pub(super) fn check(packages: &[Package], files: &[File]) -> Vec<Finding> {
    packages.iter().flat_map(|package| check_package(package, files)).collect()
}

fn check_package(package: &Package, files: &[File]) -> Vec<Finding> {
    let manifest = files.iter().find(|file| file.path == package.manifest);
    let line_of = |name: &str| {
        let mut lines = manifest.map_or("", |file| &file.text).lines();
        lines.position(|line| line.starts_with(name)).map_or(1, |index| index + 1)
    };
    let Some(layer) = LAYERS.iter().find(|layer| layer.name == package.name) else {
        let message = format!(
            "{} stands in no layer: say in xtask/src/tidy/crates.rs what it may use",
            package.name
        );
        return vec![Finding::fault(&package.manifest, 1, message)];
    };
    let refused = |dependency: &Dependency| {
        let why = why_not(layer, dependency)?;
        Some(Finding::fault(&package.manifest, line_of(&dependency.name), why))
    };
    package.dependencies.iter().filter_map(refused).collect()
}

/// Returns why the crate of `layer` may not have `dependency`; `None` when it may.
fn why_not(layer: &Layer, dependency: &Dependency) -> Option<String> {
    let (user, used) = (layer.name, dependency.name.as_str());
    if dependency.is_member {
        // A crate may ask for its own features in its tests.
        let is_allowed = layer.members.contains(&used) || used == user;
        return (!is_allowed).then(|| {
            format!("{user} may not use {used}: move what it needs to a layer below both")
        });
    }
    if dependency.is_for_tests {
        return None;
    }
    if JAVASCRIPT.contains(&used) && user != CLOUDFLARE {
        return Some(format!("{user} may not use {used}: only {CLOUDFLARE} knows JavaScript"));
    }
    match layer.others {
        Others::Only(list) if !list.contains(&used) => Some(format!(
            "{user} may use {} only; weigh {used} (size in the component, same bytes on every \
             host) and add it to the list in xtask/src/tidy/crates.rs, or do without it",
            list.join(", ")
        )),
        Others::Not(list, why) if list.contains(&used) => {
            Some(format!("{user} may not use {used}: {why}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dependency(name: &str) -> Dependency {
        let is_member = name.starts_with("shared-context");
        Dependency { name: name.to_owned(), is_member, is_for_tests: false }
    }

    fn check_one(name: &str, dependencies: Vec<Dependency>) -> Vec<Finding> {
        let (name, manifest) = (name.to_owned(), "x/Cargo.toml".to_owned());
        let text = "[dependencies]\nserde = \"1\"\nhttp = \"1\"\nshared-context-codec = \"1\"\n";
        check(
            &[Package { name, manifest, dependencies }],
            &[super::super::file("x/Cargo.toml", text)],
        )
    }

    #[test]
    fn arrows_point_down() {
        assert!(check_one(CODEC, vec![dependency(CORE), dependency(CODEC)]).is_empty());
        assert!(check_one(WASMTIME, vec![dependency(WIRE), dependency("tokio")]).is_empty());
    }

    #[test]
    fn an_arrow_up_is_refused_at_its_line() {
        let findings = check_one(CORE, vec![dependency(CODEC)]);
        assert_eq!(
            findings.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["x/Cargo.toml:4: shared-context-core may not use shared-context-codec: move what it \
              needs to a layer below both"]
        );
    }

    #[test]
    fn the_core_has_a_positive_list() {
        assert!(check_one(CORE, vec![dependency("serde")]).is_empty());
        assert_eq!(check_one(CORE, vec![dependency("http")]).len(), 1);
        let for_tests = Dependency { is_for_tests: true, ..dependency("http") };
        assert!(check_one(CORE, vec![for_tests]).is_empty());
    }

    #[test]
    fn the_codec_knows_no_http_and_wire_no_socket() {
        assert_eq!(check_one(CODEC, vec![dependency("http")]).len(), 1);
        assert!(check_one(WIRE, vec![dependency("http")]).is_empty());
        assert_eq!(check_one(WIRE, vec![dependency("tokio")]).len(), 1);
    }

    #[test]
    fn only_the_worker_knows_javascript() {
        let of_workers = || vec![dependency("worker"), dependency("wasm-bindgen")];
        assert!(check_one(CLOUDFLARE, of_workers()).is_empty());
        assert_eq!(check_one(WIRE, of_workers()).len(), 2);
        assert_eq!(check_one(WASMTIME, of_workers()).len(), 2);
        assert_eq!(check_one(CLOUDFLARE, vec![dependency("tokio")]).len(), 1);
    }

    #[test]
    fn on_spin_the_front_knows_no_storage_and_the_storage_no_http() {
        assert!(check_one(SPIN_FRONT, vec![dependency(WIRE), dependency("http")]).is_empty());
        assert_eq!(check_one(SPIN_FRONT, vec![dependency(SPIN_STORAGE)]).len(), 1);
        assert!(check_one(SPIN_STORAGE, vec![dependency(CORE), dependency(CODEC)]).is_empty());
        assert_eq!(check_one(SPIN_STORAGE, vec![dependency(WIRE), dependency("http")]).len(), 2);
        assert_eq!(check_one(SPIN_TESTS, vec![dependency(SPIN_FRONT)]).len(), 1);
    }

    #[test]
    fn a_new_member_must_take_its_place() {
        let findings = check_one("shared-context-new", Vec::new());
        assert!(findings.iter().all(|finding| finding.message.contains("stands in no layer")));
        assert_eq!(findings.len(), 1);
    }
}
