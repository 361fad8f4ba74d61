//! Effect of a redaction on rounds: every string that contains the secret becomes a marker, and
//! nothing else changes.

use shared_context_core::{
    RoundsReply,
    digest::sha256,
    rounds::{KeptRound, RoundHistory, RoundsRedacted},
};

use super::ensure;

/// Checks the rounds after the redaction of `secret`, and returns the expected reply.
///
/// # Errors
///
/// The broken invariant.
pub(super) fn check(
    before: &RoundHistory,
    after: &RoundHistory,
    secret: &str,
) -> Result<RoundsReply, String> {
    let (mut must, mut texts) = (texts(before), texts(after));
    let mut markers = Vec::new();
    for text in must.iter_mut().filter(|it| it.contains(secret)) {
        *text = format!("redacted:{}", &sha256(&text)["sha256:".len()..][..16]);
        markers.push(text.clone());
    }
    must.sort_unstable();
    texts.sort_unstable();
    ensure(texts == must, || format!("of {secret:?} is left: {texts:?}"))?;
    ensure(rest(before) == rest(after), || format!("more is gone than {secret:?}"))?;
    let places = markers.len() as u32;
    markers.sort();
    markers.dedup();
    Ok(RoundsReply::Redacted(RoundsRedacted { places, markers }))
}

/// Returns all strings that may contain a secret. Strings in scripts have no quotation marks.
pub(super) fn texts(history: &RoundHistory) -> Vec<String> {
    let mut all: Vec<String> = history.query.iter().cloned().collect();
    let mut quoted = |text: &str, mark: char| {
        all.extend(text.split(mark).skip(1).step_by(2).map(str::to_owned));
    };
    for it in &history.rounds {
        it.state.iter().for_each(|it| quoted(it.text().as_str(), '"'));
        for delta in &it.deltas {
            quoted(&format!("{:?}", delta.provenance.as_str()), '"');
            quoted(&delta.path.to_string(), '\'');
            delta.value.iter().for_each(|it| quoted(it.as_str(), '"'));
        }
        let losses = it.outcomes.iter().flat_map(|it| &it.losses);
        losses.for_each(|it| quoted(&it.path.to_string(), '\''));
    }
    all
}

/// Returns the parts that a redaction must not change.
fn rest(history: &RoundHistory) -> impl PartialEq {
    let round = |it: &KeptRound| {
        let mut round = it.round.clone();
        round.ended.iter_mut().for_each(|it| it.bytes = 0);
        let deltas = it.deltas.iter().map(|it| (it.sequence, it.operation)).collect::<Vec<_>>();
        let outcomes =
            it.outcomes.iter().map(|it| (it.status, it.losses.len())).collect::<Vec<_>>();
        (round, deltas, outcomes)
    };
    history.rounds.iter().map(round).collect::<Vec<_>>()
}
