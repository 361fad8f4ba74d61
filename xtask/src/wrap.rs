//! Wraps a wasm module as a component by the world that was compiled into it, and
//! refuses it when it could reach more than it may.
//!
//! Not here: where a module comes from ([`crate::wasm_build`]), and what becomes of the
//! component.

use anyhow::{Context, Result, bail};
use wit_component::{ComponentEncoder, DecodedWasm};
use wit_parser::{Resolve, WorldId};

use crate::{
    wasm_build::{Crate, Module},
    wasm_target::TARGET,
};

/// What a module is wrapped by.
#[derive(Debug)]
pub(crate) struct Contract {
    /// The folder of its world, for people.
    pub(crate) folder: &'static str,
    /// How the names of what may be imported start.
    pub(crate) imports: &'static [&'static str],
}

impl Contract {
    /// Makes a validated component of `module`, which was compiled of `made_of`.
    pub(crate) fn wrap(&self, made_of: &Crate, module: &Module) -> Result<Vec<u8>> {
        let component = self.component(&module.bytes)?;
        let foreign = self.foreign_imports(&World::of(&component)?);
        if !foreign.is_empty() {
            bail!(
                "{} would import {}, and may import interfaces of {} only: see {}, or find the \
                 dependency that brings it (`cargo tree -p {} --target {TARGET}`)",
                made_of.about,
                foreign.join(", "),
                self.imports.join(", "),
                self.folder,
                made_of.package
            );
        }
        module.refuse_paths(&component, made_of.about)?;
        Ok(component)
    }

    fn component(&self, module: &[u8]) -> Result<Vec<u8>> {
        ComponentEncoder::default()
            .validate(true)
            .module(module)
            .and_then(ComponentEncoder::encode)
            .with_context(|| format!("the module does not fit the contract in {}", self.folder))
    }

    /// What `world` imports besides what it may.
    fn foreign_imports(&self, world: &World) -> Vec<String> {
        let may = |name: &str| self.imports.iter().any(|start| name.starts_with(start));
        world.imports().into_iter().filter(|name| !may(name)).collect()
    }
}

/// What a component imports and exports.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) resolve: Resolve,
    pub(crate) id: WorldId,
}

impl World {
    /// Reads it from a component.
    pub(crate) fn of(component: &[u8]) -> Result<Self> {
        match wit_component::decode(component)? {
            DecodedWasm::Component(resolve, id) => Ok(Self { resolve, id }),
            DecodedWasm::WitPackage(..) => bail!("what was made is no component"),
        }
    }

    /// The names of what it imports.
    pub(crate) fn imports(&self) -> Vec<String> {
        let world = self.resolve.worlds.get(self.id);
        let keys = world.map(|world| world.imports.keys()).into_iter().flatten();
        keys.map(|key| self.resolve.name_world_key(key)).collect()
    }

    /// The names of what it exports.
    #[cfg(test)]
    pub(crate) fn exports(&self) -> Vec<String> {
        let keys = self.resolve.worlds[self.id].exports.keys();
        keys.map(|key| self.resolve.name_world_key(key)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTRACT: Contract = Contract { folder: "wit/", imports: &["shared-context:core/"] };

    fn foreign(imports: &str) -> Vec<String> {
        let mut resolve = Resolve::default();
        let text = format!(
            "package shared-context:core@0.1.0;
             interface clock {{ now: func(); }}
             world w {{ {imports} }}
             package wasi:cli@0.2.0 {{ interface environment {{ get: func(); }} }}"
        );
        let package = resolve.push_source("test.wit", &text).unwrap();
        let world = resolve.select_world(&[package], Some("w")).unwrap();
        CONTRACT.foreign_imports(&World { resolve, id: world })
    }

    #[test]
    fn what_the_contract_names_may_be_imported() {
        assert!(foreign("import clock;").is_empty());
    }

    #[test]
    fn anything_else_may_not() {
        let foreign = foreign("import clock; import wasi:cli/environment@0.2.0; import f: func();");
        assert_eq!(foreign, ["wasi:cli/environment@0.2.0", "f"]);
    }

    #[test]
    fn what_is_no_module_is_refused() {
        let error = CONTRACT.component(b"text").unwrap_err().to_string();
        assert_eq!(error, "the module does not fit the contract in wit/");
    }
}
