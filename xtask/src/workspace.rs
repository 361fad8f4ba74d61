//! The paths of the repository and of its target folder, its packages as cargo sees them, and the
//! cache folder that clones share.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process;

/// The repository this command was called in.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// The folder of the root `Cargo.toml`.
    pub(crate) root: PathBuf,
    /// The folder of cargo's build results.
    pub(crate) target: PathBuf,
    /// The members.
    pub(crate) packages: Vec<Package>,
}

/// A member of the workspace.
#[derive(Debug)]
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: String,
    /// Its `Cargo.toml`, relative to the root.
    pub(crate) manifest: String,
    /// All it depends on.
    pub(crate) dependencies: Vec<Dependency>,
}

/// One dependency of a member.
#[derive(Debug)]
pub(crate) struct Dependency {
    /// The name of the package depended on.
    pub(crate) name: String,
    /// True if it is in this repository.
    pub(crate) is_member: bool,
    /// True if only tests, examples and benchmarks have it.
    pub(crate) is_for_tests: bool,
}

impl Workspace {
    /// Asks cargo.
    pub(crate) fn find() -> Result<Self> {
        let directory = env::current_dir().context("the current folder is gone")?;
        let mut cargo = process::cargo(&directory);
        let metadata = process::read(cargo.args(["metadata", "--no-deps", "--format-version=1"]))?;
        Self::from_metadata(&metadata).context("`cargo metadata` printed something unknown")
    }

    fn from_metadata(metadata: &str) -> Result<Self> {
        let metadata: Value = serde_json::from_str(metadata)?;
        let root = PathBuf::from(text(&metadata, "workspace_root")?);
        let packages = list(&metadata, "packages")?
            .iter()
            .map(|package| Package::from_metadata(package, &root))
            .collect::<Result<_>>()?;
        let target = text(&metadata, "target_directory")?.into();
        Ok(Self { root, target, packages })
    }

    /// Cargo, at the root.
    pub(crate) fn cargo(&self) -> Command {
        process::cargo(&self.root)
    }

    /// Returns the built component.
    pub(crate) fn component(&self) -> PathBuf {
        self.target.join("component/shared-context.wasm")
    }

    /// Returns the built component without imports.
    pub(crate) fn pure_component(&self) -> PathBuf {
        self.target.join("component/shared-context-pure.wasm")
    }
}

impl Package {
    fn from_metadata(package: &Value, root: &Path) -> Result<Self> {
        let manifest = Path::new(text(package, "manifest_path")?);
        let dependencies = list(package, "dependencies")?
            .iter()
            .map(|dependency| {
                Ok(Dependency {
                    name: text(dependency, "name")?.to_owned(),
                    is_member: dependency.get("path").is_some_and(Value::is_string),
                    is_for_tests: dependency.get("kind").and_then(Value::as_str) == Some("dev"),
                })
            })
            .collect::<Result<_>>()?;
        Ok(Self {
            name: text(package, "name")?.to_owned(),
            manifest: manifest.strip_prefix(root).unwrap_or(manifest).display().to_string(),
            dependencies,
        })
    }
}

fn text<'a>(value: &'a Value, member: &str) -> Result<&'a str> {
    value.get(member).and_then(Value::as_str).with_context(|| format!("no `{member}`"))
}

fn list<'a>(value: &'a Value, member: &str) -> Result<&'a Vec<Value>> {
    value.get(member).and_then(Value::as_array).with_context(|| format!("no `{member}`"))
}

/// Returns the folder for what takes minutes to make and is the same for every clone.
/// It may be deleted at any time.
pub(crate) fn cache() -> Result<PathBuf> {
    let directories = directories::ProjectDirs::from("", "", "shared-context")
        .context("no home folder: set HOME to a folder that can be written to")?;
    Ok(directories.cache_dir().to_owned())
}

/// Makes the folder `name` of the cache by filling a temporary one with `fill` and renaming it, so
/// that it is never incomplete, even if other processes make it at the same time. Does nothing if
/// it exists. Returns its path.
pub(crate) fn cached(name: &str, fill: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    make_once(&cache()?, name, fill)
}

fn make_once(cache: &Path, name: &str, fill: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let folder = cache.join(name);
    if folder.is_dir() {
        return Ok(folder);
    }
    let unfinished = cache.join(format!(".{name}.{}", std::process::id()));
    fs::create_dir_all(&unfinished)
        .with_context(|| format!("cannot make the folder {}", unfinished.display()))?;
    let made = fill(&unfinished).and_then(|()| match fs::rename(&unfinished, &folder) {
        Err(error) if !folder.is_dir() => {
            Err(error).with_context(|| format!("cannot make the folder {}", folder.display()))
        }
        _ => Ok(()),
    });
    // It is left only after a failure, or if another process was faster.
    let _ = fs::remove_dir_all(&unfinished);
    made.map(|()| folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_is_read_from_what_cargo_prints() {
        let metadata = r#"{
            "workspace_root": "/x", "target_directory": "/x/target",
            "packages": [{
                "name": "a", "manifest_path": "/x/parts/a/Cargo.toml",
                "dependencies": [
                    {"name": "b", "path": "/x/parts/b", "kind": null},
                    {"name": "c", "kind": "dev"}
                ]
            }]
        }"#;
        let workspace = Workspace::from_metadata(metadata).unwrap();
        assert_eq!(workspace.component(), Path::new("/x/target/component/shared-context.wasm"));
        let [package] = &workspace.packages[..] else { panic!("one package") };
        assert_eq!(package.manifest, "parts/a/Cargo.toml");
        let seen = |d: &Dependency| (d.name.clone(), d.is_member, d.is_for_tests);
        let seen: Vec<_> = package.dependencies.iter().map(seen).collect();
        assert_eq!(seen, [("b".to_owned(), true, false), ("c".to_owned(), false, true)]);
    }

    #[test]
    fn a_folder_is_made_once() {
        let cache = tempfile::tempdir().unwrap();
        let make =
            |text: &'static str| move |folder: &Path| Ok(fs::write(folder.join("text"), text)?);
        let first = make_once(cache.path(), "thing", make("first")).unwrap();
        let second = make_once(cache.path(), "thing", make("second")).unwrap();
        assert_eq!(first, second);
        assert_eq!(fs::read_to_string(first.join("text")).unwrap(), "first");
    }

    #[test]
    fn a_folder_that_could_not_be_filled_is_not_there() {
        let cache = tempfile::tempdir().unwrap();
        let made = make_once(cache.path(), "thing", |_| anyhow::bail!("the disk is full"));
        assert_eq!(made.unwrap_err().to_string(), "the disk is full");
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0);
    }
}
