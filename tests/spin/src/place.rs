//! Where the application of `hosts/spin` is, and how it is set up for tests.

use std::{env, path::PathBuf};

use crate::Setup;

/// What credentials are signed with where a test does not say.
const SECRET: &str = "spin: signs the credentials of tests";
/// The admin key where a test does not say.
const ADMIN_KEY: &str = "spin-admin-key-0123456789abcdef01";

/// What sessions are kept in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// Spin's `SQLite`.
    Sqlite,
    /// Spin's key-value store, where there is no `SQLite`.
    KeyValue,
}

/// The folder of the application, which is built.
#[derive(Debug, Clone)]
pub struct Place {
    folder: PathBuf,
}

impl Place {
    /// Reads from the environment where it is.
    ///
    /// # Errors
    ///
    /// It does not say, or nothing is built there.
    pub fn find() -> Result<Self, String> {
        let folder = env::var_os("SPIN_APP").filter(|it| !it.is_empty()).ok_or(
            "SPIN_APP is not set: `cargo xtask spin` builds the application of hosts/spin, and sets it",
        )?;
        let folder = PathBuf::from(folder);
        // Where a program is started, the path means something else.
        let whole = folder.canonicalize();
        let place = Self {
            folder: whole.map_err(|error| format!("SPIN_APP: {}: {error}", folder.display()))?,
        };
        for over in [Over::Sqlite, Over::KeyValue] {
            let built = place.component(over);
            if !built.exists() {
                return Err(format!(
                    "{} is not there: `cargo xtask build` makes it",
                    built.display()
                ));
            }
        }
        Ok(place)
    }

    /// Returns the manifest of the application.
    pub fn manifest(&self, over: Over) -> PathBuf {
        self.folder.join(match over {
            Over::Sqlite => "spin.toml",
            Over::KeyValue => "spin-key-value.toml",
        })
    }

    /// Returns the component that the manifest names.
    pub fn component(&self, over: Over) -> PathBuf {
        self.folder.join("build").join(match over {
            Over::Sqlite => "shared-context.wasm",
            Over::KeyValue => "shared-context-key-value.wasm",
        })
    }

    /// Returns the application with keys of tests, over the state in `state_dir`.
    pub fn setup(&self, over: Over, state_dir: impl Into<PathBuf>) -> Setup {
        Setup::new(self.manifest(over), state_dir).keys(SECRET, ADMIN_KEY)
    }
}

impl Setup {
    /// With these secrets.
    #[must_use]
    pub fn keys(self, secret: &str, admin_key: &str) -> Self {
        let setup = self.variable("shared_context_secret", secret);
        setup.variable("shared_context_admin_key", admin_key)
    }

    /// Returns the admin key; empty if it has none.
    pub fn admin_key(&self) -> &str {
        let is_it = |(name, _): &&(String, String)| name == "shared_context_admin_key";
        self.variables.iter().find(is_it).map_or("", |(_, key)| key)
    }
}
