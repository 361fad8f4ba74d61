//! Wraps a wasm module as a component by the world that was compiled into it, and rejects it if it
//! has more imports than allowed.
//!
//! Not here: the origin of a module ([`crate::wasm_build`]), and the use of the component.

use anyhow::{Context, Result, bail};
use wasmparser::BinaryReader;
use wit_component::{ComponentEncoder, DecodedWasm};
use wit_parser::{Resolve, WorldId};

use crate::{
    wasm_build::{Crate, Module},
    wasm_target::TARGET,
};

/// The sections of a module and of a component that are for people who look inside, and for tools.
const FOR_PEOPLE: [&str; 4] = ["component-name", "name", "producers", "target_features"];

/// The contract of a component.
#[derive(Debug)]
pub(crate) struct Contract {
    /// The folder of its world, for people.
    pub(crate) folder: &'static str,
    /// The prefixes of the names of allowed imports.
    pub(crate) imports: &'static [&'static str],
}

impl Contract {
    /// Makes a validated component of `module`, which was compiled of `made_of`.
    pub(crate) fn wrap(&self, made_of: &Crate, module: &Module) -> Result<Vec<u8>> {
        let component = self.component(&stripped(&module.bytes)?)?;
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
        stripped(&component)
    }

    fn component(&self, module: &[u8]) -> Result<Vec<u8>> {
        ComponentEncoder::default()
            .validate(true)
            .module(module)
            .and_then(ComponentEncoder::encode)
            .with_context(|| format!("the module does not fit the contract in {}", self.folder))
    }

    /// Returns what `world` imports besides what it may.
    fn foreign_imports(&self, world: &World) -> Vec<String> {
        let may = |name: &str| self.imports.iter().any(|start| name.starts_with(start));
        world.imports().into_iter().filter(|name| !may(name)).collect()
    }
}

/// Returns a module or a component without its sections [`FOR_PEOPLE`].
fn stripped(wasm: &[u8]) -> Result<Vec<u8>> {
    const HEADER_BYTES: usize = 8;
    const CUSTOM: u8 = 0;
    let mut reader = BinaryReader::new(wasm, 0);
    let mut kept = reader.read_bytes(HEADER_BYTES)?.to_vec();
    while !reader.eof() {
        let start = reader.current_position();
        let (id, size) = (reader.read_u8()?, usize::try_from(reader.read_var_u32()?)?);
        let content = reader.read_bytes(size)?;
        if id == CUSTOM && FOR_PEOPLE.contains(&BinaryReader::new(content, 0).read_string()?) {
            continue;
        }
        kept.extend(wasm.get(start..reader.current_position()).unwrap_or_default());
    }
    Ok(kept)
}

/// The imports and exports of a component.
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

    /// Returns the names of what it imports.
    pub(crate) fn imports(&self) -> Vec<String> {
        let world = self.resolve.worlds.get(self.id);
        let keys = world.map(|world| world.imports.keys()).into_iter().flatten();
        keys.map(|key| self.resolve.name_world_key(key)).collect()
    }

    /// Returns the names of what it exports.
    #[cfg(test)]
    pub(crate) fn exports(&self) -> Vec<String> {
        let keys = self.resolve.worlds[self.id].exports.keys();
        keys.map(|key| self.resolve.name_world_key(key)).collect()
    }
}

#[cfg(test)]
mod tests {
    use wit_component::{StringEncoding, dummy_module, embed_component_metadata};
    use wit_parser::ManglingAndAbi;

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
    fn a_stripped_component_is_the_same_component() {
        let mut resolve = Resolve::default();
        let text = "package a:b; interface c { d: func() -> string; } world w { export c; }";
        let package = resolve.push_source("test.wit", text).unwrap();
        let world = resolve.select_world(&[package], Some("w")).unwrap();
        let mut module = dummy_module(&resolve, world, ManglingAndAbi::Standard32);
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8, false)
            .unwrap();
        // A custom section with the names of functions, which is empty.
        let bare = module.clone();
        module.extend(b"\0\x05\x04name");
        assert_eq!(stripped(&module).unwrap(), bare);
        let named = CONTRACT.component(&module).unwrap();
        let contains = |bytes: &[u8]| bytes.windows(14).any(|it| it == b"component-name");
        assert!(contains(&named));
        let kept = stripped(&named).unwrap();
        assert!(!contains(&kept));
        assert_eq!(World::of(&kept).unwrap().exports(), ["a:b/c"]);
        assert!(stripped(&named[..named.len() - 1]).is_err());
    }

    #[test]
    fn what_is_no_module_is_refused() {
        let error = CONTRACT.component(b"text").unwrap_err().to_string();
        assert_eq!(error, "the module does not fit the contract in wit/");
    }
}
