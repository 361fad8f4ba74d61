//! Tests of composition.

use wac_graph::types::Types;

use super::*;
use crate::test_component::{Code, component};

/// Two interfaces of a package, one of them of types only, and one elsewhere.
const PACKAGES: &str = "
    package made:up@0.1.0 {
        interface types { type count = u32; }
        interface number { use types.{count}; tell: func() -> count; }
    }
    package other:one {
        interface number { type count = u32; tell: func() -> count; }
    }
";

/// Returns what serves HTTP and asks for the number.
fn app() -> Vec<u8> {
    let world = "import made:up/number@0.1.0; export wasi:http/incoming-handler@0.2.0;";
    let wit = format!("package test:app; world it {{ {world} }} {PACKAGES}");
    component(&wit, Code::Ask("made:up/number@0.1.0", "tell", 42))
}

/// Returns what tells it.
fn answering(world: &str, code: Code<'_>) -> Vec<u8> {
    let wit = format!("package test:dependency; world it {{ {world} }} {PACKAGES}");
    component(&wit, code)
}

fn manifest(dependencies: &str) -> Component {
    let text = format!("source = \"app.wasm\"\n{dependencies}");
    toml::from_str(&text).unwrap()
}

/// Composes the app with `dependencies`; `plain.wasm` needs no right.
fn composed(dependencies: &str) -> Result<Vec<u8>, String> {
    let read = |path: &Path| {
        let path = path.to_str().unwrap();
        let number = "made:up/number@0.1.0#tell";
        Ok(match path {
            "plain.wasm" => answering("export made:up/number@0.1.0;", Code::Answer(number, 42)),
            "other.wasm" => {
                answering("export other:one/number;", Code::Answer("other:one/number#tell", 42))
            }
            "rights.wasm" => answering(
                "import spin:sqlite/sqlite@3.0.0; export made:up/number@0.1.0;",
                Code::AnswerOverDatabase(number, 42),
            ),
            _ => bail!("no such file"),
        })
    };
    compose("app", app(), &manifest(dependencies), &read).map_err(|it| format!("{it:#}"))
}

fn imports(component: Vec<u8>) -> BTreeSet<String> {
    let mut types = Types::default();
    let package = Package::from_bytes("composed", None, component, &mut types).unwrap();
    names(&types[package.ty()].imports)
}

#[track_caller]
fn refused(dependencies: &str, why: &str) {
    let error = composed(dependencies).unwrap_err();
    assert!(error.contains(why), "{error}");
}

#[test]
fn without_dependencies_nothing_is_composed() {
    assert_eq!(composed("").unwrap(), app());
}

#[test]
fn a_dependency_satisfies_its_import_and_the_others_stay() {
    for name in ["made:up/number@0.1.0", "made:up/number"] {
        let app = composed(&format!("dependencies = {{ {name:?} = {{ path = \"plain.wasm\" }} }}"));
        let imports = imports(app.unwrap());
        assert!(!imports.contains("made:up/number@0.1.0"), "{imports:?}");
        assert!(imports.contains("made:up/types@0.1.0"), "{imports:?}");
        assert!(imports.contains("wasi:http/types@0.2.0"), "{imports:?}");
    }
}

#[test]
fn an_export_of_another_name_can_be_taken() {
    let export = "dependencies = { \"made:up/number\" = { path = \"other.wasm\", \
        export = \"other:one/number\" } }";
    composed(export).unwrap();
    refused(&export.replace(", export = \"other:one/number\"", ""), "does not export");
}

#[test]
fn a_package_stands_for_all_of_its_interfaces() {
    // Also for the one of types only, which the dependency does not export.
    let error = "does not export \"made:up/types@0.1.0\"";
    refused("dependencies = { \"made:up@0.1.0\" = { path = \"plain.wasm\" } }", error);
}

#[test]
fn names_that_match_nothing_are_refused() {
    for name in ["made:up/number@0.2.0", "made:up/other", "made:upon", "number"] {
        let text = format!("dependencies = {{ {name:?} = {{ path = \"plain.wasm\" }} }}");
        refused(&text, "matches no import");
    }
}

#[test]
fn one_dependency_of_a_package_is_composed() {
    let text = "[dependencies]\n\"made:up/number@0.1.0\" = { path = \"plain.wasm\" }\n\
        \"made:up/types@0.1.0\" = { path = \"plain.wasm\" }";
    refused(text, "one of a package");
}

#[test]
fn a_dependency_that_would_be_denied_what_it_needs_is_refused() {
    let with = |component: &str, dependency: &str| {
        format!(
            "{component}\n[dependencies]\n\"made:up/number@0.1.0\" = {{ path = \"rights.wasm\" \
             {dependency} }}"
        )
    };
    refused(&with("", ""), "does not inherit `sqlite_databases`");
    refused(&with("dependencies_inherit_configuration = false", ""), "does not inherit");
    refused(&with("", ", inherit_configuration = [\"variables\"]"), "does not inherit");
    for (component, dependency) in [
        ("dependencies_inherit_configuration = true", ""),
        ("", ", inherit_configuration = true"),
        ("", ", inherit_configuration = [\"sqlite_databases\"]"),
    ] {
        let imports = imports(composed(&with(component, dependency)).unwrap());
        assert!(imports.contains("spin:sqlite/sqlite@3.0.0"), "{imports:?}");
    }
}
