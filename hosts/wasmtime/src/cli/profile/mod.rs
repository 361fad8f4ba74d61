//! `profile`: servers by name, each with its address, credentials and default session.
//!
//! # Invariant
//!
//! No command prints a key of a profile, and none takes one as an argument.

mod file;
#[cfg(test)]
mod tests;

use std::{
    io::{self, IsTerminal},
    path::{Path, PathBuf},
};

use clap::Subcommand;
use serde_json::json;

pub(crate) use self::file::{Profile, ProfileFile};
use super::{
    client::{Bearer, Client},
    file as input,
    output::{BOLD, GREEN, Output, plain, table},
    problem::Problem,
};

/// The file with the profiles.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ProfileFileArgs {
    /// The file with the profiles [default: `profiles` in the user's folder for
    /// settings, such as ~/.config/shared-context]
    #[arg(
        long,
        env = "SHARED_CONTEXT_PROFILE_FILE",
        value_name = "FILE",
        global = true,
        help_heading = "Which server"
    )]
    profile_file: Option<PathBuf>,
}

/// Keep servers by name: address, key, authority and default session
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  shared-context profile add prod --url https://memory.example.com \\
    --session ticket-7 --admin-key-file key.txt
  shared-context profile use prod
  shared-context inspect          ticket-7 at https://memory.example.com
  shared-context ls other --profile staging

--profile or SHARED_CONTEXT_PROFILE chooses one for a command, `profile use` for
all. For every setting an option comes first, then its variable, then the
profile, then the default. The keys of a profile are sent only to its url.

Profiles are sections of a text file that only its owner may read:
  [prod]
  url = https://memory.example.com
  ca = /etc/ssl/company.pem
  session = ticket-7
  admin_key = ...                   or: token = ..."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    file: ProfileFileArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Add a profile
    #[command(after_help = "\
Examples:
  shared-context profile add prod --url https://memory.example.com \\
    --admin-key-file key.txt
  echo \"$KEY\" | shared-context profile add prod --admin-key-file - \\
    --url https://memory.example.com
  shared-context profile add review --url http://127.0.0.1:8787 \\
    --session ticket-7 --token-file token.txt")]
    Add {
        /// 1 to 64 of A-Z a-z 0-9 . _ - starting with a letter or digit
        name: String,
        /// The server's address
        #[arg(long, env = "SHARED_CONTEXT_URL", value_name = "URL")]
        url: String,
        /// A PEM file with the authority that signed an https server's certificate
        #[arg(long, env = "SHARED_CONTEXT_CA", value_name = "FILE")]
        ca: Option<PathBuf>,
        /// The session that a dot stands for in commands
        #[arg(long, env = "SHARED_CONTEXT_SESSION", value_name = "ID")]
        session: Option<String>,
        /// A file with the operator's key, or - for standard input
        #[arg(long, value_name = "FILE")]
        admin_key_file: Option<PathBuf>,
        /// A file with a participant's credential, or - for standard input
        #[arg(long, value_name = "FILE")]
        token_file: Option<PathBuf>,
    },
    /// Make a profile the one that is used by default
    #[command(after_help = "\
Examples:
  shared-context profile use prod
  shared-context profile use --none")]
    Use {
        /// The profile
        #[arg(required_unless_present = "none")]
        name: Option<String>,
        /// Use no profile by default
        #[arg(long, conflicts_with = "name")]
        none: bool,
    },
    /// List the profiles; * marks the one that is used by default
    #[command(name = "ls", alias = "list", after_help = "Example:\n  shared-context profile ls")]
    List,
    /// Remove a profile
    #[command(
        name = "rm",
        alias = "delete",
        after_help = "Example:\n  shared-context profile rm staging"
    )]
    Remove {
        /// The profile
        name: String,
    },
}

impl ProfileFileArgs {
    /// Reads the file. The user's own file may be missing.
    ///
    /// # Errors
    ///
    /// The file is named and does not exist, and the errors of [`ProfileFile::read`].
    pub(crate) fn read(&self) -> Result<ProfileFile, Problem> {
        match &self.profile_file {
            Some(path) if !path.exists() => {
                let message = format!("there is no file of profiles {}", path.display());
                Err(Problem::usage(message).next(
                    "check --profile-file and SHARED_CONTEXT_PROFILE_FILE, or create it with \
                     `shared-context profile add`",
                ))
            }
            _ => self.read_or_create(),
        }
    }

    /// Reads the file. A missing file has no profiles, and is created when one is added.
    ///
    /// # Errors
    ///
    /// The errors of [`ProfileFile::read`].
    fn read_or_create(&self) -> Result<ProfileFile, Problem> {
        match self.path() {
            Some(path) => ProfileFile::read(&path),
            None => Err(Problem::usage("there is no home folder with a file of profiles")
                .next("name a file with --profile-file")),
        }
    }

    /// Returns true if the file is named or exists.
    pub(crate) fn is_there(&self) -> bool {
        self.profile_file.is_some() || self.path().is_some_and(|it| it.exists())
    }

    fn path(&self) -> Option<PathBuf> {
        let user = || {
            let folders = directories::ProjectDirs::from("", "", "shared-context")?;
            Some(folders.config_dir().join("profiles"))
        };
        self.profile_file.clone().or_else(user)
    }
}

/// Runs `profile`.
pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<(), Problem> {
    let mut file = match &arguments.command {
        Command::Add { .. } => arguments.file.read_or_create()?,
        _ => arguments.file.read()?,
    };
    match &arguments.command {
        Command::Add { name, url, ca, session, admin_key_file, token_file } => {
            let profile = Profile {
                name: name.clone(),
                url: url.clone(),
                ca: ca.as_deref().map(absolute).transpose()?,
                session: session.clone(),
                admin_key: admin_key_file
                    .as_deref()
                    .map(|it| secret(it, "the key"))
                    .transpose()?
                    .map(|it| Bearer::admin_key(it, format!("the profile {name}"))),
                token: token_file
                    .as_deref()
                    .map(|it| secret(it, "the credential"))
                    .transpose()?
                    .map(Bearer::credential),
            };
            // The address and the authority are checked before they are kept.
            Client::new(&profile.url, profile.ca.as_deref())?;
            file.add(&profile)?;
            done(output, &json!({"added": name}), name, "added; `profile use` makes it the default")
        }
        Command::Use { name, .. } => {
            file.choose(name.as_deref())?;
            let document = json!({"used": name});
            match name {
                Some(name) => done(output, &document, name, "is used by default"),
                None => done(output, &document, "no profile", "is used by default"),
            }
        }
        Command::List => list(&file, output),
        Command::Remove { name } => {
            file.remove(name)?;
            done(output, &json!({"removed": name}), name, "removed")
        }
    }
}

fn list(file: &ProfileFile, output: Output) -> Result<(), Problem> {
    let is_used = |it: &Profile| file.used() == Some(&it.name);
    let profiles: Vec<_> = file
        .profiles()
        .iter()
        .map(|it| {
            let Profile { name, url, ca, session, admin_key, token } = it;
            json!({
                "name": name, "is_used": is_used(it), "url": url, "ca": ca, "session": session,
                "has_admin_key": admin_key.is_some(), "has_token": token.is_some(),
            })
        })
        .collect();
    let document = json!({ "profiles": profiles }).to_string();
    output.answer(document.as_bytes(), || {
        if file.profiles().is_empty() {
            let how = "`shared-context profile add NAME --url URL` makes one";
            return Ok(format!("no profiles yet; {how}\n"));
        }
        let row = |it: &Profile| {
            let secrets = [(&it.admin_key, "admin key"), (&it.token, "credential")];
            let secrets = secrets.iter().filter(|(secret, _)| secret.is_some());
            let ca = it.ca.as_ref().map(|it| it.display().to_string());
            vec![
                format!("{} {}", if is_used(it) { "*" } else { " " }, it.name),
                it.url.clone(),
                it.session.clone().unwrap_or_default(),
                secrets.map(|(_, name)| *name).collect::<Vec<_>>().join(", "),
                ca.unwrap_or_default(),
            ]
        };
        let header = ["  PROFILE", "~URL", "SESSION", "HAS", "~CA"];
        Ok(table(output, &header, &file.profiles().iter().map(row).collect::<Vec<_>>()))
    })
}

fn done(
    output: Output,
    document: &serde_json::Value,
    name: &str,
    what: &str,
) -> Result<(), Problem> {
    let name = plain(name);
    output.answer(document.to_string().as_bytes(), || {
        Ok(format!("{GREEN}✓{GREEN:#} {BOLD}{name}{BOLD:#} {what}\n"))
    })
}

/// Reads a secret from the file at `path`.
fn secret(path: &Path, what: &str) -> Result<String, Problem> {
    if path == Path::new("-") && io::stdin().is_terminal() {
        return Err(Problem::usage(format!("{what} would be shown on this terminal"))
            .next("name a file with it, or send it through a pipe"));
    }
    let text = input::read(path, what)?.trim().to_owned();
    if text.is_empty() {
        let message = format!("{} is empty; {what} is expected there", input::name(path));
        return Err(Problem::usage(message).next("write it there, or leave the option out"));
    }
    Ok(text)
}

fn absolute(path: &Path) -> Result<PathBuf, Problem> {
    std::path::absolute(path).map_err(|error| {
        Problem::usage(format!("cannot find {}: {error}", path.display())).next("name another file")
    })
}
