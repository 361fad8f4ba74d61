//! The file with the profiles: a section of `name = value` lines for each.
//!
//! # Invariants
//!
//! - The file is written whole or not at all, and only its owner may read it.
//! - A file that others can read, or with a line that is not understood, is rejected. An
//!   error names the file and the line, and never repeats what stands there: it may be a
//!   key.
//! - Comments and other profiles stay as they are when one is added or removed.

use std::{
    fmt,
    fs::{self, DirBuilder, File},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use crate::cli::{
    client::Bearer,
    problem::{Kind, Problem},
};

/// The longest name of a profile.
const NAME_BYTES_MAX: usize = 64;
/// The line before the first section, which names the profile that is used by default.
const USE: &str = "use";
/// The settings of a profile, as errors list them.
const SETTINGS: &str = "url, ca, session, admin_key or token";

/// A server by name: its address, credentials and default session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Profile {
    pub(crate) name: String,
    pub(crate) url: String,
    pub(crate) ca: Option<PathBuf>,
    pub(crate) session: Option<String>,
    pub(crate) admin_key: Option<Bearer>,
    pub(crate) token: Option<Bearer>,
}

/// The file with the profiles.
pub(crate) struct ProfileFile {
    path: PathBuf,
    lines: Vec<String>,
    profiles: Vec<Profile>,
    used: Option<String>,
}

/// A profile while its lines are read.
struct Section {
    name: String,
    line: usize,
    settings: Vec<(&'static str, String)>,
}

impl ProfileFile {
    /// Reads the file at `path`. A missing file has no profiles.
    ///
    /// # Errors
    ///
    /// The file cannot be read, can be read by other users, or has an invalid line.
    pub(crate) fn read(path: &Path) -> Result<Self, Problem> {
        let text = match read_private(path) {
            Ok(text) => text,
            Err(Unreadable::Missing) => String::new(),
            Err(Unreadable::Shared) => {
                let shown = path.display();
                return Err(Problem::new(
                    Kind::Usage,
                    "PROFILES_NOT_PRIVATE",
                    format!("{shown} may hold keys and can be read by other users"),
                )
                .next(format!(
                    "run `chmod 600 {shown}`, and replace its keys if others may have seen them"
                )));
            }
            Err(Unreadable::Other(error)) => {
                return Err(Problem::usage(format!("cannot read {}: {error}", path.display()))
                    .next("name another file with --profile-file"));
            }
        };
        Self::parse(path, &text)
    }

    fn parse(path: &Path, text: &str) -> Result<Self, Problem> {
        let mut sections: Vec<Section> = Vec::new();
        let mut used = None;
        for (index, line) in text.lines().enumerate() {
            let number = index.saturating_add(1);
            let wrong = |why: &str, next: &str| broken(path, number, why, next);
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(rest) = line.strip_prefix('[') {
                let name = rest.strip_suffix(']').map(str::trim).filter(|it| is_name(it));
                let Some(name) = name else {
                    return Err(wrong("is not the name of a profile", "write it like [prod]"));
                };
                if sections.iter().any(|it| it.name == name) {
                    let why = "begins a profile that is already above";
                    return Err(wrong(why, "give one of the two another name, or remove it"));
                }
                sections.push(Section {
                    name: name.to_owned(),
                    line: number,
                    settings: Vec::new(),
                });
                continue;
            }
            let pair = line.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
            let Some((name, value)) = pair.filter(|(_, value)| !value.is_empty()) else {
                return Err(wrong(
                    "is not a setting with a value",
                    "write it like `url = https://memory.example.com`, or remove the line",
                ));
            };
            match sections.last_mut() {
                None if name == USE && is_name(value) => used = Some(value.to_owned()),
                None => {
                    return Err(wrong(
                        "stands before the first profile",
                        "begin a profile above it, like [prod]; only `use = prod` stands before",
                    ));
                }
                Some(section) => match setting(name) {
                    Some(name) if section.settings.iter().any(|(it, _)| *it == name) => {
                        let why = format!("sets {name} a second time");
                        return Err(wrong(&why, "remove one of the two lines"));
                    }
                    Some(name) => section.settings.push((name, value.to_owned())),
                    None => {
                        let next = format!("write {SETTINGS} before the equals sign");
                        return Err(wrong("is not a setting of a profile", &next));
                    }
                },
            }
        }
        let profiles = sections.into_iter().map(|it| it.profile(path)).collect::<Result<_, _>>()?;
        let lines = text.lines().map(str::to_owned).collect();
        Ok(Self { path: path.to_owned(), lines, profiles, used })
    }

    /// Returns the profiles, in the order of the file.
    pub(crate) fn profiles(&self) -> &[Profile] {
        &self.profiles
    }

    /// Returns the name of the profile that is used by default.
    pub(crate) fn used(&self) -> Option<&str> {
        self.used.as_deref()
    }

    /// Returns the profile `name`, or without a name the one that is used by default.
    ///
    /// # Errors
    ///
    /// There is no such profile.
    pub(crate) fn chosen(&self, name: Option<&str>) -> Result<Option<&Profile>, Problem> {
        name.or(self.used()).map(|name| self.get(name)).transpose()
    }

    /// Returns the profile `name`.
    ///
    /// # Errors
    ///
    /// There is no such profile.
    pub(crate) fn get(&self, name: &str) -> Result<&Profile, Problem> {
        self.profiles.iter().find(|it| it.name == name).ok_or_else(|| {
            let message = format!("there is no profile {name} in {}", self.path.display());
            Problem::new(Kind::Usage, "NO_PROFILE", message).next(
                "`shared-context profile ls` lists the profiles, `shared-context profile add \
                 NAME --url URL` makes one",
            )
        })
    }

    /// Adds `profile` and writes the file.
    ///
    /// # Errors
    ///
    /// Its name is invalid or taken, a setting is more than a line, or the file cannot be
    /// written.
    pub(crate) fn add(&mut self, profile: &Profile) -> Result<(), Problem> {
        if !is_name(&profile.name) {
            return Err(Problem::usage("this is not a name for a profile")
                .next("write 1 to 64 of A-Z a-z 0-9 . _ - starting with a letter or digit"));
        }
        if self.get(&profile.name).is_ok() {
            let name = &profile.name;
            return Err(Problem::usage(format!("there is a profile {name} already"))
                .next(format!("`shared-context profile rm {name}` removes it")));
        }
        let settings = profile.settings();
        if settings.iter().any(|(_, value)| value.contains(char::is_control)) {
            return Err(Problem::usage("a setting of a profile is one line of text")
                .next("check that the file with the key holds the key and nothing else"));
        }
        if self.lines.last().is_some_and(|it| !it.is_empty()) {
            self.lines.push(String::new());
        }
        self.lines.push(format!("[{}]", profile.name));
        self.lines.extend(settings.iter().map(|(name, value)| format!("{name} = {value}")));
        self.write()
    }

    /// Removes the profile `name` and writes the file.
    ///
    /// # Errors
    ///
    /// There is no such profile, or the file cannot be written.
    pub(crate) fn remove(&mut self, name: &str) -> Result<(), Problem> {
        self.get(name)?;
        let mut is_inside = false;
        self.lines.retain(|line| {
            if let Some(rest) = line.trim().strip_prefix('[') {
                is_inside = rest.trim_end_matches(']').trim() == name;
            }
            !is_inside
        });
        if self.used() == Some(name) {
            self.remove_use();
        }
        self.write()
    }

    /// Makes `name` the profile that is used by default, or none, and writes the file.
    ///
    /// # Errors
    ///
    /// There is no such profile, or the file cannot be written.
    pub(crate) fn choose(&mut self, name: Option<&str>) -> Result<(), Problem> {
        name.map(|name| self.get(name)).transpose()?;
        self.remove_use();
        if let Some(name) = name {
            self.lines.insert(0, format!("{USE} = {name}"));
        }
        self.write()
    }

    /// Removes the lines that name the profile that is used by default.
    fn remove_use(&mut self) {
        let mut is_before = true;
        self.lines.retain(|line| {
            is_before &= !line.trim().starts_with('[');
            let name = line.split_once('=').map_or("", |(name, _)| name.trim());
            !(is_before && name == USE)
        });
    }

    fn write(&self) -> Result<(), Problem> {
        let mut text = self.lines.join("\n");
        text.push('\n');
        write_private(&self.path, &text).map_err(|error| {
            let message = format!("cannot write {}: {error}", self.path.display());
            Problem::new(Kind::Usage, "FILE_NOT_WRITTEN", message)
                .next("name a file in a folder that can be written to with --profile-file")
        })
    }
}

impl fmt::Debug for ProfileFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The lines may hold keys.
        f.debug_struct("ProfileFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Section {
    fn profile(self, path: &Path) -> Result<Profile, Problem> {
        let Self { name, line, mut settings } = self;
        let mut take = |name: &str| {
            let at = settings.iter().position(|(it, _)| *it == name)?;
            Some(settings.swap_remove(at).1)
        };
        let Some(url) = take("url") else {
            let next = "add the server's address below it, like `url = https://memory.example.com`";
            return Err(broken(path, line, "begins a profile without a url", next));
        };
        let (ca, session) = (take("ca").map(PathBuf::from), take("session"));
        let admin_key =
            take("admin_key").map(|it| Bearer::admin_key(it, format!("the profile {name}")));
        let token = take("token").map(Bearer::credential);
        Ok(Profile { name, url, ca, session, admin_key, token })
    }
}

impl Profile {
    /// Returns the settings as they are written to the file.
    fn settings(&self) -> Vec<(&'static str, String)> {
        let ca = self.ca.as_ref().map(|it| it.display().to_string());
        let secret = |it: &Option<Bearer>| it.as_ref().map(|it| it.secret.clone());
        [
            ("url", Some(self.url.clone())),
            ("ca", ca),
            ("session", self.session.clone()),
            ("admin_key", secret(&self.admin_key)),
            ("token", secret(&self.token)),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
    }
}

/// Returns the setting `name` of a profile, if there is one.
fn setting(name: &str) -> Option<&'static str> {
    ["url", "ca", "session", "admin_key", "token"].into_iter().find(|it| *it == name)
}

fn is_name(text: &str) -> bool {
    let is_first_good = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    is_first_good && text.len() <= NAME_BYTES_MAX && text.chars().all(is_good)
}

fn broken(path: &Path, line: usize, why: &str, next: &str) -> Problem {
    let message = format!("line {line} of {} {why}", path.display());
    Problem::new(Kind::Usage, "PROFILES_BROKEN", message).next(next)
}

/// The reason why a file is not read.
enum Unreadable {
    Missing,
    Shared,
    Other(io::Error),
}

/// Reads the file at `path`, if only its owner may read it.
fn read_private(path: &Path) -> Result<String, Unreadable> {
    // A folder cannot be read, and opening a pipe waits for a writer.
    if fs::metadata(path).is_ok_and(|it| !it.is_file()) {
        return Err(Unreadable::Other(io::Error::other("it is not a file")));
    }
    let mut file = File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Unreadable::Missing,
        _ => Unreadable::Other(error),
    })?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        if file.metadata().map_err(Unreadable::Other)?.mode() & 0o077 != 0 {
            return Err(Unreadable::Shared);
        }
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(Unreadable::Other)?;
    // Some editors begin a file with a byte order mark.
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Writes `text` to a temporary file that only its owner may read, then renames it to
/// `path`.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    // A link stays one: the file that it names is replaced.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    let mut unfinished = NamedTempFile::new_in(folder)?;
    unfinished.write_all(text.as_bytes())?;
    unfinished.as_file().sync_all()?;
    unfinished.persist(&path)?;
    Ok(())
}
