//! Tests of the sources of values, and of the templates of components.

use std::path::PathBuf;

use super::*;

const MANIFEST: &str = r#"
spin_manifest_version = 2
application = { name = "notes" }
[variables]
secret = { required = true, secret = true }
public_url = { default = "http://localhost" }
[[trigger.http]]
route = "/..."
component = "notes"
[component.notes]
source = "notes.wasm"
[component.notes.variables]
secret = "{{ secret }}"
both = "<{{secret}}|{{ public_url }}>"
plain = "as it is }}"
"#;

struct App {
    folder: tempfile::TempDir,
    manifest: Manifest,
}

impl App {
    fn new(manifest: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spin.toml");
        fs::write(&path, manifest).unwrap();
        Self { manifest: Manifest::read(&path).unwrap(), folder }
    }

    fn with_env_file(self, text: &str) -> Self {
        fs::write(self.file(), text).unwrap();
        self
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join(".env")
    }

    fn texts(&self, given: &[(&str, &str)], environment: &[(&str, &str)]) -> Result<Texts, String> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let sources = Sources {
            given: &given.iter().map(owned).collect::<Vec<_>>(),
            environment: &|name| {
                environment.iter().find(|it| it.0 == name).map(|it| it.1.to_owned())
            },
            file: &self.file(),
        };
        let texts = resolve(&self.manifest, &sources).map_err(|it| format!("{it:#}"))?;
        Ok(texts.into_values().next().unwrap())
    }
}

#[track_caller]
fn secret(texts: &Result<Texts, String>) -> String {
    texts.as_ref().unwrap().get("notes", "secret").unwrap()
}

#[test]
fn templates_are_filled() {
    let texts = App::new(MANIFEST).texts(&[("secret", "s")], &[]).unwrap();
    assert_eq!(texts.get("notes", "both").unwrap(), "<s|http://localhost>");
    assert_eq!(texts.get("notes", "plain").unwrap(), "as it is }}");
}

#[test]
fn a_given_value_beats_the_environment_beats_the_file() {
    let app = App::new(MANIFEST).with_env_file("SPIN_VARIABLE_SECRET=file\n");
    let environment = [("SPIN_VARIABLE_SECRET", "environment")];
    assert_eq!(secret(&app.texts(&[], &[])), "file");
    assert_eq!(secret(&app.texts(&[], &environment)), "environment");
    assert_eq!(secret(&app.texts(&[("secret", "given")], &environment)), "given");
}

#[test]
fn a_required_variable_without_a_value_is_named() {
    let error = App::new(MANIFEST).texts(&[], &[]).unwrap_err();
    assert!(error.contains("\"secret\"") && error.contains("SPIN_VARIABLE_SECRET"), "{error}");
}

#[test]
fn the_error_points_to_an_env_file_in_another_folder() {
    let app = App::new(MANIFEST).with_env_file("SPIN_VARIABLE_SECRET=file\n");
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join(".env");
    let sources = Sources { given: &[], environment: &|_| None, file: &file };
    let error = resolve(&app.manifest, &sources).unwrap_err().to_string();
    assert!(error.contains("cd "), "{error}");
}

#[test]
fn templates_must_name_existing_variables() {
    let other = MANIFEST.replace("{{ public_url }}", "{{ private_url }}");
    let error = App::new(&other).texts(&[("secret", "s")], &[]).unwrap_err();
    assert!(error.contains("private_url"), "{error}");
    let open = MANIFEST.replace("{{ public_url }}", "{{ public_url");
    let error = App::new(&open).texts(&[("secret", "s")], &[]).unwrap_err();
    assert!(error.contains("unmatched"), "{error}");
    let error = App::new(MANIFEST).texts(&[("other", "s")], &[]).unwrap_err();
    assert!(error.contains("\"other\""), "{error}");
}

#[test]
fn a_missing_variable_is_an_error_with_its_reason() {
    let texts = App::new(MANIFEST).texts(&[("secret", "s")], &[]).unwrap();
    let undefined = VariableError::Undefined("no variable for \"notes\".\"other\"".to_owned());
    assert_eq!(texts.get("notes", "other").unwrap_err(), undefined);
    assert!(matches!(texts.get("notes", "Other"), Err(VariableError::InvalidName(_))));
}

#[test]
fn env_files_may_have_quotes_comments_and_export() {
    let file = "SPIN_VARIABLE_SECRET=first\n\n# a comment\n\
        export SPIN_VARIABLE_SECRET = 'a b#c' # why\nOTHER=\"x\"\nSPIN_VARIABLE_PUBLIC_URL=https://a.b/?c=d#e # f\n";
    let texts = App::new(MANIFEST).with_env_file(file).texts(&[], &[]).unwrap();
    assert_eq!(texts.get("notes", "both").unwrap(), "<a b#c|https://a.b/?c=d#e>");
    for (line, why) in [("NAME", "NAME=value"), ("A='b", "not closed"), ("A=$B", "single quotes")] {
        let error = App::new(MANIFEST).with_env_file(line).texts(&[], &[]).unwrap_err();
        assert!(error.contains(why) && error.contains("line 1"), "{error}");
    }
}
