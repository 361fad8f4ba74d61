//! Directory listings: one path per line, after its size.

use std::collections::BTreeMap;

use super::{
    files::Entry,
    path::{Place, path_of},
};

/// Lists `directory` with its `entries`; for the root also their directories. The size of a
/// directory is the sum of its entries.
pub(super) fn listing(directory: &Place, entries: &[Entry]) -> String {
    // By path: a slash sorts before all characters of names, so a directory is followed by its
    // entries.
    let mut sizes = BTreeMap::from([(directory.to_string(), 0)]);
    for entry in entries {
        let mut add = |path: String| {
            let size: &mut usize = sizes.entry(path).or_default();
            *size = size.saturating_add(entry.value.len());
        };
        add(directory.to_string());
        if let (Place::Root, Some((prefix, _))) = (directory, entry.key.split_once(':')) {
            add(format!("{}/", path_of(prefix)));
        }
        add(path_of(&entry.key));
    }
    let lines: Vec<String> =
        sizes.iter().map(|(path, size)| format!("{}\t{path}", format_size(*size))).collect();
    format!(
        "Here're the files and directories up to 2 levels deep in {directory}, excluding hidden \
         items and node_modules:\n{}",
        lines.join("\n")
    )
}

/// Formats a size for people: `812B`, `1.5K`, `2.0M`.
fn format_size(bytes: usize) -> String {
    if bytes < 1_024 {
        return format!("{bytes}B");
    }
    let mut unit = 'K';
    let mut per_tenth = 1_024;
    if bytes >= 1_024 * 1_024 {
        unit = 'M';
        per_tenth = 1_024 * 1_024;
    }
    // Rounded to tenths.
    let tenths = bytes.saturating_mul(10).saturating_add(per_tenth / 2) / per_tenth;
    format!("{}.{}{unit}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use shared_context_core::Prefix;

    use super::*;

    #[track_caller]
    fn check(directory: &Place, entries: &[(&str, usize)], lines: &[&str]) {
        let entry = |(key, bytes): &(&str, usize)| {
            let entry = json!({"key": key, "value": "x".repeat(*bytes), "revision": 1});
            serde_json::from_value(entry).unwrap()
        };
        let entries: Vec<Entry> = entries.iter().map(entry).collect();
        let seen = listing(directory, &entries);
        let (header, listed) = seen.split_once('\n').unwrap();
        let expected = format!(
            "Here're the files and directories up to 2 levels deep in {directory}, excluding \
             hidden items and node_modules:"
        );
        assert_eq!(header, expected);
        assert_eq!(listed.split('\n').collect::<Vec<_>>(), lines);
    }

    #[test]
    fn entries_follow_their_directory() {
        check(&Place::Root, &[], &["0B\t/memories"]);
        check(
            &Place::Root,
            &[("b", 2), ("a", 1)],
            &["3B\t/memories", "1B\t/memories/a", "2B\t/memories/b"],
        );
        let nested =
            [("inv_x", 1), ("inv0", 2), ("inv:b", 1_000), ("inv:a", 24), ("inv", 4), ("a:inv", 0)];
        let lines = [
            "1.0K\t/memories",
            "0B\t/memories/a/",
            "0B\t/memories/a/inv",
            "4B\t/memories/inv",
            "1.0K\t/memories/inv/",
            "24B\t/memories/inv/a",
            "1000B\t/memories/inv/b",
            "2B\t/memories/inv0",
            "1B\t/memories/inv_x",
        ];
        check(&Place::Root, &nested, &lines);
        let directory = Place::Directory(Prefix::parse("inv").unwrap());
        let lines = ["1000B\t/memories/inv/", "1000B\t/memories/inv/b"];
        check(&directory, &[("inv:b", 1_000)], &lines);
    }

    #[test]
    fn sizes_are_human_readable() {
        for (bytes, expected) in [
            (0, "0B"),
            (1_023, "1023B"),
            (1_024, "1.0K"),
            (1_536, "1.5K"),
            (5_632, "5.5K"),
            (1_048_575, "1024.0K"),
            (1_048_576, "1.0M"),
            (1_258_291, "1.2M"),
        ] {
            assert_eq!(format_size(bytes), expected);
        }
    }
}
