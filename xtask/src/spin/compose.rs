//! Joins components: each import of an interface of this project is satisfied by the export of
//! another component.
//!
//! An instance of the result has one instance of each part. So the front reads the storage that the
//! component writes to. The remaining imports are the platform's; equal imports of several parts
//! become one.
//!
//! Invariant: the result imports no interface of this project.

use anyhow::{Context, Result, bail};
use wac_graph::{
    CompositionGraph, EncodeOptions, NodeId,
    types::{Package, WorldId},
};

/// The prefix of the names of this project's interfaces.
const OURS: &str = "shared-context:";
/// The types of the component's exports. A component that imports an export imports these types
/// too. Spin satisfies imports by name, and looks for both in the same component.
const TYPES: &str = "shared-context:core/types@";

/// Returns the application: `front`, which asks `component` and `storage`, over them.
pub(crate) fn app(front: &[u8], component: &[u8], storage: &[u8]) -> Result<Vec<u8>> {
    let mut joined = Joined::default();
    joined.add("storage", storage)?;
    joined.add("component", component)?;
    let front = joined.add("front", front)?;
    joined.export(&front, |_| true)?;
    joined.encode()
}

/// Returns the component over `storage`, for applications of others: all that it exports, and
/// the types.
pub(crate) fn dependency(component: &[u8], storage: &[u8]) -> Result<Vec<u8>> {
    let mut joined = Joined::default();
    let storage = joined.add("storage", storage)?;
    let component = joined.add("component", component)?;
    joined.export(&storage, |name| name.starts_with(TYPES))?;
    joined.export(&component, |_| true)?;
    joined.encode()
}

/// Components that are being joined.
#[derive(Default)]
struct Joined {
    graph: CompositionGraph,
    parts: Vec<Part>,
}

/// One of them, and its only instance.
#[derive(Clone)]
struct Part {
    name: &'static str,
    world: WorldId,
    instance: NodeId,
}

impl Joined {
    /// Adds a component, which imports of ours what those before it export.
    fn add(&mut self, name: &'static str, bytes: &[u8]) -> Result<Part> {
        let package = Package::from_bytes(name, None, bytes, self.graph.types_mut())
            .with_context(|| format!("the {name} is no component"))?;
        let world = package.ty();
        let package = self.graph.register_package(package)?;
        let part = Part { name, world, instance: self.graph.instantiate(package) };
        let imports: Vec<_> = self.graph.types()[world].imports.keys().cloned().collect();
        for import in imports.iter().filter(|it| it.starts_with(OURS)) {
            let exports = |it: &&Part| self.graph.types()[it.world].exports.contains_key(import);
            let Some(giver) = self.parts.iter().find(exports) else {
                let givers: Vec<_> = self.parts.iter().map(|it| it.name).collect();
                bail!(
                    "the {name} imports {import}, which nothing of what it stands on exports ({}): \
                     see hosts/spin/wit/world.wit",
                    givers.join(", ")
                );
            };
            let (giver, given) = (giver.name, giver.instance);
            let given = self.graph.alias_instance_export(given, import)?;
            self.graph
                .set_instantiation_argument(part.instance, import, given)
                .with_context(|| format!("the {name} knows another {import} than the {giver}"))?;
        }
        self.parts.push(part.clone());
        Ok(part)
    }

    /// Exports what `part` exports, if its name is chosen.
    fn export(&mut self, part: &Part, is_chosen: impl Fn(&str) -> bool) -> Result<()> {
        let exports: Vec<_> = self.graph.types()[part.world].exports.keys().cloned().collect();
        for name in exports.iter().filter(|it| is_chosen(it)) {
            let node = self.graph.alias_instance_export(part.instance, name)?;
            self.graph.export(node, name)?;
        }
        Ok(())
    }

    fn encode(&self) -> Result<Vec<u8>> {
        let options = EncodeOptions { define_components: true, validate: true, processor: None };
        self.graph.encode(options).context("the parts do not make a component")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{spin::stubs::Stubs, wrap::World};

    const CORE: [&str; 16] = [
        "types",
        "sessions",
        "store",
        "history",
        "snapshots",
        "changes",
        "rounds",
        "context",
        "compaction",
        "packets",
        "projects",
        "memories",
        "outline",
        "handoffs",
        "prompt",
        "tool",
    ];

    fn stubs() -> [Vec<u8>; 3] {
        let stubs = Stubs::of_spin();
        ["shared-context:spin/front", "shared-context:core/shared-context", "sqlite-storage"]
            .map(|world| stubs.component(world))
    }

    #[test]
    fn an_application_is_its_front_and_asks_the_platform_only() {
        let [front, component, storage] = stubs();
        let app = app(&front, &component, &storage).unwrap();
        let world = World::of(&app).unwrap();
        assert_eq!(world.exports(), ["wasi:http/incoming-handler@0.2.0"]);
        let imports = world.imports();
        assert!(imports.iter().all(|it| !it.starts_with(OURS)), "{imports:?}");
        for import in ["spin:sqlite/sqlite@3.0.0", "fermyon:spin/variables@2.0.0"] {
            assert_eq!(imports.iter().filter(|it| *it == import).count(), 1, "{imports:?}");
        }
        // Front and storage write to the same.
        assert_eq!(imports.iter().filter(|it| *it == "wasi:cli/stderr@0.2.0").count(), 1);
    }

    #[test]
    fn the_same_parts_make_the_same_bytes() {
        let [front, component, storage] = stubs();
        let make = || app(&front, &component, &storage).unwrap();
        assert!(make() == make());
    }

    #[test]
    fn others_find_all_that_the_component_exports_and_its_types() {
        let [_, component, storage] = stubs();
        let world = World::of(&dependency(&component, &storage).unwrap()).unwrap();
        assert_eq!(world.exports(), CORE.map(|it| format!("shared-context:core/{it}@0.1.0")));
        assert!(world.imports().iter().all(|it| !it.starts_with(OURS)), "{:?}", world.imports());
    }

    #[test]
    fn who_asks_for_what_nothing_exports_is_named() {
        let stubs = Stubs::of_spin();
        let front = stubs.component("shared-context:spin/front");
        let lone = stubs.component_of("world lone { export shared-context:core/types@0.1.0; }");
        let error = app(&front, &lone, &lone).unwrap_err().to_string();
        assert!(
            error.starts_with("the front imports shared-context:core/tool@0.1.0, which nothing"),
            "{error}"
        );
        assert!(error.contains("(storage, component)"), "{error}");
    }

    #[test]
    fn what_is_no_component_is_named() {
        let error = dependency(b"text", b"text").unwrap_err().to_string();
        assert_eq!(error, "the storage is no component");
    }
}
