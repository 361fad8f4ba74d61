//! Builds the component: compiles the crate to a wasm module, wraps it by the
//! contract in `wit/`, and refuses it when it could reach more than the contract
//! gives it.
//!
//! Invariants: the file is rewritten only when its bytes change, so that what
//! includes it is not built again for nothing; no path of the machine that built
//! it is in it.

use anyhow::{Context, Result, bail};
use wit_component::{ComponentEncoder, DecodedWasm};
use wit_parser::{Resolve, WorldId, WorldKey};

use crate::{
    console,
    wasm_build::{self, Crate},
    wasm_target::TARGET,
    workspace::Workspace,
};

const COMPONENT: Crate = Crate {
    about: "the component",
    package: "shared-context-component",
    profile: "component",
    // A fresh instance costs what its first pages cost.
    stack_bytes: 64 * 1024,
};
/// What may be imported: interfaces of this package only.
const CONTRACT: &str = "shared-context:core/";

/// Builds the component into [`Workspace::component`].
pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    let module = COMPONENT.compile(workspace)?;
    let component = wrap(&module.bytes)?;
    module.refuse_paths(&component, COMPONENT.about)?;
    let is_new = wasm_build::write_if_changed(&workspace.component(), &component)?;
    console::done(&format!(
        "component: {}, {}",
        wasm_build::kilobytes(component.len())?,
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
             the dependency that brings it (`cargo tree -p {} --target {TARGET}`)",
            foreign.join(", "),
            COMPONENT.package
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
}
