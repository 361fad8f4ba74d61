//! `cargo xtask serve-worker`: the Worker on this machine, to try it.
//!
//! It runs under workerd with `hosts/cloudflare/workerd.capnp`, as it would on a
//! machine of one's own. Secrets are made once and kept in the data folder, in the
//! form that `shared-context` keeps and finds them.

use std::{
    fmt::Write as _,
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, IsTerminal, Read, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpListener},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::{process, worker, workerd, workspace::Workspace};

/// How the Worker is served.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Where to listen; a port alone is one of this machine's own address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8787", value_parser = address)]
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
    let secrets = Secrets::read_or_make(&data.join("keys.json"))?;
    let address = free(options.listen)?;
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
    greet(&url, &data, &secrets.admin_key);
    // Locked for as long as workerd has it open.
    Err(process::replace(command.stdin(lock)))
}

/// Says where the Worker will answer, and what to do first.
fn greet(url: &str, data: &Path, admin_key: &str) {
    let keys = data.join("keys.json");
    let (keys, data) = (keys.display(), data.display());
    let (shown, key) = if io::stdout().is_terminal() {
        (format!("{admin_key}\n             kept in {keys}"), admin_key.to_owned())
    } else {
        let read = r#"s/.*"admin_key": *"\([^"]*\)".*/\1/p"#;
        (format!("in {keys}"), format!("$(sed -n '{read}' '{keys}')"))
    };
    anstream::println!(
        r#"
The Worker of shared-context, under workerd

  url        {url}
  data       {data}
  admin key  {shown}

A first call, to paste into another terminal: create a session, write with the
credential that comes back.

  URL={url} S=first-$(date +%s)
  JSON='Content-Type: application/json'
  KEY={key}
  TOKEN=$(curl -sS $URL/v1/sessions -H "Authorization: Bearer $KEY" \
    -H "$JSON" -d '{{"session_id":"'$S'"}}' |
    sed 's/.*"credential":"\([^"]*\).*/\1/')
  curl -sS $URL/v1/sessions/$S/shared_context -H "$JSON" \
    -H "Authorization: Bearer $TOKEN" \
    -d '{{"action":"write","key":"scope","value":"Find the parameter."}}'

Ctrl-C stops it; nothing acknowledged is lost.
"#
    );
}

/// An address such as `127.0.0.1:8787`, or a port alone.
fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    text.parse().map_err(|_| "not an address such as 127.0.0.1:8787, and no port".to_owned())
}

/// `address`, if nobody listens there; with port 0, one where nobody does.
fn free(address: SocketAddr) -> Result<SocketAddr> {
    let listener = TcpListener::bind(address)
        .with_context(|| format!("cannot listen on {address}; --listen names another address"))?;
    Ok(listener.local_addr()?)
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
        if !path.exists() {
            let secrets = json!({"secret": random()?, "admin_key": random()?});
            let unfinished = path.with_extension("new");
            // Left by one that was interrupted.
            let _ = fs::remove_file(&unfinished);
            let mut file =
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
            file.write_all(&serde_json::to_vec_pretty(&secrets)?)?;
            file.sync_all()?;
            fs::rename(unfinished, path)?;
        }
        let secrets: Value = serde_json::from_slice(&fs::read(path)?)
            .with_context(|| format!("{} is damaged", path.display()))?;
        let member = |name: &str| {
            let value = secrets.get(name).and_then(Value::as_str).map(str::to_owned);
            value.with_context(|| format!("{} has no {name}", path.display()))
        };
        Ok(Self { secret: member("secret")?, admin_key: member("admin_key")? })
    }
}

/// 32 bytes nobody can guess, in hexadecimal digits.
fn random() -> Result<String> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    }))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_port_alone_is_one_of_this_machine() {
        assert_eq!(address("9000").unwrap().to_string(), "127.0.0.1:9000");
        assert_eq!(address("[::1]:9000").unwrap().to_string(), "[::1]:9000");
        assert!(address("everywhere").is_err());
    }

    #[test]
    fn an_address_in_use_is_refused() {
        let used = free(address("0").unwrap()).unwrap();
        let _listener = TcpListener::bind(used).unwrap();
        assert!(free(used).is_err());
    }

    #[test]
    fn secrets_are_made_once_for_their_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.json");
        let first = Secrets::read_or_make(&path).unwrap();
        let second = Secrets::read_or_make(&path).unwrap();
        assert_eq!((&first.secret, &first.admin_key), (&second.secret, &second.admin_key));
        assert_ne!(first.secret, first.admin_key);
        assert_eq!(first.secret.len(), 64);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
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
