//! `cargo xtask serve-worker`: the Worker on this machine, to try it.
//!
//! It runs under workerd with `hosts/cloudflare/workerd.capnp`, as it would on a
//! machine of one's own. Secrets are made once and kept in the data folder, in the
//! form that `shared-context` keeps and finds them.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    net::SocketAddr,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::{
    process,
    serving::{self, AdminKey, Greeting},
    worker, workerd,
    workspace::Workspace,
};

/// Finds the admin key in the file of secrets.
const SED: &str = r#"s/.*"admin_key": *"\([^"]*\)".*/\1/p"#;

/// How the Worker is served.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Where to listen; a port alone is one of this machine's own address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8787", value_parser = serving::address)]
    listen: SocketAddr,
    /// Where everything is kept [default: .shared-context/worker in this repository]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// How many requests a second each participant may make; off for any number
    #[arg(long, value_name = "N|off")]
    rate: Option<String>,
    /// The address of a proxy in front, as its clients write it
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
}

/// Builds the Worker and becomes workerd that serves it. Returns only when that
/// failed.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    worker::build(workspace)?;
    let workerd = workerd::program(workspace)?;
    let data = options.data.clone();
    let data = data.unwrap_or_else(|| workspace.root.join(".shared-context/worker"));
    let objects = data.join("objects");
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&objects)
        .with_context(|| format!("cannot make the data folder {}", data.display()))?;
    let (data, objects) = (data.canonicalize()?, objects.canonicalize()?);
    let lock = lock(&data)?;
    let keys = data.join("keys.json");
    let secrets = Secrets::read_or_make(&keys)?;
    let address = serving::free(options.listen)?;
    let url = format!("http://{address}");
    // workerd will be this process.
    let server = json!({"url": url, "pid": std::process::id()});
    fs::write(data.join("server.json"), server.to_string())?;

    let mut command = Command::new(workerd);
    command.arg("serve").arg(workspace.root.join(worker::NPM.folder).join("workerd.capnp"));
    command.arg(format!("--socket-addr=http={address}"));
    let mut folder = std::ffi::OsString::from("--directory-path=data=");
    folder.push(&objects);
    command.arg(folder);
    command.env("SHARED_CONTEXT_SECRET", &secrets.secret);
    command.env("SHARED_CONTEXT_ADMIN_KEY", &secrets.admin_key);
    let settings = [
        ("SHARED_CONTEXT_RATE", &options.rate),
        ("SHARED_CONTEXT_PUBLIC_URL", &options.public_url),
    ];
    for (name, value) in settings {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    let greeting = Greeting {
        title: "The Worker of shared-context, under workerd",
        url: &url,
        data: &data,
        admin_key: AdminKey::Kept { key: &secrets.admin_key, file: &keys, sed: SED },
        stopping: "Ctrl-C stops it; nothing acknowledged is lost.",
    };
    greeting.say();
    // Locked for as long as workerd has it open.
    Err(process::replace(command.stdin(lock)))
}

/// The right to use the folder `data`, until the file is closed.
fn lock(data: &Path) -> Result<File> {
    let path = data.join("lock");
    let file =
        OpenOptions::new().create(true).truncate(false).write(true).read(true).open(&path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => bail!(
            "another server uses the data folder {}: stop that one, or choose another folder \
             with --data",
            data.display()
        ),
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("cannot lock {}", path.display()))
        }
    }
}

/// What the Worker is given to keep to itself.
struct Secrets {
    secret: String,
    admin_key: String,
}

impl Secrets {
    /// Reads the secrets in the file `path`; makes them when it is not there.
    fn read_or_make(path: &Path) -> Result<Self> {
        let secrets = json!({"secret": serving::random()?, "admin_key": serving::random()?});
        serving::write_once(path, &serde_json::to_vec_pretty(&secrets)?)?;
        let secrets: Value = serde_json::from_slice(&fs::read(path)?)
            .with_context(|| format!("{} is damaged", path.display()))?;
        let member = |name: &str| {
            let value = secrets.get(name).and_then(Value::as_str).map(str::to_owned);
            value.with_context(|| format!("{} has no {name}", path.display()))
        };
        Ok(Self { secret: member("secret")?, admin_key: member("admin_key")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_made_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.json");
        let first = Secrets::read_or_make(&path).unwrap();
        let second = Secrets::read_or_make(&path).unwrap();
        assert_eq!((&first.secret, &first.admin_key), (&second.secret, &second.admin_key));
        assert_ne!(first.secret, first.admin_key);
    }

    #[test]
    fn a_data_folder_has_one_server() {
        let folder = tempfile::tempdir().unwrap();
        let held = lock(folder.path()).unwrap();
        assert!(lock(folder.path()).is_err());
        drop(held);
        assert!(lock(folder.path()).is_ok());
    }
}
