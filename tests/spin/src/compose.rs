//! Composes a component with the dependencies in its manifest, like Spin.
//!
//! Each dependency satisfies the imports that its name matches: `ns:pkg/interface` one,
//! `ns:pkg` all of the package. A version in the name must be that of the import. Imports
//! that no dependency satisfies stay imports, including interfaces with types only. A
//! dependency has its own instance and is not composed further.
//!
//! Invariant: whatever Spin would reject is rejected. A dependency that Spin would deny
//! access at run time, because it does not inherit a right it needs, is rejected at the
//! start.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use anyhow::{Context as _, bail, ensure};
use wac_graph::{
    CompositionGraph, EncodeOptions, NodeId,
    types::{Package, WorldId},
};

use crate::manifest::{Component, Dependency, FileDependency, Inherit};

/// The prefixes of interfaces that need rights, each with the manifest field that grants
/// them.
const RIGHTS: [(&str, &str); 7] = [
    ("spin:sqlite/", "sqlite_databases"),
    ("fermyon:spin/sqlite", "sqlite_databases"),
    ("spin:key-value/", "key_value_stores"),
    ("fermyon:spin/key-value", "key_value_stores"),
    ("wasi:keyvalue/", "key_value_stores"),
    ("fermyon:spin/variables", "variables"),
    ("spin:variables/", "variables"),
];

/// The name of a dependency in the manifest, or of an import.
#[derive(Debug, PartialEq, Eq)]
struct Name<'a> {
    /// `ns:pkg`, or the whole of a plain name.
    package: &'a str,
    interface: Option<&'a str>,
    version: Option<&'a str>,
}

impl<'a> Name<'a> {
    fn parse(text: &'a str) -> Self {
        let (path, version) = match text.split_once('@') {
            Some((path, version)) => (path, Some(version)),
            None => (text, None),
        };
        match path.split_once('/') {
            Some((package, interface)) => Self { package, interface: Some(interface), version },
            None => Self { package: path, interface: None, version },
        }
    }

    /// Returns true if a dependency with this name satisfies `import`.
    fn satisfies(&self, import: &Name<'_>) -> bool {
        self.package == import.package
            && (self.interface.is_none() || self.interface == import.interface)
            && (self.version.is_none() || self.version == import.version)
    }
}

/// Composes the component `name` with its dependencies in `manifest`. `component` has its
/// bytes; `read` reads the file of a dependency.
///
/// # Errors
///
/// Spin would reject the composition, or deny a dependency a right that it needs.
pub(crate) fn compose(
    name: &str,
    component: Vec<u8>,
    manifest: &Component,
    read: &dyn Fn(&Path) -> anyhow::Result<Vec<u8>>,
) -> anyhow::Result<Vec<u8>> {
    if manifest.dependencies.is_empty() {
        return Ok(component);
    }
    let mut graph = CompositionGraph::new();
    let (world, instance) = instantiate(&mut graph, name, component)?;
    let imports: BTreeSet<String> = names(&graph.types()[world].imports);
    let mut satisfied = BTreeMap::new();
    let mut packages = BTreeSet::new();
    for (dependency, entry) in &manifest.dependencies {
        let Dependency::File(file) = entry else {
            bail!("dependency {dependency:?} must be a file");
        };
        let parsed = Name::parse(dependency);
        let matched: Vec<_> =
            imports.iter().filter(|it| parsed.satisfies(&Name::parse(it))).collect();
        ensure!(
            !matched.is_empty(),
            "dependency {dependency:?} matches no import of {name:?}, which has: {}",
            list(&imports),
        );
        // Spin registers it under this name with the composer, which accepts each name once.
        ensure!(
            packages.insert(parsed.package),
            "{name:?} has two dependencies of the package {:?}: Spin composes one of a package. \
             Name the package alone for all of its interfaces",
            parsed.package,
        );
        let bytes = read(&file.path)
            .with_context(|| format!("cannot read the dependency {dependency:?}"))?;
        let (exporter, plug) = instantiate(&mut graph, parsed.package, bytes)?;
        check_rights(dependency, file, manifest, &names(&graph.types()[exporter].imports))?;
        for import in matched {
            let export = file.export.as_deref().unwrap_or(import);
            let exports = &graph.types()[exporter].exports;
            ensure!(
                exports.contains_key(export),
                "dependency {dependency:?} does not export {export:?} to satisfy the import \
                 {import:?}; it has: {}",
                list(&names(exports)),
            );
            if let Some(other) = satisfied.insert(import.clone(), dependency) {
                bail!("the import {import:?} has two dependencies: {other:?} and {dependency:?}");
            }
            let export = graph.alias_instance_export(plug, export)?;
            graph
                .set_instantiation_argument(instance, import, export)
                .with_context(|| format!("dependency {dependency:?}"))?;
        }
    }
    for export in names(&graph.types()[world].exports) {
        let node = graph.alias_instance_export(instance, &export)?;
        graph.export(node, &export)?;
    }
    Ok(graph.encode(EncodeOptions::default())?)
}

fn instantiate(
    graph: &mut CompositionGraph,
    name: &str,
    bytes: Vec<u8>,
) -> anyhow::Result<(WorldId, NodeId)> {
    let package = Package::from_bytes(name, None, bytes, graph.types_mut())?;
    let world = package.ty();
    let package = graph.register_package(package)?;
    Ok((world, graph.instantiate(package)))
}

/// Checks that the dependency inherits the rights that its imports need.
fn check_rights(
    name: &str,
    dependency: &FileDependency,
    component: &Component,
    imports: &BTreeSet<String>,
) -> anyhow::Result<()> {
    let all = Inherit::All(component.dependencies_inherit_configuration.unwrap_or_default());
    let inherits = dependency.inherit_configuration.as_ref().unwrap_or(&all);
    for import in imports {
        let Some((_, field)) = RIGHTS.iter().find(|(start, _)| import.starts_with(start)) else {
            continue;
        };
        let has_right = match inherits {
            Inherit::All(all) => *all,
            Inherit::Some(fields) => fields.iter().any(|it| it == field),
        };
        ensure!(
            has_right,
            "dependency {name:?} imports {import:?} and does not inherit `{field}`: Spin would \
             deny it access. Write `dependencies_inherit_configuration = true` under the component",
        );
    }
    Ok(())
}

fn names<'a, T: 'a>(items: impl IntoIterator<Item = (&'a String, &'a T)>) -> BTreeSet<String> {
    items.into_iter().map(|(name, _)| name.clone()).collect()
}

fn list(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
