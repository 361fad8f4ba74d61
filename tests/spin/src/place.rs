//! The location of the application of `hosts/spin`, and its setup for tests.

use std::{env, path::PathBuf};

use crate::Setup;

/// The default secret of tests, which signs credentials.
const SECRET: &str = "spin: signs the credentials of tests";
/// The default admin key of tests.
const ADMIN_KEY: &str = "spin-admin-key-0123456789abcdef01";

/// The storage of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// Spin's `SQLite`.
    Sqlite,
    /// Spin's key-value store, for platforms without `SQLite`.
    KeyValue,
}

/// The folder of the built application.
#[derive(Debug, Clone)]
pub struct Place {
    folder: PathBuf,
}

impl Place {
    /// Finds the folder through the environment variable `SPIN_APP`.
    ///
    /// # Errors
    ///
    /// The variable is not set, or the folder has no built application.
    pub fn find() -> Result<Self, String> {
        let folder = env::var_os("SPIN_APP").filter(|it| !it.is_empty()).ok_or(
            "SPIN_APP is not set: `cargo xtask spin` builds the application of hosts/spin, and sets it",
        )?;
        let folder = PathBuf::from(folder);
        // Programs are started in other folders, so the path must be absolute.
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

    /// Returns the path of the manifest.
    pub fn manifest(&self, over: Over) -> PathBuf {
        self.folder.join(match over {
            Over::Sqlite => "spin.toml",
            Over::KeyValue => "spin-key-value.toml",
        })
    }

    /// Returns the path of the component that the manifest names.
    pub fn component(&self, over: Over) -> PathBuf {
        self.folder.join("build").join(match over {
            Over::Sqlite => "shared-context.wasm",
            Over::KeyValue => "shared-context-key-value.wasm",
        })
    }

    /// Returns a setup of the application with the keys of tests and its state in `state_dir`.
    pub fn setup(&self, over: Over, state_dir: impl Into<PathBuf>) -> Setup {
        Setup::new(self.manifest(over), state_dir).keys(SECRET, ADMIN_KEY)
    }
}

impl Setup {
    /// Sets the secret and the admin key.
    #[must_use]
    pub fn keys(self, secret: &str, admin_key: &str) -> Self {
        let setup = self.variable("shared_context_secret", secret);
        setup.variable("shared_context_admin_key", admin_key)
    }

    /// Returns the admin key, or an empty text if none is set.
    pub fn admin_key(&self) -> &str {
        let is_it = |(name, _): &&(String, String)| name == "shared_context_admin_key";
        self.variables.iter().find(is_it).map_or("", |(_, key)| key)
    }
}
