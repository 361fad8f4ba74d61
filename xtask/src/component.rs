//! Builds the component: compiles the crate to a wasm module, wraps it by the
//! contract in `wit/`, and refuses it when it could reach more than the contract
//! gives it.
//!
//! Invariants: the file is rewritten only when its bytes change, so that what
//! includes it is not built again for nothing; no path of the machine that built
//! it is in it.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail};
use wit_component::{ComponentEncoder, DecodedWasm};
use wit_parser::{Resolve, WorldId, WorldKey};

use crate::{
    console, process,
    wasm_target::{self, RenamedFolder, TARGET},
    workspace::Workspace,
};

const PACKAGE: &str = "shared-context-component";
const MODULE: &str = "shared_context_component.wasm";
/// The profile in the root `Cargo.toml`.
const PROFILE: &str = "component";
/// What may be imported: interfaces of this package only.
const CONTRACT: &str = "shared-context:core/";
/// The guest's stack. A fresh instance costs what its first pages cost.
const STACK_BYTES: u32 = 64 * 1024;

/// Builds the component into [`Workspace::component`].
pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    let target = wasm_target::ensure(workspace)?;
    // A folder of its own: another compiler may be at work here than elsewhere.
    let folder = workspace.target.join("wasm");
    if !folder.exists() {
        console::step("Building the component (the first time about a minute)");
    }
    let mut flags = target.flags;
    flags.push(format!("-Clink-arg=-zstack-size={STACK_BYTES}"));
    // SHA-256 without unrolled rounds: 6 KB less for a digest a request at most.
    flags.push("--cfg=sha2_backend_soft=\"compact\"".to_owned());
    let renamed = wasm_target::renamed_folders(&workspace.root)?;
    flags.extend(renamed.iter().map(RenamedFolder::flag));
    let mut cargo = workspace.cargo();
    cargo.args(["build", "--package", PACKAGE, "--profile", PROFILE, "--target", TARGET]);
    cargo.arg("--target-dir").arg(&folder);
    cargo.env(process::FLAGS, flags.join(process::FLAG_SEPARATOR));
    if let Some(rustc) = target.rustc {
        cargo.env("RUSTC", rustc);
    }
    process::run(&mut cargo)?;

    let module = folder.join(TARGET).join(PROFILE).join(MODULE);
    let module = fs::read(&module).with_context(|| format!("cannot read {}", module.display()))?;
    let component = wrap(&module)?;
    if let Some(folder) = renamed.iter().find(|folder| names(&component, &folder.path)) {
        bail!(
            "the component names {}: find what was compiled without the flag {}",
            folder.path.display(),
            folder.flag()
        );
    }
    let is_new = write_if_changed(&workspace.component(), &component)?;
    console::done(&format!(
        "component: {:.1} KB, {}",
        f64::from(u32::try_from(component.len())?) / 1024.0,
        if is_new { "written to target/component/shared-context.wasm" } else { "unchanged" },
    ));
    Ok(())
}

/// Makes a validated component of `module`.
fn wrap(module: &[u8]) -> Result<Vec<u8>> {
    let component = ComponentEncoder::default()
        .validate(true)
        .module(module)
        .and_then(ComponentEncoder::encode)
        .context("the module does not fit the contract in wit/")?;
    let DecodedWasm::Component(resolve, world) = wit_component::decode(&component)? else {
        bail!("what was wrapped is no component");
    };
    let foreign = foreign_imports(&resolve, world);
    if !foreign.is_empty() {
        bail!(
            "the component would import {}, and may import interfaces of {CONTRACT} only: find \
             the dependency that brings it (`cargo tree -p {PACKAGE} --target {TARGET}`)",
            foreign.join(", ")
        );
    }
    Ok(component)
}

/// What `world` imports besides the contract.
fn foreign_imports(resolve: &Resolve, world: WorldId) -> Vec<String> {
    let Some(world) = resolve.worlds.get(world) else { return Vec::new() };
    let names = world.imports.keys().map(|key: &WorldKey| resolve.name_world_key(key));
    names.filter(|name| !name.starts_with(CONTRACT)).collect()
}

/// Whether the path `folder` stands in `bytes`.
fn names(bytes: &[u8], folder: &Path) -> bool {
    let folder = folder.as_os_str().as_encoded_bytes();
    bytes.windows(folder.len()).any(|window| window == folder)
}

/// Writes `bytes` to the file `path` unless it holds them; returns whether it
/// wrote.
fn write_if_changed(path: &Path, bytes: &[u8]) -> Result<bool> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(false);
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    // Renamed into place: who reads it meanwhile gets the old one or the new.
    let unfinished = path.with_extension(format!("{}.tmp", std::process::id()));
    fs::write(&unfinished, bytes)
        .and_then(|()| fs::rename(&unfinished, path))
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports_of(imports: &str) -> Vec<String> {
        let mut resolve = Resolve::default();
        let text = format!(
            "package shared-context:core@0.1.0;
             interface clock {{ now: func(); }}
             world w {{ {imports} }}
             package wasi:cli@0.2.0 {{ interface environment {{ get: func(); }} }}"
        );
        let package = resolve.push_source("test.wit", &text).unwrap();
        let world = resolve.select_world(&[package], Some("w")).unwrap();
        foreign_imports(&resolve, world)
    }

    #[test]
    fn the_contract_may_be_imported() {
        assert!(imports_of("import clock;").is_empty());
    }

    #[test]
    fn anything_else_may_not() {
        let foreign =
            imports_of("import clock; import wasi:cli/environment@0.2.0; import f: func();");
        assert_eq!(foreign, ["wasi:cli/environment@0.2.0", "f"]);
    }

    #[test]
    fn what_is_no_module_is_refused() {
        let error = wrap(b"text").unwrap_err().to_string();
        assert_eq!(error, "the module does not fit the contract in wit/");
    }

    #[test]
    fn a_path_of_this_machine_is_found() {
        assert!(names(b"\0/srv/ada/src/lib.rs\0", Path::new("/srv/ada")));
        assert!(!names(b"\0/crates/serde/lib.rs\0", Path::new("/srv/ada")));
    }

    #[test]
    fn unchanged_bytes_are_not_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/file");
        assert!(write_if_changed(&path, b"one").unwrap());
        assert!(!write_if_changed(&path, b"one").unwrap());
        assert!(write_if_changed(&path, b"two").unwrap());
        assert_eq!(fs::read(path).unwrap(), b"two");
    }
}
