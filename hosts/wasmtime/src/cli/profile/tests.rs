//! Tests of the file with the profiles.

use std::{fs, path::Path};

use super::file::{Profile, ProfileFile};
use crate::cli::{client::Bearer, problem::Problem};

/// Returns the file `profiles` of a new folder, with this text.
fn with(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profiles");
    fs::write(&path, text).unwrap();
    protect(&path, 0o600);
    (folder, path)
}

#[cfg(unix)]
fn protect(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(not(unix))]
fn protect(_: &Path, _: u32) {}

fn prod() -> Profile {
    Profile {
        name: "prod".to_owned(),
        url: "https://memory.example.com".to_owned(),
        ca: Some("/etc/ca.pem".into()),
        session: Some("ticket-7".to_owned()),
        admin_key: Some(Bearer::admin_key("a=b=".to_owned(), "the profile prod".to_owned())),
        token: None,
    }
}

/// Checks that a file with `text` is rejected for `line`, with this remedy, and that
/// nothing of the line is repeated.
#[track_caller]
fn check_broken(text: &str, line: usize, next: &str) {
    let (_folder, path) = with(text);
    let problem: Problem = ProfileFile::read(&path).unwrap_err();
    let start = format!("line {line} of {} ", path.display());
    assert_eq!(problem.code(), "PROFILES_BROKEN");
    assert!(problem.message().starts_with(&start), "{}", problem.message());
    let told = format!("{} {}", problem.message(), problem.next_step().unwrap());
    assert!(told.contains(next), "{told}");
    assert!(!told.contains("hunter2"), "{told}");
}

/// A byte order mark once "stood before the first profile", and a folder was to be made private.
#[test]
fn a_mark_is_skipped_and_a_folder_is_no_file() {
    let (folder, path) = with("\u{feff}[prod]\nurl = http://x\n");
    assert_eq!(ProfileFile::read(&path).unwrap().get("prod").unwrap().url, "http://x");
    let problem = ProfileFile::read(folder.path()).err().unwrap();
    assert!(problem.message().contains("it is not a file"), "{}", problem.message());
}

#[test]
fn a_broken_line_is_named_with_what_to_write() {
    check_broken("[prod]\nurl = http://x\nurll = hunter2\n", 3, "url, ca, session");
    check_broken("# a\n\nhunter2\n", 3, "url = https://");
    check_broken("[prod]\nurl =\n", 2, "url = https://");
    check_broken("admin_key = hunter2\n[prod]\nurl = http://x\n", 1, "[prod]");
    check_broken("[prod\nurl = http://x\n", 1, "[prod]");
    check_broken("[hunter2 hunter2]\n", 1, "[prod]");
    check_broken("[a]\nurl = http://x\n[b]\ntoken = hunter2\n", 3, "url = https://");
    check_broken("[a]\nurl = http://x\nurl = http://y\n", 3, "remove one");
    check_broken("[a]\nurl = http://x\n[a]\nurl = http://y\n", 3, "another name");
}

#[test]
fn a_file_that_was_written_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/shared-context/profiles");
    let mut file = ProfileFile::read(&path).unwrap();
    assert!(file.profiles().is_empty() && file.chosen(None).unwrap().is_none());
    file.add(&prod()).unwrap();
    let file = ProfileFile::read(&path).unwrap();
    assert_eq!(file.get("prod").unwrap(), &prod());
    assert_eq!(file.get("other").unwrap_err().code(), "NO_PROFILE");
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing else is left");
}

#[test]
fn comments_and_other_profiles_stay_as_they_are() {
    let before = "# mine\nuse = a\n\n[a]\n# local\nurl = http://x\n\n[b]\nurl = http://y\n";
    let (_folder, path) = with(before);
    let changed = |change: &dyn Fn(&mut ProfileFile)| {
        change(&mut ProfileFile::read(&path).unwrap());
        fs::read_to_string(&path).unwrap()
    };
    assert_eq!(
        changed(&|it| it.choose(Some("b")).unwrap()),
        format!("use = b\n{}", { before.replace("use = a\n", "") })
    );
    let text = changed(&|it| it.add(&prod()).unwrap());
    assert!(text.contains("# local\nurl = http://x\n") && text.contains("\n\n[prod]\n"), "{text}");
    let text = changed(&|it| it.remove("b").unwrap());
    assert!(!text.contains("use =") && !text.contains("[b]") && text.contains("[a]"), "{text}");
    assert_eq!(ProfileFile::read(&path).unwrap().profiles().len(), 2);
}

#[test]
fn a_name_or_setting_that_breaks_the_file_is_not_written() {
    let (_folder, path) = with("");
    let mut file = ProfileFile::read(&path).unwrap();
    for name in ["", "-a", "a b", "a]", "ä", &"a".repeat(65)] {
        assert!(file.add(&Profile { name: name.to_owned(), ..prod() }).is_err(), "{name}");
    }
    let two_lines = Some(Bearer::credential("a\nurl = http://evil".to_owned()));
    assert!(file.add(&Profile { admin_key: two_lines, ..prod() }).is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "");
}

#[cfg(unix)]
#[test]
fn a_file_that_others_can_read_is_rejected() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_folder, path) = with("[a]\nurl = http://x\n");
    for mode in [0o644, 0o640, 0o604] {
        protect(&path, mode);
        let problem = ProfileFile::read(&path).unwrap_err();
        assert_eq!(problem.code(), "PROFILES_NOT_PRIVATE");
        assert!(problem.message().contains(path.to_str().unwrap()), "{}", problem.message());
        assert!(problem.next_step().unwrap().contains("chmod 600"));
    }
    protect(&path, 0o600);
    ProfileFile::read(&path).unwrap().add(&prod()).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}
