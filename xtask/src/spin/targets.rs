//! Checks that a component finds its imports on Spin, and has the exports that Spin calls: the
//! worlds of `hosts/spin/targets`, with the same question as `wasm-tools component targets`.
//!
//! Versions count as in Spin's runtime: an import of `wasi:clocks@0.2.0` is satisfied by a host's
//! 0.2.6, which may have more functions and has all of the older ones. For an import that is newer
//! than the host, the runtime would look for the functions one by one. Here it is rejected, because
//! the component was built against another version than the host's.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, bail};
use wit_parser::{PackageId, PackageName, Resolve, UnresolvedPackageGroup, WorldId, WorldKey};

use crate::wrap::World;

/// The versions of Spin: what each is called, the world of an application's component,
/// and what any component finds.
const VERSIONS: [(&str, &str, &str); 4] = [
    ("3.4", "spin-3-4", "spin:up/platform@3.4.0"),
    ("3.5", "spin-3-5", "spin:up/platform@3.5.0"),
    ("3.6", "spin-3-6", "spin:up/platform@3.6.0"),
    ("4.0", "spin-4-0", "spin:up/platform@4.0.0"),
];

/// The purpose of a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Spin gives it requests.
    Application,
    /// A component of an application calls it.
    Dependency,
}

/// The worlds of all versions.
#[derive(Debug)]
pub(crate) struct Targets {
    resolve: Resolve,
    package: PackageId,
}

impl Targets {
    /// Reads them from the repository at `root`.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let folder = root.join("hosts/spin/targets");
        let mut packages = entries(&folder.join("deps"))?;
        // What the app is built against stands there; of a package in both places, the
        // one here is whole.
        for path in entries(&root.join("hosts/spin/wit/deps"))? {
            if packages.iter().all(|it| it.file_name() != path.file_name()) {
                packages.push(path);
            }
        }
        let packages = packages.iter().map(|path| parse(path)).collect::<Result<_>>()?;
        let mut resolve = Resolve::default();
        let package = resolve
            .push_groups(parse(&folder)?, packages)
            .map_err(|error| anyhow!("{}", error.render(&resolve.source_map)))
            .with_context(|| format!("{} holds no valid worlds", folder.display()))?;
        Ok(Self { resolve, package })
    }

    /// Checks `component`, which people call `about`, against every version, and
    /// returns what these are called.
    pub(crate) fn check(&self, about: &str, component: &[u8], role: Role) -> Result<String> {
        let imports = World::of(component)?;
        let imports = imported(&imports.resolve, imports.id);
        for (version, application, platform) in VERSIONS {
            let name = if role == Role::Application { application } else { platform };
            let world = self.resolve.select_world(&[self.package], Some(name))?;
            let has = imported(&self.resolve, world);
            let is_missing = |it: &&Import| has.iter().all(|other| !other.satisfies(it));
            let missing: Vec<_> = imports.iter().filter(is_missing).collect();
            if !missing.is_empty() {
                bail!(
                    "{about} imports what Spin {version} does not have: {}; build it against what \
                     every version in hosts/spin/targets/worlds.wit has",
                    missing.iter().map(|it| it.beside(&has)).collect::<Vec<_>>().join(", ")
                );
            }
            wit_component::targets(&self.resolve, world, component, true)
                .with_context(|| format!("{about} does not fit Spin {version} (world {name})"))?;
        }
        Ok(VERSIONS.map(|(version, ..)| version).join(", "))
    }
}

/// An import of a world under one name.
struct Import {
    /// The name, with the version.
    name: String,
    /// The package and the name in it; `None` for what is no interface of a package.
    interface: Option<(PackageName, String)>,
}

impl Import {
    /// Returns whether a host that has this has what `import` asks for: the same, or a later
    /// version of it that is compatible.
    fn satisfies(&self, import: &Self) -> bool {
        let (Some((has, interface)), Some((asked, asked_interface))) =
            (&self.interface, &import.interface)
        else {
            return false;
        };
        let is_same = (&has.namespace, &has.name, interface)
            == (&asked.namespace, &asked.name, asked_interface);
        let track =
            |it: &PackageName| it.version.as_ref().map(PackageName::version_compat_track_string);
        let track = |it: &PackageName| track(it).map(|(track, _)| track);
        is_same && track(has) == track(asked) && has.version >= asked.version
    }

    /// Returns its name, and what of `others` is called so but for the version.
    fn beside(&self, others: &[Self]) -> String {
        let plain = |it: &Self| it.name.split('@').next().map(str::to_owned);
        let others = others.iter().filter(|it| plain(it) == plain(self));
        let others: Vec<_> = others.map(|it| it.name.as_str()).collect();
        if others.is_empty() {
            self.name.clone()
        } else {
            format!("{} (it has {})", self.name, others.join(", "))
        }
    }
}

fn imported(resolve: &Resolve, world: WorldId) -> Vec<Import> {
    let keys = resolve.worlds.get(world).map(|world| world.imports.keys()).into_iter().flatten();
    let interface = |key: &WorldKey| {
        let WorldKey::Interface(id) = key else { return None };
        let interface = resolve.interfaces.get(*id)?;
        let package = resolve.packages.get(interface.package?)?;
        Some((package.name.clone(), interface.name.clone()?))
    };
    keys.map(|key| Import { name: resolve.name_world_key(key), interface: interface(key) })
        .collect()
}

/// Returns the packages in the folder `folder`, in order.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let files =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths: Vec<_> = files.flatten().map(|file| file.path()).collect();
    paths.sort();
    Ok(paths)
}

/// Returns the package in the folder, or the packages in the file, `path`.
fn parse(path: &Path) -> Result<UnresolvedPackageGroup> {
    if path.is_dir() {
        return UnresolvedPackageGroup::parse_dir(path);
    }
    UnresolvedPackageGroup::parse(path, &fs::read_to_string(path)?)
        .map_err(|(sources, error)| anyhow!("{}", error.render(&sources)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spin::stubs::{Stubs, root};

    /// Returns the message about a component of the only world in `text`.
    fn check(text: &str, role: Role) -> Result<String, String> {
        let targets = Targets::read(&root()).unwrap();
        let component = Stubs::of(&targets.resolve, targets.package).component_of(text);
        targets.check("the stub", &component, role).map_err(|error| format!("{error:#}"))
    }

    fn is_refused(imports: &str, why: &str) {
        let error = check(&format!("world w {{ {imports} }}"), Role::Dependency).unwrap_err();
        let told = format!("the stub imports what Spin 3.4 does not have: {why}; build it");
        assert!(error.starts_with(&told), "{error}");
    }

    #[test]
    fn what_every_version_has_fits_all() {
        let world = "world w {
            import fermyon:spin/variables@2.0.0;
            import fermyon:spin/key-value@2.0.0;
            import spin:sqlite/sqlite@3.0.0;
            import wasi:cli/stderr@0.2.0;
            import wasi:clocks/wall-clock@0.2.0;
            import wasi:random/random@0.2.0;
            export wasi:http/incoming-handler@0.2.0;
        }";
        assert_eq!(check(world, Role::Application).unwrap(), "3.4, 3.5, 3.6, 4.0");
        assert_eq!(check(world, Role::Dependency).unwrap(), "3.4, 3.5, 3.6, 4.0");
    }

    #[test]
    fn a_later_version_than_a_spin_has_is_named() {
        is_refused(
            "import spin:sqlite/sqlite@3.1.0;",
            "spin:sqlite/sqlite@3.1.0 (it has spin:sqlite/sqlite@3.0.0)",
        );
        is_refused(
            "import wasi:random/random@0.2.6;",
            "wasi:random/random@0.2.6 (it has wasi:random/random@0.2.0)",
        );
    }

    #[test]
    fn what_no_spin_has_is_named() {
        is_refused("import f: func();", "f");
        let error = check(
            "world w { import wasi:http/types@0.3.0; }
             package wasi:http@0.3.0 { interface types { f: func(); } }",
            Role::Dependency,
        );
        let error = error.unwrap_err();
        assert!(
            error.contains(
                "3.4 does not have: wasi:http/types@0.3.0 (it has wasi:http/types@0.2.0)"
            ),
            "{error}"
        );
        let error = check(
            "world w { import shared-context:core/types@0.1.0; }
             package shared-context:core@0.1.0 { interface types { f: func(); } }",
            Role::Dependency,
        );
        assert!(error.unwrap_err().contains("shared-context:core/types@0.1.0; build it"));
    }

    #[test]
    fn another_interface_of_the_same_name_does_not_fit() {
        let targets = Targets::read(&root()).unwrap();
        let mut resolve = Resolve::default();
        let text = "package stub:stub;
            world w { import spin:sqlite/sqlite@3.0.0; }
            package spin:sqlite@3.0.0 { interface sqlite { vacuum: func(); } }";
        let package = resolve.push_source("stub.wit", text).unwrap();
        let component = Stubs::of(&resolve, package).component("w");
        let error = targets.check("the stub", &component, Role::Dependency).unwrap_err();
        let error = format!("{error:#}");
        assert!(error.starts_with("the stub does not fit Spin 3.4 (world spin:up/"), "{error}");
        assert!(error.contains("vacuum"), "{error}");
    }

    #[test]
    fn an_application_handles_requests() {
        let world = "world w { import wasi:random/random@0.2.0; }";
        assert!(check(world, Role::Dependency).is_ok());
        let error = check(world, Role::Application).unwrap_err();
        assert!(error.contains("wasi:http/incoming-handler@0.2"), "{error}");
    }

    /// Two copies would differ one day.
    #[test]
    fn a_package_that_stands_twice_is_the_same() {
        let folder = root().join("hosts/spin");
        for copy in entries(&folder.join("wit/deps")).unwrap() {
            let whole = folder.join("targets/deps").join(copy.file_name().unwrap());
            for file in entries(&copy).unwrap().iter().filter(|_| whole.exists()) {
                let (name, text) = (file.file_name().unwrap(), fs::read_to_string(file).unwrap());
                // The line with the package's name is in a separate file there.
                let same = fs::read_to_string(whole.join(name));
                let is_name_only = text.lines().count() == 1;
                assert!(is_name_only || same.unwrap() == text, "{}", file.display());
            }
        }
    }
}
