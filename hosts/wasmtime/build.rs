//! Finds the component to embed in the library: the file that `SHARED_CONTEXT_COMPONENT`
//! names, or the output of `cargo xtask build` in the target folder.

use std::{
    env,
    path::{Path, PathBuf},
};

const VARIABLE: &str = "SHARED_CONTEXT_COMPONENT";
const BUILT: &str = "component/shared-context.wasm";

fn main() -> Result<(), String> {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    if env::var_os("CARGO_FEATURE_WASM").is_none() {
        return Ok(());
    }
    let component = find()?;
    println!("cargo::rerun-if-changed={}", component.display());
    println!("cargo::rustc-env=SHARED_CONTEXT_COMPONENT_FILE={}", component.display());
    Ok(())
}

fn find() -> Result<PathBuf, String> {
    if let Some(path) = env::var_os(VARIABLE).filter(|it| !it.is_empty()) {
        return Path::new(&path).canonicalize().map_err(|error| {
            format!(
                "{VARIABLE} names {}, which cannot be read: {error}",
                Path::new(&path).display()
            )
        });
    }
    let output = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    output.ancestors().map(|it| it.join(BUILT)).find(|it| it.is_file()).ok_or_else(|| {
        format!(
            "the component is not built: run `cargo xtask build` first \
             (it writes target/{BUILT}), or name one in {VARIABLE}"
        )
    })
}
