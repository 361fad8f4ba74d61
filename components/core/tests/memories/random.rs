//! Projects of random memories.

use proptest::{collection::vec, prelude::*, sample::select};
use shared_context_core::memories::{Kind, Mark, MemoryId, NewMemory, Severity, Status, Value};

use crate::{
    AGENT, DAY, MemoriesCommand, ORCHESTRATOR, START, TestHost, add, ask, at, mark, memory,
    project, text,
};

/// Words that are no forms of each other.
pub(crate) const WORDS: [&str; 8] =
    ["zorb", "quux", "plim", "drak", "vonk", "mulp", "tark", "grob"];
pub(crate) const TAGS: [&str; 3] = ["db", "net", "ui"];

/// A random memory.
#[derive(Debug, Clone)]
pub(crate) struct Random {
    pub(crate) kind: Kind,
    pub(crate) title: String,
    pub(crate) content: String,
    pub(crate) tags: Vec<&'static str>,
    pub(crate) importance: u8,
    pub(crate) severity: Severity,
    pub(crate) is_resolved: bool,
    /// Its age in milliseconds.
    pub(crate) age: u64,
    pub(crate) by: &'static str,
    pub(crate) session: Option<&'static str>,
    pub(crate) reads: u32,
    pub(crate) is_archived: bool,
}

/// A random memory that was added, with its id and its text.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) id: MemoryId,
    pub(crate) it: Random,
    pub(crate) at: u64,
    /// The words of its content.
    pub(crate) words: Vec<String>,
}

fn phrase(most: usize) -> impl Strategy<Value = String> {
    vec(select(&WORDS[..]), 1..=most).prop_map(|it| it.join(" "))
}

fn one() -> impl Strategy<Value = Random> {
    let what = (select(&Kind::ALL[..]), phrase(3), phrase(14), select(&Severity::ALL[..]));
    let rank =
        (1..=10_u8, prop_oneof![Just(0), 0..100 * DAY, (0..100_u64).prop_map(|it| it * DAY)]);
    let who = (
        select(&[AGENT, ORCHESTRATOR, "subagent:b"][..]),
        select(&[None, Some("s1"), Some("s2")][..]),
    );
    let tags = proptest::sample::subsequence(TAGS.to_vec(), 0..=2);
    let reads = prop_oneof![4 => Just(0), 1 => 1..4_u32, 1 => 9..12_u32];
    let states = (any::<bool>(), proptest::bool::weighted(0.2), reads);
    (what, rank, who, tags, states).prop_map(|(what, rank, who, tags, states)| Random {
        kind: what.0,
        title: what.1,
        content: what.2,
        severity: what.3,
        importance: rank.0,
        age: rank.1,
        by: who.0,
        session: who.1,
        tags,
        is_resolved: states.0,
        is_archived: states.1,
        reads: states.2,
    })
}

pub(crate) fn some(most: usize) -> impl Strategy<Value = Vec<Random>> {
    vec(one(), 1..=most)
}

/// Returns the memory, with one word more that no other has.
fn new(nth: usize, it: &Random) -> NewMemory {
    let main = text(&format!("{} n{nth}", it.content));
    let members: Vec<(&str, Value)> = match it.kind {
        Kind::Decision => vec![("decision", main)],
        Kind::Issue => vec![("description", main), ("severity", text(it.severity.as_str()))],
        Kind::State => {
            vec![("task_description", main), ("completion_percentage", Value::Number(5))]
        }
        Kind::Learning => vec![("lesson", main)],
        Kind::Handoff => vec![("summary", main)],
    };
    let status = if it.is_resolved { Status::Resolved } else { Status::Open };
    NewMemory {
        importance: it.importance,
        status: (it.kind == Kind::Issue).then_some(status),
        at: at(START - it.age),
        tags: it.tags.iter().map(|it| (*it).to_owned()).collect(),
        ..memory(it.kind, &it.title, &members)
    }
}

/// Returns a project with these memories.
pub(crate) fn stored(all: Vec<Random>) -> (TestHost, Vec<Stored>) {
    let host = project();
    let mut stored = Vec::new();
    for (nth, it) in all.into_iter().enumerate() {
        let who = it.session.map_or_else(|| it.by.to_owned(), |one| format!("{} in {one}", it.by));
        let id = add(&host, &who, new(nth, &it)).id;
        for _ in 0..it.reads {
            ask(&host, ORCHESTRATOR, MemoriesCommand::Read(vec![crate::id(id)]));
        }
        let mut words: Vec<String> = it.content.split(' ').map(str::to_owned).collect();
        words.push(format!("n{nth}"));
        if it.kind == Kind::Issue {
            words.push(it.severity.as_str().to_owned());
        }
        stored.push(Stored { id, at: START - it.age, words, it });
    }
    let archived: Vec<MemoryId> =
        stored.iter().filter(|it| it.it.is_archived).map(|it| it.id).collect();
    if !archived.is_empty() {
        ask(&host, ORCHESTRATOR, mark(&archived, Mark::Archived));
    }
    (host, stored)
}
