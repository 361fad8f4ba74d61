//! Memories: the cost of a search, a rehydration and an addition through a fresh component, how
//! often a search finds the answer to a question, and how well it orders its results.

#![expect(clippy::indexing_slicing, reason = "a member of JSON that is missing is null")]

mod graded;
mod stored;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use anyhow::{Context as _, Result, anyhow, ensure};
use serde_json::{Value, json};
use shared_context_codec::{Caller, invoke};
use shared_context_core::{
    memory_kv::MemoryKv,
    port::{Clock as _, NoTokenizer, Ports},
    time::Timestamp,
};

use crate::{
    project::{Project, SCOPE},
    report::Report,
    rules::NoOp,
};

/// Memories that are added in one request.
const BATCH: usize = 500;
/// Different words of the texts.
const WORDS: u64 = 4_000;

/// Measures the cost, and with `data` the searches.
pub(crate) fn measure(report: &mut Report, data: Option<&Path>) -> Result<()> {
    cost(report, 1_000, [1.0, 10.0])?;
    cost(report, 10_000, [5.0, 10.0])?;
    stored::measure(report, 10_000)?;
    graded::measure(report)?;
    if let Some(file) = data {
        return found(report, file);
    }
    report.note("questions about distilled facts: skipped, it needs --data FILE");
    Ok(())
}

/// Measures requests on a project of `count` memories; `limits` are those of a search and a beginning.
fn cost(report: &mut Report, count: usize, limits: [f64; 2]) -> Result<()> {
    report.section(&format!("{count} memories, fresh instance, storage in memory (CPU, ms)"));
    let project = Project::new()?;
    fill(&project, count);
    let search = project.median(search);
    let begin = project.median(|_| json!({"action": "rehydrate"}));
    let add = project.median(|nth| add(count + nth));
    let [search_limit, begin_limit] = limits;
    for (name, figure, limit) in
        [("search", search, search_limit), ("rehydrate", begin, begin_limit)]
    {
        report.goal(name, format!("{figure:7.2}"), &format!("under {limit}"), figure < limit);
    }
    report.line("add one", format!("{add:7.2}"));
    project.ensure_none_rejected()
}

/// Adds `count` memories.
fn fill(project: &Project, count: usize) {
    for nth in 0..count / BATCH {
        let memories: Vec<Value> = (0..BATCH).map(|it| memory(nth * BATCH + it)).collect();
        project.ask(&json!({"action": "add_memories", "memories": memories}));
    }
}

/// Returns one of several searches.
fn search(nth: usize) -> Value {
    let queries = ["word1 word77 word300", "word12 word2000", "word5"];
    let query = queries.get(nth % queries.len()).copied().unwrap_or_default();
    json!({"action": "search_memories", "query": query})
}

/// Returns the request that adds the memory with this number.
fn add(nth: usize) -> Value {
    json!({"action": "add_memories", "memories": [memory(nth)]})
}

/// Returns a memory of about 60 words; frequent words are frequent as in a text.
fn memory(nth: usize) -> Value {
    let mut seed = u64::try_from(nth).unwrap_or_default().wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut words = |count: usize| {
        let word = |_| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let word = (seed >> 33) % WORDS;
            format!("word{}", word * word / WORDS)
        };
        (0..count).map(word).collect::<Vec<_>>().join(" ")
    };
    json!({
        "memory_type": "learning", "title": words(8), "importance": 1 + nth % 10,
        "tags": ["bench"], "content": {"lesson": words(50)},
    })
}

/// The number of times that the first, one of five or one of ten found memories held the answer.
#[derive(Default)]
struct Places {
    within: [u32; 3],
    reciprocal: f64,
}

impl Places {
    const WITHIN: [usize; 3] = [1, 5, 10];

    /// Counts a question whose answer was found at `place`, from 0.
    fn count(&mut self, place: usize) -> Result<()> {
        for (count, within) in self.within.iter_mut().zip(Self::WITHIN) {
            *count += u32::from(place < within);
        }
        self.reciprocal += 1.0 / f64::from(u32::try_from(place + 1)?);
        Ok(())
    }
}

/// Asks the questions of conversations in the format of `LoCoMo` about their distilled facts, each a
/// memory: by the rank, and beside it by the words of title and content alone.
fn found(report: &mut Report, file: &Path) -> Result<()> {
    report.section("Questions about distilled facts, one project for each conversation");
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let all: Value = serde_json::from_slice(&bytes)?;
    let (mut by_rank, mut by_words) = (Places::default(), Places::default());
    let mut questions = 0_u32;
    for conversation in all.as_array().context("the data is not a list of conversations")? {
        let kv = MemoryKv::default();
        let evidence = add_facts(&kv, conversation)?;
        for question in list(&conversation["qa"]) {
            let wanted = texts(&question["evidence"]);
            let answers = |id: &str| evidence.get(id).is_some_and(|it| !it.is_disjoint(&wanted));
            if !evidence.keys().any(|it| answers(it)) {
                continue;
            }
            questions += 1;
            let mut memories = search_all(&kv, &question["question"])?;
            let is_wanted = |it: &Value| it["memory_id"].as_str().is_some_and(answers);
            if let Some(place) = memories.iter().position(is_wanted) {
                by_rank.count(place)?;
            }
            memories.sort_by(|a, b| words_of(b).total_cmp(&words_of(a)));
            if let Some(place) = memories.iter().position(is_wanted) {
                by_words.count(place)?;
            }
        }
    }
    ensure!(questions > 0, "{} has no question with evidence", file.display());
    report.line("questions", questions.to_string());
    let percent = |count: u32| f64::from(count) * 100.0 / f64::from(questions);
    let names = [("the first", 48.0), ("one of five", 68.0), ("one of ten", 75.0)];
    for ((name, goal), (rank, words)) in
        names.into_iter().zip(by_rank.within.into_iter().zip(by_words.within))
    {
        let (rank, words) = (percent(rank), percent(words));
        let shown = format!("{rank:6.1} %   {words:.1} % by words alone");
        report.goal(name, shown, &format!("at least {goal} %"), rank >= goal);
    }
    let [rank, words] = [by_rank, by_words].map(|it| it.reciprocal / f64::from(questions));
    let shown = format!("{rank:6.3}   {words:.3} by words alone");
    report.goal("mean reciprocal rank", shown, "at least 0.57", rank >= 0.57);
    Ok(())
}

/// Returns all memories that a search finds, in their order.
fn search_all(kv: &MemoryKv, query: &Value) -> Result<Vec<Value>> {
    let mut search = json!({"action": "search_memories", "query": query, "limit": 100});
    let mut all = Vec::new();
    loop {
        let reply = ask_core(kv, &search)?;
        all.extend_from_slice(list(&reply["memories"]));
        match reply.get("next_cursor") {
            Some(next) => search["cursor"] = next.clone(),
            None => return Ok(all),
        }
    }
}

/// Returns how much the words of a found memory have in common with the query.
fn words_of(found: &Value) -> f64 {
    let part = |name: &str| found["parts"][name].as_f64().unwrap_or_default();
    part("title") + part("content")
}

/// Adds the facts of a conversation. Returns for each memory the turns that it comes from.
fn add_facts(kv: &MemoryKv, conversation: &Value) -> Result<BTreeMap<String, BTreeSet<String>>> {
    ask_core(kv, &json!({"action": "create_project"}))?;
    let mut evidence: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let sessions = conversation["observation"].as_object().into_iter().flatten();
    let speakers = sessions.flat_map(|(_, it)| it.as_object().into_iter().flatten());
    for (speaker, facts) in speakers {
        for fact in list(facts) {
            let add = json!({"action": "add_memories", "memories": [{
                "memory_type": "learning", "title": speaker, "content": {"lesson": fact[0]},
            }]});
            let reply = ask_core(kv, &add)?;
            let id = reply.pointer("/memories/0/memory_id").and_then(Value::as_str);
            let id = id.unwrap_or_default().to_owned();
            evidence.entry(id).or_default().extend(texts(&fact[1]));
        }
    }
    Ok(evidence)
}

/// Returns the instant at which every request is made.
fn now() -> Timestamp {
    NoOp.now()
}

fn ask_core(kv: &MemoryKv, request: &Value) -> Result<Value> {
    let ports = Ports { kv, clock: &NoOp, log: &NoOp, tokenizer: &NoTokenizer };
    let reply = invoke(&ports, SCOPE, &Caller::trusted("admin"), request.to_string().as_bytes());
    let reply = reply.map_err(|failure| anyhow!("{failure}"))?;
    Ok(serde_json::from_slice(&reply.body)?)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns a text, or the texts of a list.
fn texts(value: &Value) -> BTreeSet<String> {
    let one = value.as_str().map(str::to_owned);
    one.into_iter()
        .chain(list(value).iter().filter_map(|it| it.as_str().map(str::to_owned)))
        .collect()
}
