//! What lies in the bucket: exactly the rows that what the session shows needs,
//! none missing and none left over.

use std::collections::{BTreeMap, BTreeSet};

use shared_context_core::store::history::{HistoryUse, VERSION_BYTES};

use crate::{state::Model, support::TestHost};

/// Checks the names of all rows, and what is in those of values.
pub(crate) fn check(host: &TestHost, model: &Model) {
    let named = |prefix: &str| -> BTreeSet<String> {
        host.rows(prefix).into_iter().map(|(row, _)| row).collect()
    };
    let of = |kind: &str, names: Vec<String>| -> BTreeSet<String> {
        names.into_iter().map(|it| format!("{kind}/{it}")).collect()
    };
    let values: BTreeMap<String, Vec<u8>> = model
        .kept()
        .into_iter()
        .map(|it| {
            let row = format!("v/{}/{:016x}", it.entry.key, it.entry.revision.0);
            (row, it.value.into_bytes())
        })
        .collect();
    let stored: BTreeMap<String, Vec<u8>> = host.rows("v/").into_iter().collect();
    assert_eq!(stored, values, "a value is orphaned, missing or another");
    let entries = model.entries.keys().map(ToString::to_string).collect();
    assert_eq!(named("k/"), of("k", entries));
    let past = model.history.iter().filter(|(_, it)| !it.is_empty());
    assert_eq!(named("h/"), of("h", past.map(|(key, _)| key.to_string()).collect()));
    let taken = || model.snapshots.iter().map(|it| format!("{:016x}", it.info.revision.0));
    assert_eq!(named("s/"), of("s", taken().collect()));
    assert_eq!(named("e/"), of("e", taken().collect()));
    let changes = (model.first().0..=model.revision).map(|it| format!("{it:016x}"));
    assert_eq!(named("c/"), of("c", changes.collect()));
    let requests = model.answers.keys().map(|(who, id)| format!("{who}/{id}"));
    assert_eq!(named("q/"), of("q", requests.collect()));
    let has_rules = !model.config().access.is_empty();
    let others = ["access", "meta"].into_iter().skip(usize::from(!has_rules));
    // What is left of earlier lives: how far their revisions were ahead.
    let known = ["c/", "e/", "h/", "k/", "q/", "s/", "v/", "offset"];
    let rest = named("").into_iter().filter(|row| !known.iter().any(|it| row.starts_with(it)));
    assert!(rest.eq(others), "a row of no kind");
}

/// How much history there is, counted anew.
pub(crate) fn history(model: &Model) -> HistoryUse {
    let all = || model.history.values().flatten();
    HistoryUse {
        versions: all().count() as u64,
        bytes: all().map(|it| VERSION_BYTES + it.held.value.len() as u64).sum(),
        bytes_max: model.config().retention.history_bytes_max.into(),
    }
}
