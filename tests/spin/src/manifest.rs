//! `spin.toml`: the manifest of a Spin application, version 2, as far as the emulator
//! supports it.
//!
//! Features that Spin has and the emulator lacks (files, registries, triggers other than
//! HTTP, wildcards in the middle of routes) are rejected with a reason. Fields without
//! effect here (build commands, descriptions, allowed hosts: no component makes outgoing
//! requests) are ignored.
//!
//! Invariant: unknown fields are rejected, as by Spin's own reader.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};
use serde::{Deserialize, de::IgnoredAny};

/// The only label of databases and stores, as in `spin up` without a runtime configuration.
pub(crate) const DEFAULT: &str = "default";

/// An application.
#[derive(Debug)]
pub(crate) struct Manifest {
    /// The folder of the file: paths in it start there.
    pub(crate) folder: PathBuf,
    pub(crate) variables: BTreeMap<String, Variable>,
    /// Each route with the name of the component that serves it.
    pub(crate) routes: Vec<(String, String)>,
    pub(crate) components: BTreeMap<String, Component>,
}

/// A variable of the application.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Variable {
    pub(crate) default: Option<String>,
    #[serde(default)]
    pub(crate) required: bool,
    #[serde(default, rename = "secret")]
    _secret: IgnoredAny,
    #[serde(default, rename = "description")]
    _description: IgnoredAny,
}

/// A component.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Component {
    source: Source,
    /// Templates of the variables that it may read, by name.
    #[serde(default)]
    pub(crate) variables: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) environment: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) sqlite_databases: Vec<String>,
    #[serde(default)]
    pub(crate) key_value_stores: Vec<String>,
    #[serde(default)]
    files: Vec<IgnoredAny>,
    #[serde(default)]
    pub(crate) dependencies: BTreeMap<String, Dependency>,
    /// True if its dependencies inherit its rights.
    pub(crate) dependencies_inherit_configuration: Option<bool>,
    #[serde(default, rename = "description")]
    _description: IgnoredAny,
    #[serde(default, rename = "exclude_files")]
    _exclude_files: IgnoredAny,
    #[serde(default, rename = "allowed_http_hosts")]
    _allowed_http_hosts: IgnoredAny,
    #[serde(default, rename = "allowed_outbound_hosts")]
    _allowed_outbound_hosts: IgnoredAny,
    #[serde(default, rename = "ai_models")]
    _ai_models: IgnoredAny,
    #[serde(default, rename = "targets")]
    _targets: IgnoredAny,
    #[serde(default, rename = "build")]
    _build: IgnoredAny,
    #[serde(default, rename = "tool")]
    _tool: IgnoredAny,
    #[serde(default, rename = "profile")]
    _profile: IgnoredAny,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Source {
    File(PathBuf),
    Elsewhere(IgnoredAny),
}

/// A dependency, which satisfies imports of a component.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Dependency {
    /// A component in a file.
    File(FileDependency),
    /// A component from elsewhere, which the emulator does not fetch.
    Elsewhere(IgnoredAny),
}

/// A dependency that is a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileDependency {
    pub(crate) path: PathBuf,
    /// The export to use, if its name differs from the import's.
    pub(crate) export: Option<String>,
    /// The rights of the component that it inherits.
    pub(crate) inherit_configuration: Option<Inherit>,
}

/// Rights that a dependency inherits.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Inherit {
    /// All, or none.
    All(bool),
    /// The rights of these manifest fields.
    Some(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    spin_manifest_version: u32,
    #[serde(rename = "application")]
    _application: Application,
    #[serde(default)]
    variables: BTreeMap<String, Variable>,
    #[serde(default)]
    trigger: BTreeMap<String, Vec<Trigger>>,
    #[serde(default)]
    component: BTreeMap<String, Component>,
}

#[derive(Deserialize)]
struct Application {
    #[serde(rename = "name")]
    _name: String,
}

#[derive(Deserialize)]
struct Trigger {
    component: Option<toml::Value>,
    route: Option<toml::Value>,
    executor: Option<toml::Value>,
}

impl Manifest {
    /// Reads the file `path`.
    ///
    /// # Errors
    ///
    /// It does not exist, is not a manifest, or needs a feature that the emulator lacks.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(path)
            .with_context(|| format!("cannot read the manifest {}", path.display()))?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Self::parse(&text, folder).with_context(|| format!("in {}", path.display()))
    }

    fn parse(text: &str, folder: PathBuf) -> anyhow::Result<Self> {
        let file: File = toml::from_str(text)?;
        ensure!(file.spin_manifest_version == 2, "spin_manifest_version must be 2");
        for (name, variable) in &file.variables {
            check_name(name)?;
            ensure!(
                variable.required != variable.default.is_some(),
                "variable {name:?} needs either `required = true` or a `default`",
            );
        }
        for (name, component) in &file.component {
            component.check().with_context(|| format!("component {name:?}"))?;
        }
        let routes = routes(file.trigger, &file.component)?;
        Ok(Self { folder, variables: file.variables, routes, components: file.component })
    }

    /// Resolves a path in the manifest.
    pub(crate) fn path(&self, path: &Path) -> PathBuf {
        self.folder.join(path)
    }
}

impl Component {
    /// Returns its file, as written in the manifest.
    ///
    /// # Errors
    ///
    /// The source is not a file.
    pub(crate) fn file(&self) -> anyhow::Result<&Path> {
        match &self.source {
            Source::File(path) => Ok(path),
            Source::Elsewhere(_) => bail!("`source` must be a file: the emulator fetches nothing"),
        }
    }

    fn check(&self) -> anyhow::Result<()> {
        self.file()?;
        ensure!(self.files.is_empty(), "`files`: the emulator mounts none");
        for name in self.variables.keys() {
            check_name(name)?;
        }
        let labels = [
            ("sqlite_databases", &self.sqlite_databases),
            ("key_value_stores", &self.key_value_stores),
        ];
        for (field, labels) in labels {
            if let Some(other) = labels.iter().find(|it| *it != DEFAULT) {
                bail!(
                    "unknown label {other:?} in `{field}`: there is only {DEFAULT:?}, as in \
                     `spin up` without a runtime configuration"
                );
            }
        }
        for (name, dependency) in &self.dependencies {
            if matches!(dependency, Dependency::Elsewhere(_)) {
                bail!("dependency {name:?} must be a file, such as {{ path = \"it.wasm\" }}");
            }
        }
        Ok(())
    }
}

fn routes(
    triggers: BTreeMap<String, Vec<Trigger>>,
    components: &BTreeMap<String, Component>,
) -> anyhow::Result<Vec<(String, String)>> {
    let mut routes = Vec::new();
    for (kind, triggers) in triggers {
        ensure!(kind == "http", "trigger.{kind}: the emulator has only HTTP");
        for trigger in triggers {
            let Some(toml::Value::String(component)) = trigger.component else {
                bail!("trigger.http: `component` must be the name of one");
            };
            ensure!(
                components.contains_key(&component),
                "trigger.http: there is no component {component:?}",
            );
            let executor = trigger.executor.as_ref().and_then(|it| it.get("type")?.as_str());
            ensure!(
                executor.is_none_or(|it| it == "http"),
                "trigger.http: the emulator has only the executor \"http\"",
            );
            match trigger.route {
                Some(toml::Value::String(route)) => routes.push((route, component)),
                // A private route serves other components only; the emulator does not chain
                // components.
                Some(toml::Value::Table(route))
                    if route.get("private").and_then(toml::Value::as_bool) == Some(true) => {}
                _ => bail!("trigger.http: `route` must be a text, such as \"/...\""),
            }
        }
    }
    ensure!(!routes.is_empty(), "there is no [[trigger.http]] with a `route`");
    Ok(routes)
}

/// Checks that `name` is a valid variable name by Spin's rules.
pub(crate) fn check_name(name: &str) -> anyhow::Result<()> {
    let is_plain = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_';
    let is_good = name.starts_with(|it: char| it.is_ascii_lowercase())
        && name.chars().all(is_plain)
        && !name.ends_with('_')
        && !name.contains("__");
    ensure!(
        is_good,
        "{name:?} cannot be a variable's name: lower-case letters and digits, words joined by \
         one underscore",
    );
    Ok(())
}

#[cfg(test)]
mod tests;
