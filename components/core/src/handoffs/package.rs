//! The package of a handoff, as canonical JSON (spec 21.2).
//!
//! # Invariant
//!
//! A package is never over its tokens, nor over [`PACKAGE_BYTES_MAX`].

use serde_json::{Map, Value};

use super::{
    commands::OfferHandoff,
    fit,
    handoff::{Handoff, Party},
    material::{self, GivenPacket, Material, Piece, Share, canonical_text, object, text},
    talk,
};
use crate::{
    Error,
    budget::{Budget, Meter, Omission},
    digest::sha256,
    item::{Authority, Body, Item},
    memories::{self, Content, MemorySource, NewMemory, TITLE_CHARS_MAX},
    scope::{ProjectId, SessionId},
    text::lower,
    tokens::{Tokens, approximate},
};

/// The format of a package.
pub const PACKAGE_FORMAT: &str = "shared-context/handoff/1";
/// The largest package, in bytes.
pub const PACKAGE_BYTES_MAX: u64 = 256 * 1024;
/// The importance of the memory of a handoff.
const MEMORY_IMPORTANCE: u8 = 7;
/// The most texts of a list in the memory of a handoff, and the most characters of each.
const REMEMBERED_MAX: usize = 10;
const REMEMBERED_CHARS: usize = 200;
/// The most pieces that are named among those left out.
pub(crate) const OMITTED_MAX: usize = 1_000;

/// The objects of a package, each with its lists.
const OBJECTS: [(&str, &[&str]); 4] = [
    (
        "agent_specific_notes",
        &["from_agent_observations", "known_pitfalls", "suggested_approach", "useful_resources"],
    ),
    (
        "context_summary",
        &[
            "blocking_dependencies",
            "critical_decisions",
            "current_task_state",
            "open_issues",
            "packet",
        ],
    ),
    ("next_actions", &["immediate", "short_term", "success_criteria"]),
    ("work_products", &["completed", "in_progress", "not_started"]),
];

/// A package that was written.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) text: String,
    pub(crate) tokens: Tokens,
    pub(crate) digest: String,
    pub(crate) omitted: Vec<Omission>,
    /// The numbers of the memories in it.
    pub(crate) named: Vec<u64>,
}

/// Writes the package of `handoff`, whose tokens and digest are not known yet. `sections` are its
/// sections, which are kept whole where they fit.
///
/// # Errors
///
/// [`Error::BudgetTooSmall`] if what every package has does not fit.
pub(crate) fn write(
    project: &ProjectId,
    handoff: &Handoff,
    offer: &OfferHandoff,
    packet: Option<&GivenPacket>,
    gathered: &Material,
    sections: &[Item],
) -> Result<Package, Error> {
    let mut document = skeleton(project, handoff, offer, packet, gathered);
    let budget = Budget { bytes: Some(PACKAGE_BYTES_MAX), ..Budget::of(offer.budget) };
    let mut meter = Meter::new(budget);
    let needed = fit::size(&canonical_text(&Value::Object(document.clone())));
    meter.take(needed).map_err(|it| Error::BudgetTooSmall {
        limit: it.limit.as_str(),
        needed: it.needs,
        over: it.needs.saturating_sub(it.left),
    })?;

    let mut pieces = Vec::new();
    material::texts(&mut pieces, &offer.texts);
    if let Some(it) = packet {
        it.pieces(&mut pieces);
    }
    material::memories(&mut pieces, gathered);
    let whole = u64::from(offer.budget.0);
    let caps = Share::ALL.map(|it| {
        Tokens(u32::try_from(whole.saturating_mul(it.percent()) / 100).unwrap_or(u32::MAX))
    });
    // The conversation is what an agent works with: it has the share of work products.
    let reserved = if sections.is_empty() && offer.items.is_empty() {
        Tokens(0)
    } else {
        talk_share(&pieces, caps)
    };
    let sizes = sizes(&pieces);
    let mut chosen = fit::choose_within(&sizes, &caps, &mut meter, reserved);
    let mut omitted = Vec::new();
    let talk = talk(offer, sections, &mut meter, &mut omitted)?;
    // What the conversation did not need is for the pieces that had too little.
    fit::fill(&sizes, &mut chosen, &mut meter);
    let mut named = Vec::new();
    let mut left_out = Vec::new();
    for (piece, outcome) in pieces.into_iter().zip(chosen) {
        if let Some(overrun) = outcome {
            left_out.push(Omission::over_budget(piece.id, &overrun));
            continue;
        }
        if let Some(memory) = piece.memory
            && !named.contains(&memory)
        {
            named.push(memory);
        }
        let (of, list) = piece.place;
        if let Some(Value::Array(all)) = document.get_mut(of).and_then(|it| it.get_mut(list)) {
            all.push(piece.value);
        }
    }
    left_out.append(&mut omitted);
    let count = u64::try_from(left_out.len()).unwrap_or(u64::MAX);
    left_out.truncate(OMITTED_MAX);
    let tokens = approximate(&canonical_text(&talk));
    document.insert("compacted_context".to_owned(), talk);
    document.insert("omitted_count".to_owned(), Value::from(count));
    if let Some(Value::Object(it)) = document.get_mut("handoff_metadata") {
        it.insert("context_token_count".to_owned(), Value::from(tokens.0));
    }
    document.remove("digest");
    let digest = sha256(canonical_text(&Value::Object(document.clone())));
    document.insert("digest".to_owned(), text(&digest));
    let text = canonical_text(&Value::Object(document));
    Ok(Package { tokens: approximate(&text), text, digest, omitted: left_out, named })
}

fn sizes(pieces: &[Piece]) -> Vec<(usize, crate::budget::Size)> {
    let size = |it: &Piece| {
        let share = Share::ALL.iter().position(|one| *one == it.share).unwrap_or_default();
        (share, fit::size(&canonical_text(&it.value)))
    };
    pieces.iter().map(size).collect()
}

/// Returns the tokens that are kept free for the conversation: what work products leave of their share.
fn talk_share(pieces: &[Piece], caps: [Tokens; 5]) -> Tokens {
    let [_, _, cap, _, _] = caps;
    let own = pieces.iter().filter(|it| it.share == Share::Work);
    let used = own.map(|it| fit::size(&canonical_text(&it.value)).tokens);
    cap.minus(used.fold(Tokens(0), Tokens::plus))
}

/// Returns the members that every package has, with the largest numbers that they can have.
fn skeleton(
    project: &ProjectId,
    it: &Handoff,
    offer: &OfferHandoff,
    packet: Option<&GivenPacket>,
    gathered: &Material,
) -> Map<String, Value> {
    let mut document = Map::new();
    for (name, lists) in OBJECTS {
        let lists = lists.iter().map(|list| (*list, Value::Array(Vec::new()))).collect();
        document.insert(name.to_owned(), object(lists));
    }
    if let (Some(Value::Object(summary)), Some((project, by))) =
        (document.get_mut("context_summary"), &gathered.project)
    {
        let members = vec![("by", text(by)), ("text", text(project))];
        summary.insert("executive_summary".to_owned(), object(members));
    }
    let mut metadata = vec![
        ("context_token_count", Value::from(u32::MAX)),
        ("expires_at", text(&it.expires_at.to_string())),
        ("from_agent_id", text(it.from.participant.as_str())),
        ("handoff_id", text(&it.id.to_string())),
        ("handoff_type", text(it.kind.as_str())),
        ("max_tokens", Value::from(it.budget.0)),
        ("project_id", text(project.as_str())),
        ("reason", text(it.reason.as_str())),
        ("summary", text(&offer.summary)),
        ("timestamp", text(&it.offered_at.to_string())),
        ("to_agent_id", text(it.to.participant.as_str())),
    ];
    for (name, party) in [("from_session_id", &it.from), ("to_session_id", &it.to)] {
        metadata.extend(party.session.as_ref().map(|it| (name, text(SessionId::as_str(it)))));
    }
    metadata.extend(offer.task.as_deref().map(|it| ("task", text(it))));
    let transfers = it.sections.iter().map(|marker| transfer(it, marker)).collect();
    for (name, value) in [
        ("agent_expertise_match", expertise(offer)),
        ("compacted_context", Value::Array(Vec::new())),
        ("digest", text(&sha256(""))),
        ("format", text(PACKAGE_FORMAT)),
        ("handoff_metadata", object(metadata)),
        ("omitted_count", Value::from(u32::MAX)),
        ("ownership_transfers", Value::Array(transfers)),
    ] {
        document.insert(name.to_owned(), value);
    }
    let others = [
        ("packet", packet.map(|it| it.reference.clone())),
        ("previous", it.previous.as_deref().map(text)),
    ];
    for (name, value) in others {
        document.extend(value.map(|it| (name.to_owned(), it)));
    }
    document
}

/// Returns the transfer of a section.
fn transfer(it: &Handoff, marker: &str) -> Value {
    let party = |it: &Party| text(it.participant.as_str());
    object(vec![
        ("lock_reason", text(&format!("Handoff {} from {}", it.id, it.from.participant))),
        ("owner_agent_id", party(&it.to)),
        ("ownership_type", text("exclusive")),
        ("previous_owner", party(&it.from)),
        ("section_id", text(marker)),
    ])
}

/// Returns how far the skills of the receiver are those that the work needs.
fn expertise(offer: &OfferHandoff) -> Value {
    let name = |it: &String| lower(it.trim());
    let has: Vec<String> = offer.capabilities.iter().map(name).collect();
    let missing: Vec<&String> =
        offer.required_skills.iter().filter(|it| !has.contains(&name(it))).collect();
    let (all, lacking) = (offer.required_skills.len(), missing.len());
    // Ten thousandths; without a skill that is needed every receiver fits.
    let score = all.saturating_sub(lacking).saturating_mul(10_000).checked_div(all);
    let score = score.unwrap_or(10_000);
    let digits = format!("{}.{:04}", score / 10_000, score % 10_000);
    let texts = |all: &[String]| all.iter().map(|it| text(it)).collect::<Value>();
    object(vec![
        ("missing_skills", missing.into_iter().map(|it| text(it)).collect()),
        ("required_skills", texts(&offer.required_skills)),
        ("skill_match_score", serde_json::from_str(&digits).unwrap_or_default()),
        ("to_agent_capabilities", texts(&offer.capabilities)),
    ])
}

/// Returns the sections and the conversation, as much of them as fits.
fn talk(
    offer: &OfferHandoff,
    sections: &[Item],
    meter: &mut Meter,
    omitted: &mut Vec<Omission>,
) -> Result<Value, Error> {
    let mut kept: Vec<Option<Value>> = Vec::new();
    let mut keep = |item: &Item, meter: &mut Meter| {
        let value = item_value(item);
        let outcome = meter.take(fit::size(&canonical_text(&value)));
        let overrun = outcome.map_err(|it| Omission::over_budget(item.id.as_str(), &it));
        overrun.map_or_else(
            |omission| {
                omitted.push(omission);
                None
            },
            |()| Some(value),
        )
    };
    for item in sections {
        kept.push(keep(item, meter));
    }
    if !offer.items.is_empty() {
        let task = offer.task.as_deref().unwrap_or(&offer.summary);
        let items = talk::compacted(&offer.items, task, offer.kind, meter.tokens_left())?;
        let start = kept.len();
        kept.resize(start.saturating_add(items.len()), None);
        for place in talk::order(&items) {
            let Some(item) = items.get(place) else { continue };
            let value = keep(item, meter);
            if let Some(it) = kept.get_mut(start.saturating_add(place)) {
                *it = value;
            }
        }
    }
    Ok(kept.into_iter().flatten().collect())
}

fn item_value(it: &Item) -> Value {
    let mut members = vec![
        ("authority", text(it.source.authority.as_str())),
        ("id", text(&it.id)),
        ("kind", text(it.kind.as_str())),
    ];
    match &it.body {
        Body::Text(said) => members.push(("text", text(said))),
        Body::Reference { digest } => members.push(("digest", text(digest))),
    }
    members.extend(it.at.map(|at| ("at", text(&at.to_string()))));
    object(members)
}

/// Returns true if `text` is a package that can be that of a handoff: canonical, within its bounds, and
/// with its digest.
pub(crate) fn is_package_of(it: &Handoff, text: &str) -> bool {
    let is_short = u64::try_from(text.len()).is_ok_and(|it| it <= PACKAGE_BYTES_MAX);
    if !is_short || approximate(text) != it.tokens {
        return false;
    }
    let whole: Value = serde_json::from_str(text).unwrap_or_default();
    if canonical_text(&whole) != text {
        return false;
    }
    let Value::Object(mut document) = whole else { return false };
    let digest = document.remove("digest");
    let rest = canonical_text(&Value::Object(document.clone()));
    let has = |of: &str, name: &str, value: Option<&str>| {
        let of = if of.is_empty() {
            Some(&document)
        } else {
            document.get(of).and_then(Value::as_object)
        };
        of.and_then(|it| it.get(name)).and_then(Value::as_str) == value
    };
    let metadata = |name: &str, value: &str| has("handoff_metadata", name, Some(value));
    digest.as_ref().and_then(Value::as_str) == Some(it.digest.as_str())
        && sha256(rest) == it.digest
        && has("", "format", Some(PACKAGE_FORMAT))
        && has("", "previous", it.previous.as_deref())
        && metadata("handoff_id", &it.id.to_string())
        && metadata("handoff_type", it.kind.as_str())
        && metadata("reason", it.reason.as_str())
        && metadata("from_agent_id", it.from.participant.as_str())
        && metadata("to_agent_id", it.to.participant.as_str())
        && metadata("timestamp", &it.offered_at.to_string())
        && metadata("expires_at", &it.expires_at.to_string())
}

/// Returns the memory of a handoff: what was handed over, in short.
///
/// # Errors
///
/// [`Error::Malformed`], which a package that this module wrote does not cause.
pub(crate) fn memory(handoff: &Handoff, package: Option<&str>) -> Result<NewMemory, Error> {
    let document: Value = package.and_then(|it| serde_json::from_str(it).ok()).unwrap_or_default();
    let said = document.pointer("/handoff_metadata/summary").and_then(Value::as_str);
    let summary = said.unwrap_or("The package was redacted.");
    let texts = |pointers: &[&str]| -> Vec<String> {
        let lists = pointers.iter().filter_map(|it| document.pointer(it)?.as_array());
        let texts = lists.flatten().filter_map(Value::as_str);
        texts.take(REMEMBERED_MAX).map(|it| clip(it, REMEMBERED_CHARS)).collect()
    };
    let (from, to) = (handoff.from.participant.as_str(), handoff.to.participant.as_str());
    let title = clip(&format!("{}: {from} to {to}", handoff.id), TITLE_CHARS_MAX);
    // What is in the package need not be in the memory, if it is too large.
    for (with_lists, chars) in [(true, usize::MAX), (false, REMEMBERED_CHARS)] {
        let mut members = vec![
            ("summary", memories::Value::Text(clip(summary, chars))),
            ("from_agent", memories::Value::Text(from.to_owned())),
            ("to_agent", memories::Value::Text(to.to_owned())),
        ];
        if with_lists {
            let work = texts(&["/work_products/completed", "/work_products/in_progress"]);
            let next = texts(&["/next_actions/immediate"]);
            for (name, texts) in [("work_products", work), ("next_actions", next)] {
                members
                    .extend((!texts.is_empty()).then_some((name, memories::Value::Texts(texts))));
            }
        }
        let members = members.into_iter().map(|(name, value)| (name.to_owned(), value));
        let new = NewMemory {
            title: title.clone(),
            content: Content::new(memories::Kind::Handoff, members.collect())?,
            tags: Vec::new(),
            importance: MEMORY_IMPORTANCE,
            status: None,
            authority: Authority::Model,
            at: None,
            expires_at: None,
            parent: None,
            supersedes: Vec::new(),
            source: MemorySource::new(&handoff.id.to_string(), Some(handoff.digest.clone())).ok(),
        };
        if let Ok(new) = new.checked() {
            return Ok(new);
        }
    }
    Err(Error::malformed("the handoff cannot be remembered; shorten its summary"))
}

/// Returns the first characters of a text.
fn clip(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}
