//! Fails the build of the suite if an action or error code of the codec has no case. The message
//! names the gap and where to add a case.

use std::{error::Error, path::Path};

use shared_context_codec::{Code, actions};

#[path = "src/case/mod.rs"]
pub mod case;
#[path = "src/coverage.rs"]
pub mod coverage;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=cases");
    println!("cargo::rerun-if-changed=src/case");
    println!("cargo::rerun-if-changed=src/coverage.rs");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let cases: Vec<_> = case::read_all(&folder)?.into_iter().map(|(_, case)| case).collect();
    let actions: Vec<&str> = actions().map(|it| it.name).collect();
    let codes: Vec<&str> = Code::ALL.iter().map(|it| it.as_str()).collect();
    let gaps = coverage::gaps(&cases, &actions, &codes);
    for gap in &gaps {
        println!("cargo::error={gap}");
    }
    if gaps.is_empty() { Ok(()) } else { Err("the conformance cases are not complete".into()) }
}
