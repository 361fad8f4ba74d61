//! The common parts of the commands that serve an application of ours on this machine: an address,
//! secrets, and the first message.

use std::{
    fmt::Write as _,
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, IsTerminal, Read, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpListener},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use anyhow::{Context, Result};

/// The message about a server that will answer.
#[derive(Debug)]
pub(crate) struct Greeting<'a> {
    /// A title.
    pub(crate) title: &'a str,
    /// Its URL.
    pub(crate) url: &'a str,
    /// The folder of its data.
    pub(crate) data: &'a Path,
    pub(crate) admin_key: AdminKey<'a>,
    /// The data that may be lost when it stops.
    pub(crate) stopping: &'a str,
}

/// The admin key of a server, and how a shell finds it.
#[derive(Debug)]
pub(crate) enum AdminKey<'a> {
    /// It is kept in a file, where the expression for `sed` finds it.
    Kept { key: &'a str, file: &'a Path, sed: &'a str },
    /// This variable of the environment holds it.
    Given { variable: &'a str },
}

impl AdminKey<'_> {
    /// Returns what is shown, and what is pasted: the key itself on a terminal only.
    fn shown(&self, is_terminal: bool) -> (String, String) {
        match self {
            Self::Kept { key, file, .. } if is_terminal => {
                (format!("{key}\n             kept in {}", file.display()), (*key).to_owned())
            }
            Self::Kept { file, sed, .. } => {
                let file = file.display();
                (format!("in {file}"), format!("$(sed -n '{sed}' '{file}')"))
            }
            Self::Given { variable } => (format!("in {variable}"), format!("${variable}")),
        }
    }
}

impl Greeting<'_> {
    /// Says it.
    pub(crate) fn say(&self) {
        let Self { title, url, data, stopping, .. } = self;
        let data = data.display();
        let (shown, key) = self.admin_key.shown(io::stdout().is_terminal());
        anstream::println!(
            r#"
{title}

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

{stopping}
"#
        );
    }
}

/// Returns an address such as `127.0.0.1:8787`, or a port alone.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    text.parse().map_err(|_| "not an address such as 127.0.0.1:8787, and no port".to_owned())
}

/// Returns `address` if it is free; with port 0, a free one.
pub(crate) fn free(address: SocketAddr) -> Result<SocketAddr> {
    let listener = TcpListener::bind(address)
        .with_context(|| format!("cannot listen on {address}; --listen names another address"))?;
    Ok(listener.local_addr()?)
}

/// Returns 32 random bytes that cannot be guessed, in hexadecimal digits.
pub(crate) fn random() -> Result<String> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    }))
}

/// Writes `bytes` to the file `path`, which only its owner may read, unless it exists; returns
/// whether it wrote.
pub(crate) fn write_once(path: &Path, bytes: &[u8]) -> Result<bool> {
    if path.exists() {
        return Ok(false);
    }
    let unfinished = path.with_file_name(format!(".new-{}", std::process::id()));
    let write = || {
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        // Not renamed: that would replace what another wrote meanwhile.
        fs::hard_link(&unfinished, path)
    };
    let written = write();
    let _ = fs::remove_file(&unfinished);
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.exists() => Ok(false),
        Err(error) => Err(error).with_context(|| format!("cannot write {}", path.display())),
    }
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
    fn a_secret_is_another_each_time() {
        let (one, other) = (random().unwrap(), random().unwrap());
        assert_ne!(one, other);
        assert_eq!(one.len(), 64);
    }

    #[test]
    fn what_is_written_once_is_its_owners_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        assert!(write_once(&path, b"first").unwrap());
        assert!(!write_once(&path, b"second").unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(write_once(&folder.path().join("missing/keys"), b"").is_err());
    }

    #[test]
    fn a_key_stands_on_the_terminal_only() {
        let file = Path::new("/data/keys");
        let kept = AdminKey::Kept { key: "0f", file, sed: "s/a//p" };
        let (shown, pasted) = kept.shown(true);
        assert!(shown.starts_with("0f\n") && shown.ends_with("kept in /data/keys"), "{shown}");
        assert_eq!(pasted, "0f");
        let (shown, pasted) = kept.shown(false);
        assert_eq!(
            (shown.as_str(), pasted.as_str()),
            ("in /data/keys", "$(sed -n 's/a//p' '/data/keys')")
        );
        let given = AdminKey::Given { variable: "KEY_OF_MINE" };
        assert_eq!(given.shown(true), ("in KEY_OF_MINE".to_owned(), "$KEY_OF_MINE".to_owned()));
    }
}
