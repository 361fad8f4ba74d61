//! Tests of the manifest's reader.

use super::*;

const SMALL: &str = r#"
spin_manifest_version = 2

[application]
name = "notes"
version = "1.0.0"
authors = ["somebody"]

[variables]
secret = { required = true, secret = true, description = "signs" }
public_url = { default = "" }

[[trigger.http]]
route = "/..."
component = "notes"

[component.notes]
source = "build/notes.wasm"
sqlite_databases = ["default"]
allowed_outbound_hosts = []

[component.notes.variables]
secret = "{{ secret }}"

[component.notes.build]
command = "make"
watch = ["src"]

[component.notes.dependencies]
"a:b/c@0.1.0" = { path = "c.wasm", inherit_configuration = ["sqlite_databases"] }
"a:b/d@0.1.0" = { path = "c.wasm", export = "e:f/d", inherit_configuration = true }
"#;

fn parse(text: &str) -> anyhow::Result<Manifest> {
    Manifest::parse(text, PathBuf::from("/app"))
}

#[track_caller]
fn check_rejected(from: &str, to: &str, why: &str) {
    assert!(SMALL.contains(from), "{from}");
    let error = format!("{:#}", parse(&SMALL.replace(from, to)).unwrap_err());
    assert!(error.contains(why), "{error}");
}

#[test]
fn a_manifest_is_read() {
    let manifest = parse(SMALL).unwrap();
    assert_eq!(manifest.routes, [("/...".to_owned(), "notes".to_owned())]);
    assert!(manifest.variables["secret"].required);
    assert_eq!(manifest.variables["public_url"].default.as_deref(), Some(""));
    let notes = &manifest.components["notes"];
    assert_eq!(manifest.path(notes.file().unwrap()), Path::new("/app/build/notes.wasm"));
    assert_eq!(notes.sqlite_databases, ["default"]);
    assert_eq!(notes.key_value_stores, [""; 0]);
    assert_eq!(notes.variables["secret"], "{{ secret }}");
    let file = |name: &str| match &notes.dependencies[name] {
        Dependency::File(it) => it,
        Dependency::Elsewhere(_) => panic!("{name} is a file"),
    };
    let fields = Inherit::Some(vec!["sqlite_databases".to_owned()]);
    assert_eq!(file("a:b/c@0.1.0").inherit_configuration, Some(fields));
    assert_eq!(file("a:b/d@0.1.0").inherit_configuration, Some(Inherit::All(true)));
    assert_eq!(file("a:b/d@0.1.0").export.as_deref(), Some("e:f/d"));
}

#[test]
fn unknown_fields_are_rejected_with_their_line() {
    check_rejected("source =", "sauce =", "line 18");
    check_rejected("secret = true", "private = true", "unknown field");
    check_rejected("[variables]", "[variable]", "variable");
}

#[test]
fn other_versions_are_rejected() {
    check_rejected("spin_manifest_version = 2", "spin_manifest_version = 1", "must be 2");
}

#[test]
fn a_variable_is_required_or_has_a_default() {
    check_rejected("{ default = \"\" }", "{ secret = true }", "either");
    check_rejected("{ default = \"\" }", "{ default = \"\", required = true }", "either");
    check_rejected("public_url =", "public__url =", "public__url");
}

#[test]
fn unsupported_features_are_rejected_with_the_reason() {
    check_rejected("[[trigger.http]]", "[[trigger.redis]]", "only HTTP");
    check_rejected("\"build/notes.wasm\"", "{ url = \"https://a\", digest = \"b\" }", "a file");
    check_rejected("allowed_outbound_hosts = []", "files = [\"a\"]", "mounts none");
    let executor = "component = \"notes\"\nexecutor = { type = \"wagi\" }";
    check_rejected("component = \"notes\"", executor, "executor");
}

#[test]
fn only_the_default_database_exists() {
    check_rejected("[\"default\"]", "[\"other\"]", "\"other\"");
}

#[test]
fn routes_must_name_existing_components() {
    check_rejected("component = \"notes\"", "component = \"nodes\"", "\"nodes\"");
    check_rejected("route = \"/...\"", "route = 1", "`route`");
    check_rejected("route = \"/...\"", "route = { private = true }", "no [[trigger.http]]");
}

#[test]
fn dependencies_must_be_files() {
    let from = "{ path = \"c.wasm\", export = \"e:f/d\", inherit_configuration = true }";
    check_rejected(from, "\">= 0.1.0\"", "must be a file");
    check_rejected(from, "{ version = \"0.1.0\" }", "must be a file");
}
