//! Tests of composition.

use wac_graph::types::Types;

use super::*;
use crate::test_component::{Code, component};

/// A package with two interfaces, one of them with types only, and another package.
const PACKAGES: &str = "
    package made:up@0.1.0 {
        interface types { type count = u32; }
        interface number { use types.{count}; tell: func() -> count; }
    }
    package other:one {
        interface number { type count = u32; tell: func() -> count; }
    }
";

/// Returns a component that serves HTTP and imports the number.
fn app() -> Vec<u8> {
    let world = "import made:up/number@0.1.0; export wasi:http/incoming-handler@0.2.0;";
    let wit = format!("package test:app; world it {{ {world} }} {PACKAGES}");
    component(&wit, Code::Ask("made:up/number@0.1.0", "tell", 42))
}

/// Returns a component that exports the number.
fn dependency(world: &str, code: Code<'_>) -> Vec<u8> {
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
            "plain.wasm" => dependency("export made:up/number@0.1.0;", Code::Answer(number, 42)),
            "other.wasm" => {
                dependency("export other:one/number;", Code::Answer("other:one/number#tell", 42))
            }
            "rights.wasm" => dependency(
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
fn check_rejected(dependencies: &str, why: &str) {
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
fn an_export_with_another_name_can_be_selected() {
    let export = "dependencies = { \"made:up/number\" = { path = \"other.wasm\", \
        export = \"other:one/number\" } }";
    composed(export).unwrap();
    check_rejected(&export.replace(", export = \"other:one/number\"", ""), "does not export");
}

#[test]
fn a_package_matches_all_of_its_interfaces() {
    // This includes the interface with types only, which the dependency does not export.
    let error = "does not export \"made:up/types@0.1.0\"";
    check_rejected("dependencies = { \"made:up@0.1.0\" = { path = \"plain.wasm\" } }", error);
}

#[test]
fn names_that_match_nothing_are_rejected() {
    for name in ["made:up/number@0.2.0", "made:up/other", "made:upon", "number"] {
        let text = format!("dependencies = {{ {name:?} = {{ path = \"plain.wasm\" }} }}");
        check_rejected(&text, "matches no import");
    }
}

#[test]
fn a_package_may_have_only_one_dependency() {
    let text = "[dependencies]\n\"made:up/number@0.1.0\" = { path = \"plain.wasm\" }\n\
        \"made:up/types@0.1.0\" = { path = \"plain.wasm\" }";
    check_rejected(text, "one of a package");
}

#[test]
fn a_dependency_that_lacks_rights_is_rejected() {
    let with = |component: &str, dependency: &str| {
        format!(
            "{component}\n[dependencies]\n\"made:up/number@0.1.0\" = {{ path = \"rights.wasm\" \
             {dependency} }}"
        )
    };
    check_rejected(&with("", ""), "does not inherit `sqlite_databases`");
    check_rejected(&with("dependencies_inherit_configuration = false", ""), "does not inherit");
    check_rejected(&with("", ", inherit_configuration = [\"variables\"]"), "does not inherit");
    for (component, dependency) in [
        ("dependencies_inherit_configuration = true", ""),
        ("", ", inherit_configuration = true"),
        ("", ", inherit_configuration = [\"sqlite_databases\"]"),
    ] {
        let imports = imports(composed(&with(component, dependency)).unwrap());
        assert!(imports.contains("spin:sqlite/sqlite@3.0.0"), "{imports:?}");
    }
}
