//! `hosts/spin/.env`: the secrets of the application on this machine, which Spin gives it
//! when it is started in that folder.
//!
//! Elsewhere they are set as variables of the application on its platform. The environment takes
//! precedence over the file here too.
//!
//! Invariant: existing lines of the file are never changed.

use std::{fs, path::Path};

use anyhow::{Context, Result};

use crate::{console, serving};

/// The path from the root.
pub(crate) const PATH: &str = "hosts/spin/.env";
/// The variable of the admin key, in the file as in the environment.
pub(crate) const ADMIN_KEY: &str = "SPIN_VARIABLE_SHARED_CONTEXT_ADMIN_KEY";
/// Finds it in the file, for a shell.
pub(crate) const SED: &str = "s/^SPIN_VARIABLE_SHARED_CONTEXT_ADMIN_KEY=//p";
/// The variable of the secret that signs credentials.
const SECRET: &str = "SPIN_VARIABLE_SHARED_CONTEXT_SECRET";

/// Writes the file unless it exists.
pub(crate) fn ensure(root: &Path) -> Result<()> {
    let text = format!(
        "# Made by `cargo xtask build`, for this machine. Spin reads it where it is started.\n\
         {SECRET}={}\n{ADMIN_KEY}={}\n",
        serving::random()?,
        serving::random()?
    );
    if serving::write_once(&root.join(PATH), text.as_bytes())? {
        console::done(&format!("{PATH}: made, with two random secrets that only you can read"));
    }
    Ok(())
}

/// Returns the admin key in the file.
pub(crate) fn admin_key(root: &Path) -> Result<String> {
    let text =
        fs::read_to_string(root.join(PATH)).with_context(|| format!("cannot read {PATH}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(ADMIN_KEY)?.strip_prefix('='));
    line.map(str::to_owned).with_context(|| {
        format!("{PATH} sets no {ADMIN_KEY}: set it there, or remove the file and build again")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_secrets_are_made_once() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("hosts/spin")).unwrap();
        ensure(root.path()).unwrap();
        let text = fs::read_to_string(root.path().join(PATH)).unwrap();
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.strip_prefix('=').unwrap().to_owned()
        };
        assert_eq!([value(SECRET).len(), value(ADMIN_KEY).len()], [64, 64]);
        assert_ne!(value(SECRET), value(ADMIN_KEY));
        assert_eq!(admin_key(root.path()).unwrap(), value(ADMIN_KEY));

        fs::write(root.path().join(PATH), format!("{ADMIN_KEY}=mine\n")).unwrap();
        ensure(root.path()).unwrap();
        assert_eq!(admin_key(root.path()).unwrap(), "mine");
    }

    #[test]
    fn a_file_without_the_key_says_what_to_do() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("hosts/spin")).unwrap();
        fs::write(root.path().join(PATH), "OTHER=1\n").unwrap();
        let error = admin_key(root.path()).unwrap_err().to_string();
        assert!(error.starts_with("hosts/spin/.env sets no SPIN_VARIABLE_"), "{error}");
    }
}
