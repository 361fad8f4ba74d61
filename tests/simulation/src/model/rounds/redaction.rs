//! Effect of a redaction on rounds: every string that contains the secret becomes a marker, and
//! nothing else changes.

use shared_context_core::{
    Command, Reply, RoundsReply,
    digest::sha256,
    rounds::{KeptRound, Path, RoundHistory, RoundsRedacted, Step},
};

use super::{super::state::Answer, ensure};

/// Checks the rounds after the redaction of `secret`, and returns the expected reply.
///
/// # Errors
///
/// The broken invariant.
pub(super) fn check(
    before: &RoundHistory,
    after: &RoundHistory,
    secret: &str,
    replies: &[String],
) -> Result<RoundsRedacted, String> {
    let (mut must, mut texts) = (texts(before), texts(after));
    let mut markers: Vec<String> =
        replies.iter().filter(|it| it.contains(secret)).map(|it| marker(it)).collect();
    for text in must.iter_mut().filter(|it| it.contains(secret)) {
        *text = marker(text);
        markers.push(text.clone());
    }
    must.sort_unstable();
    texts.sort_unstable();
    ensure(texts == must, || format!("of {secret:?} is left: {texts:?}"))?;
    ensure(rest(before) == rest(after), || format!("more is gone than {secret:?}"))?;
    let places = markers.len() as u32;
    markers.sort();
    markers.dedup();
    Ok(RoundsRedacted { places, markers })
}

fn marker(text: &str) -> String {
    format!("redacted:{}", &sha256(text)["sha256:".len()..][..16])
}

/// Returns the names in the paths of remembered replies to proposals.
pub(super) fn texts_of_replies<'a>(
    answers: impl Iterator<Item = &'a (Command, Answer)>,
) -> Vec<String> {
    let mut all = Vec::new();
    for (_, answer) in answers {
        if let Ok((_, Reply::Rounds(RoundsReply::Proposed(it)))) = answer {
            for it in &it.deltas {
                let losses = it.losses.iter().map(|it| &it.path);
                let paths = losses.chain([&it.path]).map(ToString::to_string);
                paths.for_each(|it| {
                    all.extend(it.split('\'').skip(1).step_by(2).map(str::to_owned));
                });
            }
        }
    }
    all
}

/// Redacts the paths of remembered replies.
pub(super) fn redact_replies<'a>(
    answers: impl Iterator<Item = &'a mut (Command, Answer)>,
    secret: &str,
) {
    let redact = |path: &mut Path| {
        let mut steps = path.steps().to_vec();
        for step in &mut steps {
            if let Step::Name(name) = step
                && name.contains(secret)
            {
                *name = marker(name);
            }
        }
        *path = Path::new(steps).unwrap();
    };
    for (_, answer) in answers {
        match answer {
            Ok((_, Reply::Rounds(RoundsReply::Proposed(it)))) => {
                for it in &mut it.deltas {
                    redact(&mut it.path);
                    it.losses.iter_mut().for_each(|it| redact(&mut it.path));
                    it.losses.sort_by(|a, b| a.path.cmp(&b.path));
                }
            }
            Ok((_, Reply::Rounds(RoundsReply::Closed(it)))) => {
                it.losses.iter_mut().for_each(|it| redact(&mut it.loss.path));
                it.losses
                    .sort_by(|a, b| (a.sequence, &a.loss.path).cmp(&(b.sequence, &b.loss.path)));
            }
            _ => {}
        }
    }
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
        let reasons = it.outcomes.iter().filter_map(|it| it.reason.as_ref());
        reasons.for_each(|it| quoted(&format!("{:?}", it.as_str()), '"'));
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
