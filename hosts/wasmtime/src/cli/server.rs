//! The server that a command calls, its credentials and its default session.
//!
//! Of each setting an option comes first, then its variable, then the profile, then the
//! default. A data folder that is named comes before the profile: its server is meant, and no
//! other one is called when none runs there.
//!
//! # Invariants
//!
//! - The admin key found in a data folder is sent only to the server of that folder or to
//!   this machine. To send one elsewhere, the operator sets `SHARED_CONTEXT_ADMIN_KEY` or
//!   has it in a profile.
//! - Nothing of a profile is used for another address than its own.

use std::{
    env,
    path::{Path, PathBuf},
};

use shared_context_wasmtime::folder::{self, SECRETS_FILE, Secrets, ServerFile};

use super::{
    argument::SessionName,
    client::{Answer, Bearer, Call, Client, LISTEN_DEFAULT},
    problem::{Kind, Problem},
    profile::{Profile, ProfileFileArgs},
};

/// The options that choose a server.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ServerArgs {
    /// The server's address [default: that of the server on the folder of --data,
    /// else of the profile, else of the server on the user's data folder, else
    /// `http://127.0.0.1:8787`]
    #[arg(
        long,
        env = "SHARED_CONTEXT_URL",
        value_name = "URL",
        global = true,
        help_heading = "Which server"
    )]
    url: Option<String>,
    /// A PEM file with the authority that signed an https server's certificate
    /// [default: that of the profile, else the authorities that this machine trusts]
    #[arg(
        long,
        env = "SHARED_CONTEXT_CA",
        value_name = "FILE",
        global = true,
        help_heading = "Which server"
    )]
    ca: Option<PathBuf>,
    /// The server's data folder: its address and admin key are found there
    /// [default: the user's data folder]
    #[arg(
        long,
        env = "SHARED_CONTEXT_DATA",
        value_name = "DIR",
        global = true,
        help_heading = "Which server"
    )]
    data: Option<PathBuf>,
    /// A server by name, see `shared-context profile` [default: the one of
    /// `profile use`]
    #[arg(
        long,
        env = "SHARED_CONTEXT_PROFILE",
        value_name = "NAME",
        global = true,
        help_heading = "Which server"
    )]
    profile: Option<String>,
    #[command(flatten)]
    profiles: ProfileFileArgs,
}

/// The source of a server's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AddressSource {
    /// An option or the environment names it.
    Named,
    /// It is that of the profile.
    Profile,
    /// The running server wrote it to the data folder.
    InFolder,
    /// It is the default address.
    Default,
    /// A data folder is named, and no server runs on it. The address must not be called.
    Absent,
}

/// A server, and the data folder that may have its secrets.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) client: Client,
    folder: Option<PathBuf>,
    source: AddressSource,
    /// The profile whose address it is.
    profile: Option<Profile>,
}

impl ServerArgs {
    /// Returns the data folder: the one that is named, or the user's.
    pub(crate) fn folder(&self) -> Result<PathBuf, Problem> {
        data_folder(self.data.as_deref())
    }

    /// Finds the server, without calling it.
    ///
    /// # Errors
    ///
    /// No server runs on the data folder that is named. The profile or its file is invalid, or
    /// the address or the file of the authority.
    pub(crate) fn server(&self) -> Result<Server, Problem> {
        let server = self.find()?;
        server.check_present()?;
        Ok(server)
    }

    /// Finds the server as [`ServerArgs::server`] does, for commands that also work when none runs
    /// on the data folder that is named. Then the server has the settings but cannot be called.
    ///
    /// # Errors
    ///
    /// The profile or its file is invalid, or the address or the file of the authority.
    pub(crate) fn find(&self) -> Result<Server, Problem> {
        let folder = self.folder().ok();
        let profile = self.profile()?;
        let running = || folder.as_deref().and_then(ServerFile::of_running);
        let default = || format!("http://{LISTEN_DEFAULT}");
        let (url, source) = match (&self.url, &profile) {
            (Some(url), _) => (url.clone(), AddressSource::Named),
            (None, Some(profile)) if self.data.is_none() => {
                (profile.url.clone(), AddressSource::Profile)
            }
            _ => match running() {
                Some(file) => (file.url, AddressSource::InFolder),
                // The server at the default address is that of another folder.
                None if self.data.is_some() => (default(), AddressSource::Absent),
                None => (default(), AddressSource::Default),
            },
        };
        let is_same = |it: &Profile| it.url.trim_end_matches('/') == url.trim_end_matches('/');
        let profile = profile.filter(is_same);
        let ca = self.ca.as_deref().or(profile.as_ref().and_then(|it| it.ca.as_deref()));
        Ok(Server { client: Client::new(&url, ca)?, folder, source, profile })
    }

    /// Returns the profile that is named, or the one that is used by default.
    fn profile(&self) -> Result<Option<Profile>, Problem> {
        if self.profile.is_none() && !self.profiles.is_there() {
            return Ok(None);
        }
        let file = self.profiles.read()?;
        Ok(file.chosen(self.profile.as_deref())?.cloned())
    }
}

/// Returns the problem that no server runs on `folder`.
pub(crate) fn not_running(folder: &Path) -> Problem {
    let message = format!("no server runs on {}", folder.display());
    Problem::new(Kind::Unreachable, "SERVER_UNREACHABLE", message)
        .next("start one with `shared-context serve --data DIR`, or name one with --url")
}

/// Returns `named`, or the user's data folder.
pub(crate) fn data_folder(named: Option<&Path>) -> Result<PathBuf, Problem> {
    match named {
        Some(folder) => Ok(folder.to_owned()),
        None => Ok(folder::default_folder()?),
    }
}

impl Server {
    /// Returns the admin key.
    ///
    /// # Errors
    ///
    /// There is no key, or the server is unreachable.
    pub(crate) fn admin(&self) -> Result<Bearer, Problem> {
        self.check_present()?;
        let of_profile = || self.profile.as_ref()?.admin_key.clone();
        let of_variable = || {
            let key = variable(ADMIN_KEY_VARIABLE)?;
            Some(Bearer::admin_key(key, ADMIN_KEY_VARIABLE.to_owned()))
        };
        if let Some(key) = of_variable().or_else(of_profile) {
            return Ok(key);
        }
        if self.source != AddressSource::InFolder && !self.client.is_local() {
            return Err(no_admin_key(format!(
                "no admin key for {}: one that is found in a data folder is not sent to other \
                 machines",
                self.client.url()
            ))
            .next(format!("set {ADMIN_KEY_VARIABLE}, or keep it in a profile of this address")));
        }
        let kept = self.folder.as_deref().map_or(Ok(None), Secrets::read);
        if let Some(secrets) = kept.map_err(|error| no_admin_key(error.to_string()))? {
            let path = self.folder.as_deref().unwrap_or(Path::new("")).join(SECRETS_FILE);
            return Ok(Bearer::admin_key(secrets.admin_key, path.display().to_string()));
        }
        self.health()?;
        let folder = self.folder.as_deref().unwrap_or(Path::new("the data folder"));
        Err(no_admin_key(format!(
            "no admin key: {ADMIN_KEY_VARIABLE} is not set, and {} holds none",
            folder.display()
        ))
        .next(format!(
            "name the data folder of the server with --data, or set {ADMIN_KEY_VARIABLE}"
        )))
    }

    /// Returns true if an option, the environment or a profile names the server.
    pub(crate) fn is_named(&self) -> bool {
        matches!(self.source, AddressSource::Named | AddressSource::Profile)
    }

    /// Returns true if a server is known to be there: its address is not just the default
    /// one.
    pub(crate) fn is_expected(&self) -> bool {
        !matches!(self.source, AddressSource::Default | AddressSource::Absent)
    }

    /// Returns true if no server runs on the data folder that is named.
    pub(crate) fn is_absent(&self) -> bool {
        self.source == AddressSource::Absent
    }

    /// Checks that a server may run on the data folder, if one is named.
    ///
    /// # Errors
    ///
    /// None does.
    fn check_present(&self) -> Result<(), Problem> {
        match &self.folder {
            Some(folder) if self.is_absent() => Err(not_running(folder)),
            _ => Ok(()),
        }
    }

    /// Returns the credential of `SHARED_CONTEXT_TOKEN`, or else that of the profile.
    pub(crate) fn participant(&self) -> Option<Bearer> {
        let of_profile = || self.profile.as_ref()?.token.clone();
        variable("SHARED_CONTEXT_TOKEN").map(Bearer::credential).or_else(of_profile)
    }

    /// Returns the id of the session that is named. A dot stands for the session of
    /// `SHARED_CONTEXT_SESSION`, or else of the profile.
    ///
    /// # Errors
    ///
    /// There is no default session.
    pub(crate) fn session(&self, name: &SessionName) -> Result<String, Problem> {
        let of_profile = || self.profile.as_ref()?.session.clone();
        let default = || variable("SHARED_CONTEXT_SESSION").or_else(of_profile);
        name.id().map(str::to_owned).or_else(default).ok_or_else(|| {
            Problem::new(Kind::Usage, "NO_SESSION", "no session is named")
                .next("name one, or set SHARED_CONTEXT_SESSION, or add one to the profile")
        })
    }

    /// Calls `/healthz` and returns its body.
    pub(crate) fn health(&self) -> Result<Vec<u8>, Problem> {
        self.answer(&self.client.get(&["healthz"], &[]), None)?.health()
    }

    /// Sends `request` to the JSON tool of `session` and returns the reply.
    ///
    /// # Errors
    ///
    /// The server rejects the request or is unreachable.
    pub(crate) fn tool(
        &self,
        session: &str,
        bearer: &Bearer,
        request: impl Into<Vec<u8>>,
    ) -> Result<Vec<u8>, Problem> {
        let path = ["v1", "sessions", session, "shared_context"];
        self.send(&self.client.post(&path, request), Some(bearer))
    }

    /// Sends `call` and returns the body of the answer.
    ///
    /// # Errors
    ///
    /// The server rejects the request or is unreachable.
    pub(crate) fn send(&self, call: &Call, bearer: Option<&Bearer>) -> Result<Vec<u8>, Problem> {
        let accepted = self.answer(call, bearer)?.accepted();
        accepted.map_err(|problem| match bearer {
            Some(bearer) => bearer.explain(problem, self.client.url()),
            None => problem,
        })
    }

    fn answer(&self, call: &Call, bearer: Option<&Bearer>) -> Result<Answer, Problem> {
        self.check_present()?;
        self.client.send(call, bearer).map_err(|problem| {
            if problem.code() != "SERVER_UNREACHABLE" {
                return problem;
            }
            let found = match self.source {
                AddressSource::Named => "as --url or SHARED_CONTEXT_URL says",
                AddressSource::Profile => "as the profile says",
                AddressSource::InFolder => "where the server of the data folder said it listens",
                AddressSource::Default | AddressSource::Absent => "the default address",
            };
            let message = format!("{} ({found})", problem.message());
            Problem::new(Kind::Unreachable, "SERVER_UNREACHABLE", message)
                .next("start a server with `shared-context serve`, or name one with --url")
        })
    }
}

/// The variable with the operator's key.
const ADMIN_KEY_VARIABLE: &str = "SHARED_CONTEXT_ADMIN_KEY";

fn no_admin_key(message: String) -> Problem {
    Problem::new(Kind::Usage, "NO_ADMIN_KEY", message)
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().map(|it| it.trim().to_owned()).filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Alone {
        #[command(flatten)]
        server: ServerArgs,
    }

    fn args(arguments: &[&str]) -> ServerArgs {
        Alone::parse_from(["x"].iter().chain(arguments)).server
    }

    /// A command with `--data BACKUP` once changed the sessions of the server at the default
    /// address, which ran on another folder.
    #[test]
    fn a_named_folder_without_a_server_is_not_another_server() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().to_str().unwrap();
        let problem = args(&["--data", data]).server().unwrap_err();
        assert_eq!((problem.code(), problem.kind()), ("SERVER_UNREACHABLE", Kind::Unreachable));
        assert_eq!(problem.message(), format!("no server runs on {data}"));
        let absent = args(&["--data", data]).find().unwrap();
        assert!(absent.is_absent() && !absent.is_expected() && !absent.is_named());
        for problem in [absent.health().unwrap_err(), absent.admin().unwrap_err()] {
            assert_eq!(problem.message(), format!("no server runs on {data}"));
        }
        let url = "http://127.0.0.1:1";
        let named = args(&["--data", data, "--url", url]).server().unwrap();
        assert_eq!(named.client.url(), url);
        let file = format!(r#"{{"url":"{url}","pid":1}}"#);
        fs::write(folder.path().join("server.json"), file).unwrap();
        let running = args(&["--data", data]).server().unwrap();
        assert!(running.is_expected() && running.client.url() == url);
    }
}
