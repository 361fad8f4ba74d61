//! `shared-context-bindgen MODULE FOLDER`: wasm-bindgen as a program of this
//! workspace, so that it has the version of `Cargo.lock`, which is the one that
//! the module was compiled with, and nothing is installed or downloaded.
//!
//! Not a part of `xtask`, which is to be compiled within seconds.
//!
//! Writes `shared_context.js`, what it imports, and `shared_context_bg.wasm`. The
//! wasm is instantiated when the JavaScript is imported. `__wbg_reset_state()`
//! replaces the instance by a fresh one, after a trap.
//!
//! Invariant: an object of an instance that was replaced does nothing to the one
//! that replaced it. wasm-bindgen rejects calls of its methods and does not
//! finalize it; that it is not freed by hand either is added here.

use std::{env, fs, path::Path};

use anyhow::{Context, Result, bail, ensure};
use wasm_bindgen_cli_support::Bindgen;

/// The name of what is written.
const NAME: &str = "shared_context";

fn main() -> Result<()> {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let [module, folder] = &arguments[..] else {
        bail!("usage: shared-context-bindgen MODULE FOLDER");
    };
    generate(Path::new(module), Path::new(folder))
}

fn generate(module: &Path, folder: &Path) -> Result<()> {
    Bindgen::new()
        .input_path(module)
        .out_name(NAME)
        .module(true)?
        .typescript(false)
        .reset_state_function(true)
        // Its guard makes a fresh instance by itself, after it was checked that the
        // object is of the present one: the old address would be used in the new memory.
        .force_enable_abort_handler(false)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate(folder)
        .with_context(|| format!("cannot make JavaScript of {}", module.display()))?;
    let script = folder.join(format!("{NAME}.js"));
    let text = fs::read_to_string(&script)?;
    Ok(fs::write(&script, adapted(&text)?)?)
}

/// Returns the generated `script`, as Workers load it and with the invariant kept.
fn adapted(script: &str) -> Result<String> {
    // Workers have modules of wasm since long before the phases of imports, and not
    // all that read this file know those.
    let script = replaced(
        script,
        &format!("import source wasmModule from \"./{NAME}_bg.wasm\""),
        &format!("import wasmModule from \"./{NAME}.wasm\""),
    )?;
    if !script.contains("free() {") {
        return Ok(script);
    }
    replaced(
        &script,
        "free() {\n        const ptr = this.__destroy_into_raw();",
        "free() {\n        if (this.__wbg_inst !== __wbg_instance_id) return;\n        \
         const ptr = this.__destroy_into_raw();",
    )
}

fn replaced(script: &str, old: &str, new: &str) -> Result<String> {
    ensure!(
        script.contains(old),
        "wasm-bindgen writes something else now than {old:?}: see xtask/bindgen"
    );
    Ok(script.replace(old, new))
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMPORT: &str = "import source wasmModule from \"./shared_context_bg.wasm\";\n";

    #[test]
    fn the_module_is_imported_as_workers_do() {
        let script = adapted(IMPORT).unwrap();
        assert_eq!(script, "import wasmModule from \"./shared_context.wasm\";\n");
    }

    #[test]
    fn a_stale_object_is_not_freed() {
        let class = "    free() {\n        const ptr = this.__destroy_into_raw();\n";
        let script = adapted(&format!("{IMPORT}{class}{class}")).unwrap();
        assert_eq!(script.matches("free() {\n        if (this.__wbg_inst !== ").count(), 2);
    }

    #[test]
    fn what_is_not_recognized_is_said() {
        assert!(adapted("import wasm from \"./other.wasm\"").is_err());
        assert!(adapted(&format!("{IMPORT}free() {{ other(); }}")).is_err());
    }
}
