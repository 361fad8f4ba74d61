//! The rows of handoffs: `y/<number>` is a handoff, `yd/<number>` its package and the omissions of
//! the package.

use serde::{Deserialize, Serialize};

use super::{
    handoff::{Handoff, HandoffId, Party},
    kinds::{HandoffKind, HandoffState, Trigger},
};
use crate::{
    Error,
    budget::{Omission, Reason},
    key::Line,
    row::{damaged, decode, encode, stored_line, stored_participant},
    scope::SessionId,
    time::Timestamp,
    tokens::Tokens,
};

/// The prefix of the rows of handoffs.
pub(crate) const HANDOFFS: &str = "y/";
/// The prefix of the rows of packages.
pub(crate) const PACKAGES: &str = "yd/";

/// Returns the name of the row of a handoff.
pub(crate) fn handoff_row(id: HandoffId) -> String {
    format!("{HANDOFFS}{:016x}", id.0)
}

/// Returns the name of the row of a package.
pub(crate) fn package_row(id: HandoffId) -> String {
    format!("{PACKAGES}{:016x}", id.0)
}

type PartyRecord = (String, Option<String>);

#[derive(Serialize, Deserialize)]
struct HandoffRecord {
    number: u64,
    kind: String,
    reason: String,
    state: String,
    from: PartyRecord,
    to: PartyRecord,
    is_takeover: bool,
    /// The times of the offer and of its expiry.
    times: [u64; 2],
    settled: Option<(u64, PartyRecord)>,
    note: Option<String>,
    sections: Vec<String>,
    /// The budget, and the tokens of the package.
    tokens: [u32; 2],
    digest: String,
    previous: Option<String>,
    memory: Option<u64>,
    named: Vec<u64>,
    redacted: Option<String>,
}

fn party_record(it: &Party) -> PartyRecord {
    let session = it.session.as_ref().map(|it| it.as_str().to_owned());
    (it.participant.as_str().to_owned(), session)
}

fn stored_party((participant, session): PartyRecord) -> Result<Party, Error> {
    let session = session.map(|it| {
        SessionId::new(&it).ok_or_else(|| damaged("the session of a handoff has no valid id"))
    });
    Ok(Party { participant: stored_participant(&participant)?, session: session.transpose()? })
}

/// Encodes a handoff.
pub(crate) fn encode_handoff(it: &Handoff) -> Result<Vec<u8>, Error> {
    let line = |it: &Option<Line>| it.as_ref().map(|it| it.as_str().to_owned());
    encode(&HandoffRecord {
        number: it.id.0,
        kind: it.kind.as_str().to_owned(),
        reason: it.reason.as_str().to_owned(),
        state: it.state.as_str().to_owned(),
        from: party_record(&it.from),
        to: party_record(&it.to),
        is_takeover: it.is_takeover,
        times: [it.offered_at.0, it.expires_at.0],
        settled: it.settled.as_ref().map(|(at, by)| (at.0, party_record(by))),
        note: line(&it.note),
        sections: it.sections.clone(),
        tokens: [it.budget.0, it.tokens.0],
        digest: it.digest.clone(),
        previous: it.previous.clone(),
        memory: it.memory,
        named: it.named.clone(),
        redacted: line(&it.redacted),
    })
}

/// Decodes a handoff.
pub(crate) fn decode_handoff(bytes: &[u8]) -> Result<Handoff, Error> {
    let it: HandoffRecord = decode(bytes)?;
    let line = |it: Option<String>| it.as_deref().map(stored_line).transpose();
    let settled = it.settled.map(|(at, by)| Ok::<_, Error>((Timestamp(at), stored_party(by)?)));
    let ([offered_at, expires_at], [budget, tokens]) = (it.times, it.tokens);
    Ok(Handoff {
        id: HandoffId(it.number),
        kind: HandoffKind::parse(&it.kind).map_err(damaged)?,
        reason: Trigger::parse(&it.reason).map_err(damaged)?,
        state: HandoffState::parse(&it.state).map_err(damaged)?,
        from: stored_party(it.from)?,
        to: stored_party(it.to)?,
        is_takeover: it.is_takeover,
        offered_at: Timestamp(offered_at),
        expires_at: Timestamp(expires_at),
        settled: settled.transpose()?,
        note: line(it.note)?,
        sections: it.sections,
        budget: Tokens(budget),
        tokens: Tokens(tokens),
        digest: it.digest,
        previous: it.previous,
        memory: it.memory,
        named: it.named,
        redacted: line(it.redacted)?,
    })
}

/// Encodes a package, and what it left out: the name of each, the tokens it needs and those left.
pub(crate) fn encode_package(text: &str, omitted: &[Omission]) -> Result<Vec<u8>, Error> {
    let number = |it: &Omission, nth: usize| it.numbers.get(nth).map_or(0, |it| it.1);
    let omitted: Vec<_> =
        omitted.iter().map(|it| (it.item.as_str(), number(it, 0), number(it, 1))).collect();
    encode(&(text, omitted))
}

/// Decodes a package.
pub(crate) fn decode_package(bytes: &[u8]) -> Result<(String, Vec<Omission>), Error> {
    let (text, omitted): (String, Vec<(String, u64, u64)>) = decode(bytes)?;
    let omission = |(item, needs, left)| Omission {
        numbers: vec![("tokens", needs), ("tokens_left", left)],
        ..Omission::new(String::clone(&item), Reason::OverBudget)
    };
    Ok((text, omitted.into_iter().map(omission).collect()))
}
