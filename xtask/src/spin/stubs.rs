//! Components that do nothing, of any world, for tests.

use std::path::Path;

use wit_component::{ComponentEncoder, StringEncoding, dummy_module, embed_component_metadata};
use wit_parser::{ManglingAndAbi, PackageId, Resolve};

/// The packages that worlds are built from.
pub(crate) struct Stubs {
    resolve: Resolve,
    package: PackageId,
}

impl Stubs {
    /// Creates the worlds of this project: those of `hosts/spin/wit` by name.
    pub(crate) fn of_spin() -> Self {
        let root = root();
        let mut resolve = Resolve::default();
        resolve.push_dir(root.join("wit")).unwrap();
        let (package, _) = resolve.push_dir(root.join("hosts/spin/wit")).unwrap();
        Self { resolve, package }
    }

    /// Creates the worlds of the package `package` of `resolve`.
    pub(crate) fn of(resolve: &Resolve, package: PackageId) -> Self {
        Self { resolve: resolve.clone(), package }
    }

    /// Returns a component of the world called `name`.
    pub(crate) fn component(&self, name: &str) -> Vec<u8> {
        let world = self.resolve.select_world(&[self.package], Some(name)).unwrap();
        let mut module = dummy_module(&self.resolve, world, ManglingAndAbi::Standard32);
        let utf8 = StringEncoding::UTF8;
        embed_component_metadata(&mut module, &self.resolve, world, utf8, false).unwrap();
        ComponentEncoder::default().validate(true).module(&module).unwrap().encode().unwrap()
    }

    /// Returns a component of the only world in `text`, in which other packages may stand too.
    pub(crate) fn component_of(&self, text: &str) -> Vec<u8> {
        let mut resolve = self.resolve.clone();
        let text = format!("package stub:stub;\n{text}");
        let package = resolve.push_source("stub.wit", &text).unwrap();
        let (name, _) = resolve.packages[package].worlds.first().unwrap();
        Self::of(&resolve, package).component(name)
    }
}

/// Returns the root of the repository.
pub(crate) fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
