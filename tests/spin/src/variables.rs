//! The variables of an application and of its components.
//!
//! A component has its own variables, which are templates over the variables of the
//! application: `"{{ name }}"`. An application's variable has the first of these values:
//! the given one, that of `SPIN_VARIABLE_NAME` in the environment, that in `.env`, its
//! default. Values never change while the application runs, so they are resolved at the
//! start.
//!
//! Invariant: a required variable without a value is an error at the start that names it,
//! as in newer versions of Spin. Older versions report it when a component reads it.

use std::{collections::BTreeMap, fs, io::ErrorKind, path::Path};

use anyhow::{Context as _, bail};

use crate::manifest::{self, Manifest};

/// The prefix of the environment variables.
const PREFIX: &str = "SPIN_VARIABLE_";

/// The values of one component's variables, by name.
#[derive(Debug, Default)]
pub(crate) struct Texts(BTreeMap<String, String>);

/// The error of reading a variable.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum VariableError {
    /// The name is invalid.
    InvalidName(String),
    /// The component has no variable with this name.
    Undefined(String),
}

impl Texts {
    /// Returns the value of the variable `name`.
    pub(crate) fn get(&self, component: &str, name: &str) -> Result<String, VariableError> {
        manifest::check_name(name).map_err(|it| VariableError::InvalidName(it.to_string()))?;
        let none = || VariableError::Undefined(format!("no variable for {component:?}.{name:?}"));
        self.0.get(name).cloned().ok_or_else(none)
    }
}

/// The sources of values.
pub(crate) struct Sources<'a> {
    /// Values given for this start.
    pub(crate) given: &'a [(String, String)],
    /// Reads an environment variable.
    pub(crate) environment: &'a dyn Fn(&str) -> Option<String>,
    /// The file `.env`, which may be missing.
    pub(crate) file: &'a Path,
}

/// Resolves the variables of each component of `manifest`, by the component's name.
///
/// # Errors
///
/// A required variable has no value, a template names an unknown variable, or the file
/// cannot be read.
pub(crate) fn resolve(
    manifest: &Manifest,
    sources: &Sources<'_>,
) -> anyhow::Result<BTreeMap<String, Texts>> {
    if let Some((name, _)) =
        sources.given.iter().find(|(name, _)| !manifest.variables.contains_key(name))
    {
        bail!("a value is given for {name:?}, which is not in [variables] of the manifest");
    }
    let file = read_env_file(sources.file)?;
    let mut values = BTreeMap::new();
    for (name, variable) in &manifest.variables {
        let key = environment_name(name);
        let given = sources.given.iter().rev().find(|(other, _)| other == name);
        let value = given
            .map(|(_, value)| value.clone())
            .or_else(|| (sources.environment)(&key))
            .or_else(|| file.get(&key).cloned())
            .or_else(|| variable.default.clone());
        let Some(value) = value else {
            bail!(without_value(name, &key, manifest, sources.file));
        };
        values.insert(name.as_str(), value);
    }
    let texts = manifest.components.iter().map(|(component, it)| {
        let texts = it.variables.iter().map(|(name, template)| {
            let text = fill(template, &values)
                .with_context(|| format!("component {component:?}, variable {name:?}"))?;
            Ok((name.clone(), text))
        });
        Ok((component.clone(), Texts(texts.collect::<anyhow::Result<_>>()?)))
    });
    texts.collect()
}

/// Returns the name of the environment variable for the variable `name`.
pub(crate) fn environment_name(name: &str) -> String {
    format!("{PREFIX}{}", name.to_ascii_uppercase())
}

fn without_value(name: &str, key: &str, manifest: &Manifest, file: &Path) -> String {
    let text = format!(
        "variable {name:?} is required and has no value: set {key}, or write a line `{key}=…` \
         into {}",
        file.display(),
    );
    let beside = manifest.folder.join(".env");
    if !beside.exists() || beside.canonicalize().ok() == file.canonicalize().ok() {
        return text;
    }
    format!(
        "{text}. Spin reads `.env` of the folder it is started in: `cd {}` to use the one there",
        manifest.folder.display(),
    )
}

/// Replaces each `{{ name }}` in `template`.
fn fill(template: &str, values: &BTreeMap<&str, String>) -> anyhow::Result<String> {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else {
            bail!("unmatched '{{{{' in the template {template:?}");
        };
        let name = name.trim();
        let Some(value) = values.get(name) else {
            bail!("the template {template:?} names {name:?}, which is not in [variables]");
        };
        text += before;
        text += value;
        rest = after;
    }
    Ok(text + rest)
}

/// Reads the variables of the file `.env` at `path`; returns none if it does not exist.
fn read_env_file(path: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        text => text.with_context(|| format!("cannot read {}", path.display()))?,
    };
    let mut values = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let at = || format!("{}, line {number}", path.display());
        if let Some((name, value)) = env_line(line).with_context(at)? {
            // The last of several lines wins, as in Spin.
            values.insert(name, value);
        }
    }
    Ok(values)
}

/// Parses a line of `.env`: `NAME=value`, with quotes if the value has spaces.
fn env_line(line: &str) -> anyhow::Result<Option<(String, String)>> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let line = line.strip_prefix("export ").unwrap_or(line);
    let Some((name, value)) = line.split_once('=') else {
        bail!("`NAME=value` is expected");
    };
    let value = value.trim();
    let quoted = |quote| value.strip_prefix(quote).map(|it: &str| it.split_once(quote));
    let value = match (quoted('\''), quoted('"')) {
        (Some(None), _) | (_, Some(None)) => bail!("the quote is not closed"),
        (Some(Some((value, rest))), _) | (_, Some(Some((value, rest)))) => {
            let rest = rest.trim_start();
            anyhow::ensure!(rest.is_empty() || rest.starts_with('#'), "{rest:?} is too much");
            value
        }
        (None, None) => value.split_once(" #").map_or(value, |(value, _)| value.trim_end()),
    };
    if !line.contains('\'') && value.contains(['$', '\\']) {
        bail!("`$` and `\\` mean something in `.env`: put the value into single quotes");
    }
    Ok(Some((name.trim().to_owned(), value.to_owned())))
}

#[cfg(test)]
mod tests;
