//! What a redaction leaves of rounds: each text that has the secret in it is a marker,
//! all else is as it was.

use serde_json::Value;
use shared_context_core::{
    digest::sha256,
    rounds::{Path, RoundHistory, Step},
};

use super::{ensure, value};

/// Returns the markers that stand for texts with `secret` in them, each as often as it
/// should.
///
/// # Errors
///
/// The invariant that is broken.
pub(super) fn check(
    before: &RoundHistory,
    after: &RoundHistory,
    secret: &str,
) -> Result<Vec<String>, String> {
    let mut markers = Vec::new();
    let redact = |text: String| {
        if !text.contains(secret) {
            return text;
        }
        let marker = format!("redacted:{}", &sha256(&text)["sha256:".len()..][..16]);
        markers.push(marker.clone());
        marker
    };
    let mut expected: Vec<String> = texts(before).into_iter().map(redact).collect();
    let mut texts = texts(after);
    expected.sort_unstable();
    texts.sort_unstable();
    ensure(texts == expected, || format!("of {secret:?} is left: {texts:?}"))?;
    ensure(rest(before) == rest(after), || format!("without {secret:?} more is another"))?;
    Ok(markers)
}

/// Returns all texts in which a secret may be.
pub(super) fn texts(history: &RoundHistory) -> Vec<String> {
    let mut all: Vec<String> = history.query.iter().cloned().collect();
    for it in &history.rounds {
        if let Some(state) = &it.state {
            // The members of a state keep their names.
            let document = value(state.text());
            document.as_object().into_iter().flatten().for_each(|(_, it)| words(it, &mut all));
        }
        for delta in &it.deltas {
            names(&delta.path, &mut all);
            all.push(delta.provenance.as_str().to_owned());
            delta.value.iter().for_each(|it| words(&value(it), &mut all));
        }
        let losses = it.fates.iter().flat_map(|it| &it.losses);
        losses.for_each(|it| names(&it.path, &mut all));
    }
    all
}

fn words(value: &Value, all: &mut Vec<String>) {
    match value {
        Value::String(text) => all.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|it| words(it, all)),
        Value::Object(members) => {
            for (name, it) in members {
                all.push(name.clone());
                words(it, all);
            }
        }
        // The scripts' numbers are shorter than any secret.
        _ => {}
    }
}

fn names(path: &Path, all: &mut Vec<String>) {
    all.extend(path.steps().iter().skip(1).filter_map(|it| match it {
        Step::Name(name) => Some(name.clone()),
        Step::Index(_) => None,
    }));
}

/// Returns what no redaction changes.
fn rest(history: &RoundHistory) -> impl PartialEq {
    let round = |it: &shared_context_core::rounds::KeptRound| {
        let mut round = it.round.clone();
        round.ended.iter_mut().for_each(|it| it.bytes = 0);
        let deltas = it.deltas.iter();
        let deltas = deltas.map(|it| (it.sequence, it.operation, it.path.steps().len()));
        let fates = it.fates.iter().map(|it| (it.sequence, it.status, it.losses.len()));
        (round, deltas.collect::<Vec<_>>(), fates.collect::<Vec<_>>())
    };
    history.rounds.iter().map(round).collect::<Vec<_>>()
}
