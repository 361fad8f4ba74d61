//! Tests of the emulator with small components. The application of `hosts/spin` is tested
//! in `tests/`.

use std::fs;

use shared_context_system::Client;

use super::*;
use crate::test_component::{Code, component};

const MANIFEST: &str = r#"
spin_manifest_version = 2
application = { name = "small" }
[variables]
word = { required = true }
[[trigger.http]]
route = "/small/..."
component = "small"
[component.small]
source = "small.wasm"
[component.small.dependencies]
"#;
const WIT: &str = "
    package test:app;
    world it {
        IMPORTS
        export wasi:http/incoming-handler@0.2.0;
    }
    package made:up@0.1.0 {
        interface types { type count = u32; }
        interface number { use types.{count}; tell: func() -> count; }
    }
";

struct App {
    folder: tempfile::TempDir,
}

impl App {
    fn new(imports: &str, code: Code<'_>) -> Self {
        let app = Self { folder: tempfile::tempdir().unwrap() };
        app.write("spin.toml", MANIFEST.as_bytes());
        app.write("small.wasm", &component(&WIT.replace("IMPORTS", imports), code));
        app
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.folder.path().join(name), bytes).unwrap();
    }

    fn setup(&self) -> Setup {
        let folder = self.folder.path();
        Setup::new(folder.join("spin.toml"), folder.join("state")).variable("word", "well")
    }

    fn start(&self) -> Emulator {
        Emulator::start(&self.setup()).unwrap()
    }
}

fn get(emulator: &Emulator, path: &str) -> (u16, String) {
    let answer = Client::new(emulator.url(), "").get(path);
    (answer.status, answer.text)
}

#[test]
fn a_component_that_traps_is_answered_500_without_a_body() {
    let emulator = App::new("", Code::Trap).start();
    assert_eq!(get(&emulator, "/small"), (500, String::new()));
    let failures = emulator.failures();
    assert!(failures.len() == 1 && failures[0].contains("unreachable"), "{failures:?}");
    assert_eq!(get(&emulator, "/small/again"), (500, String::new()));
}

#[test]
fn a_component_that_ends_without_a_response_is_answered_500() {
    let emulator = App::new("", Code::Leave).start();
    assert_eq!(get(&emulator, "/small"), (500, String::new()));
    assert_eq!(emulator.failures(), ["the component ended without a response"]);
}

#[test]
fn paths_without_a_component_are_not_found() {
    let emulator = App::new("", Code::Trap).start();
    assert_eq!(get(&emulator, "/other"), (404, String::new()));
    assert_eq!(get(&emulator, "/.well-known/spin/health"), (200, "OK".to_owned()));
    assert_eq!(get(&emulator, "/.well-known/spin/other"), (404, String::new()));
    assert_eq!(emulator.failures(), [""; 0]);
}

#[test]
fn a_component_runs_with_its_dependency() {
    let number = "made:up/number@0.1.0";
    let app = App::new(&format!("import {number};"), Code::Ask(number, "tell", 42));
    let error = Emulator::start(&app.setup()).unwrap_err();
    assert!(format!("{error:#}").contains(number), "{error:#}");
    let manifest = format!("{MANIFEST}{number:?} = {{ path = \"number.wasm\" }}\n");
    app.write("spin.toml", manifest.as_bytes());
    let world = WIT.replace("IMPORTS", "");
    let world = world.replace("wasi:http/incoming-handler@0.2.0", number);
    for (answer, end) in [(42, "ended without a response"), (41, "unreachable")] {
        let code = format!("{number}#tell");
        app.write("number.wasm", &component(&world, Code::Answer(&code, answer)));
        let emulator = app.start();
        assert_eq!(get(&emulator, "/small").0, 500);
        let failures = emulator.failures();
        assert!(failures[0].contains(end), "{failures:?}");
    }
}

#[test]
fn errors_of_an_application_are_reported_at_the_start() {
    let app = App::new("", Code::Trap);
    let error = |setup: &Setup| format!("{:#}", Emulator::start(setup).unwrap_err());
    let setup = app.setup();
    assert!(error(&Setup { variables: Vec::new(), ..setup.clone() }).contains("\"word\""));
    let taken = app.start();
    let address = taken.url().strip_prefix("http://").unwrap().to_owned();
    assert!(error(&setup.clone().listen(&address)).contains(&address));
    app.write("small.wasm", b"\0asm\x01\0\0\0");
    assert!(error(&setup).contains("no component"));
    fs::remove_file(app.folder.path().join("small.wasm")).unwrap();
    assert!(error(&setup).contains("small.wasm"));
}
