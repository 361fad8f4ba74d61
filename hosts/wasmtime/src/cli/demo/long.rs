//! The long story: four participants distil documents into a store that is too
//! small for all of it, and meet everything an agent meets on the way.
//!
//! Not here: the limits (`plan`). Invariant: an agent does only what the answers
//! it got allow it to know.

use serde_json::Value;
use shared_context_codec::Failure;

use super::{
    material::{Document, packed, shortened, tokens},
    plan::{Plan, notes_key},
    transcript::{Participant, Request, Transcript},
};
use crate::cli::{
    output::{Output, counted, grouped},
    problem::Problem,
    reply::{Listing, Read, Written},
};

/// The fewest calls that make a long story.
const CALLS_MIN: u64 = 40;

/// The participants of the story.
struct Cast {
    orchestrator: Participant,
    readers: [Participant; 2],
}

/// Plays it.
pub(super) fn play(documents: Vec<Document>, output: Output) -> Result<(), Problem> {
    let plan = Plan::new(documents)?;
    let names = ["orchestrator", "subagent:reader:1", "subagent:reader:2", "subagent:editor"];
    let (mut t, orchestrator) =
        Transcript::begin(output, "library-review", &plan.config(), &names)?;
    t.note(&format!(
        "an entry holds up to {} tokens, the store {}: less than the notes are going to need",
        group(plan.value_tokens_max),
        group(plan.store_tokens_max),
    ))?;
    set_task(&mut t, &orchestrator, &plan)?;
    let readers = [
        t.launch(&orchestrator, "subagent:reader:1")?,
        t.launch(&orchestrator, "subagent:reader:2")?,
    ];
    let cast = Cast { orchestrator, readers };
    read_documents(&mut t, &cast, &plan)?;
    disagree(&mut t, &cast)?;
    t.scene("Overnight")?;
    t.restart()?;
    let used = edit(&mut t, &cast, &plan)?;
    finish(t, &cast.orchestrator, &plan, used)
}

fn group(number: usize) -> String {
    grouped(u64::try_from(number).unwrap_or(u64::MAX))
}

fn set_task(t: &mut Transcript, orchestrator: &Participant, plan: &Plan) -> Result<(), Problem> {
    t.scene("The orchestrator sets the task")?;
    let empty = t.list(orchestrator)?;
    t.claim("a new session is empty", empty.keys.is_empty() && empty.total_tokens == 0)?;
    t.write(orchestrator, "problem_summary", "One page on what these documents say.")?;
    let list = plan.documents.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ");
    t.write(orchestrator, "scope", &shortened(&list, plan.value_tokens_max / 4))?;
    t.write(orchestrator, "constraints", "Headings and first sentences. No full texts.")?;

    t.note("the answer to the next write gets lost on the network, so it is sent again")?;
    let id = Some("set-phase-1");
    let write = Request { id, ..Request::write("current_phase", "reading") };
    let first: Written = t.done(orchestrator, write)?;
    let again: Written = t.done(orchestrator, write)?;
    let is_once = again == first && again.entry.version == 1;
    t.claim("sent twice under one request_id, written once", is_once)?;

    let forged =
        Request { written_by: Some("subagent:editor"), ..Request::write("current_phase", "done") };
    t.note("a request that names another writer is not even looked at")?;
    t.refused(orchestrator, forged, "MALFORMED_REQUEST").map(drop)
}

/// Both readers, turn by turn.
fn read_documents(t: &mut Transcript, cast: &Cast, plan: &Plan) -> Result<(), Problem> {
    t.scene("Two readers distil the documents")?;
    for (nth, reader) in cast.readers.iter().enumerate() {
        t.list(reader)?;
        t.read(reader, "scope")?;
        t.read(reader, "constraints")?;
        t.write(reader, &progress_key(nth), "begun")?;
    }
    let size = |nth: &usize| plan.documents.get(*nth).map_or(0, |it| tokens(&it.text));
    let longest = (0..plan.documents.len()).max_by_key(size);
    let fullest =
        (0..plan.parts.len()).find(|nth| plan.parts.get(*nth).is_some_and(|it| it.len() > 1));
    for (nth, (document, parts)) in plan.documents.iter().zip(&plan.parts).enumerate() {
        let turn = nth % cast.readers.len();
        let Some(reader) = cast.readers.get(turn) else { continue };
        t.note(&format!(
            "{} reads {}: {}",
            reader.name,
            document.name,
            counted(u64::try_from(size(&nth)).unwrap_or(0), "token"),
        ))?;
        if longest == Some(nth) {
            store_raw(t, reader, document)?;
        }
        for (part, text) in parts.iter().enumerate() {
            let key = notes_key(nth, part);
            store(t, reader, Request::write(&key, text), Some(&progress_key(turn)))?;
            if fullest == Some(nth) && part == 0 {
                heed_advice(t, reader, &key, text, plan.value_tokens_max)?;
            }
        }
    }
    for (nth, reader) in cast.readers.iter().enumerate() {
        let progress = progress_key(nth);
        if t.ledger.entries.contains_key(&progress) {
            t.delete(reader, &progress)?;
        }
    }
    let met = |code: &str| t.ledger.refused.contains_key(code);
    let met = met("VALUE_TOO_LARGE") && met("STORE_FULL");
    t.claim("both limits were met, and told what to do", met)
}

fn progress_key(reader: usize) -> String {
    format!("progress_{}", reader + 1)
}

/// An agent that has understood nothing yet: it stores the whole document.
fn store_raw(t: &mut Transcript, reader: &Participant, document: &Document) -> Result<(), Problem> {
    t.note("it tries to keep the document as it is")?;
    let raw = Request::write("notes_raw", &document.text);
    t.refused(reader, raw, "VALUE_TOO_LARGE").map(drop)
}

/// Makes a write; when the store is full, makes room as the answer says and
/// tries again. `settled` is a key that may go.
fn store(
    t: &mut Transcript,
    who: &Participant,
    write: Request<'_>,
    settled: Option<&str>,
) -> Result<Written, Problem> {
    let mut settled = settled;
    loop {
        let refusal = match t.call(who, write)? {
            Ok(written) => return Ok(written),
            Err(failure) => failure,
        };
        if refusal.code != "STORE_FULL" {
            return Err(Problem::check(format!("a write was refused as {}", refusal.code)));
        }
        if let Some(key) = settled.take().filter(|it| t.ledger.entries.contains_key(*it)) {
            t.note("it deletes what is settled")?;
            t.delete(who, key)?;
        }
        make_room(t, who, &refusal)?;
    }
}

/// Distils the largest notes that the refusal names, unless somebody else
/// changes them meanwhile.
fn make_room(t: &mut Transcript, reader: &Participant, refusal: &Failure) -> Result<(), Problem> {
    let details = refusal.details_map();
    let largest = details.get("largest").and_then(Value::as_array).into_iter().flatten();
    let mut named = largest.filter_map(|it| it.get("key").and_then(Value::as_str));
    let Some(key) = named.find(|it| it.starts_with("notes_")) else {
        return Err(Problem::check("STORE_FULL names no notes among the largest entries"));
    };
    t.note(&format!("it distils {key}, the largest"))?;
    let Read { entry, value } = t.read(reader, key)?;
    let shorter = shortened(&value, tokens(&value) / 2);
    if shorter.is_empty() {
        return Err(Problem::check(format!("{key} cannot be made shorter")));
    }
    let write = Request { if_version: Some(entry.version), ..Request::write(key, &shorter) };
    t.done::<Written>(reader, write).map(drop)
}

/// Distils what was advised against, until nobody advises any more.
fn heed_advice(
    t: &mut Transcript,
    reader: &Participant,
    key: &str,
    text: &str,
    value_tokens_max: usize,
) -> Result<(), Problem> {
    t.note("it does what it was advised to")?;
    for percent in [75, 40] {
        t.write(reader, key, &shortened(text, value_tokens_max * percent / 100))?;
    }
    let given = |code: &str| t.ledger.advices.contains_key(code);
    let given = given("NEAR_LIMIT") && given("DISTILL");
    t.claim("advice came before the limit: NEAR_LIMIT from 80 %, DISTILL from 50 %", given)
}

/// Two participants change one key at the same time, and neither loses a word.
fn disagree(t: &mut Transcript, cast: &Cast) -> Result<(), Problem> {
    t.scene("Two readers, one key")?;
    let [one, two] = &cast.readers;
    let (first, second) = ("1: Which document is the newest?", "2: Who approves the page?");
    let question = Request::write("open_questions", "0: Who reads the page?");
    store(t, &cast.orchestrator, question, None)?;
    let seen_by_one = t.read(one, "open_questions")?;
    let seen_by_two = t.read(two, "open_questions")?;
    let with = |seen: &Read, line: &str| format!("{}\n{line}", seen.value);
    let (key, value) = ("open_questions", with(&seen_by_one, first));
    let if_version = Some(seen_by_one.entry.version);
    store(t, one, Request { if_version, ..Request::write(key, &value) }, None)?;
    let value = with(&seen_by_two, second);
    let if_version = Some(seen_by_two.entry.version);
    let write = Request { if_version, ..Request::write(key, &value) };
    t.refused(two, write, "VERSION_CONFLICT")?;
    t.note("it reads what is there now, adds its line to that, and tries again")?;
    let seen_by_two = t.read(two, key)?;
    let value = with(&seen_by_two, second);
    let if_version = Some(seen_by_two.entry.version);
    store(t, two, Request { if_version, ..Request::write(key, &value) }, None)?;
    let merged = t.read(&cast.orchestrator, key)?.value;
    let is_whole = merged.contains(first) && merged.contains(second);
    t.claim("nothing of either was lost", is_whole)
}

/// The editor makes one entry of all notes. Returns how many tokens it read.
fn edit(t: &mut Transcript, cast: &Cast, plan: &Plan) -> Result<u64, Problem> {
    t.scene("An editor, who has seen none of the documents")?;
    let editor = t.launch(&cast.orchestrator, "subagent:editor")?;
    let listing = t.list(&editor)?;
    let mut used = 0_u64;
    let mut lines = Vec::new();
    let mut settled = Vec::new();
    for entry in listing.keys.iter().filter(|it| it.key.starts_with("notes_")) {
        let read = t.read(&editor, &entry.key)?;
        used = used.saturating_add(entry.value_size_tokens);
        lines.extend(read.value.lines().find(|it| it.contains(": ")).map(str::to_owned));
        settled.push(entry.key.clone());
    }
    let digest = packed(&lines, plan.value_tokens_max * 3 / 4).swap_remove(0);
    settled.sort_by_key(|key| {
        let size = |it: &&crate::cli::reply::Entry| it.key == *key;
        std::cmp::Reverse(listing.keys.iter().find(size).map_or(0, |it| it.value_size_tokens))
    });
    t.note(
        "it deletes the two largest notes, whose gist goes into the digest, to make room for it",
    )?;
    for key in settled.iter().take(2) {
        t.delete(&editor, key)?;
    }
    store(t, &editor, Request::write("digest", &digest), None)?;
    Ok(used)
}

fn finish(
    mut t: Transcript,
    orchestrator: &Participant,
    plan: &Plan,
    used: u64,
) -> Result<(), Problem> {
    t.scene("The orchestrator has its page")?;
    let digest = t.read(orchestrator, "digest")?;
    t.write(orchestrator, "current_phase", "done")?;
    t.delete(orchestrator, "open_questions")?;
    let missing = Request { action: "read", key: Some("open_questions"), ..Request::default() };
    t.refused(orchestrator, missing, "KEY_NOT_FOUND")?;

    t.scene("Was all of it true?")?;
    let calls: u64 = t.ledger.calls.values().sum();
    let is_long = calls >= CALLS_MIN && t.ledger.calls.len() == 4;
    t.claim(&format!("four participants made {CALLS_MIN} calls or more"), is_long)?;
    let listing: Listing = t.check_ledger()?;
    let raw: usize = plan.documents.iter().map(|it| tokens(&it.text)).sum();
    let facts = [format!(
        "{} of {} became {} of notes and {} of digest, in a store of {}, an entry holding up to {}",
        counted(u64::try_from(raw).unwrap_or(0), "token"),
        counted(u64::try_from(plan.documents.len()).unwrap_or(0), "document"),
        grouped(used),
        grouped(digest.entry.value_size_tokens),
        group(plan.store_tokens_max),
        group(plan.value_tokens_max),
    )];
    t.end(&listing, &facts)
}
