//! Measures how well a search orders memories: questions with graded answers about an invented
//! project.
//!
//! The measure is the discounted cumulative gain of the first ten, divided by the best possible one
//! (nDCG@10). The rank of the source is compared with two simpler orders of the same run.

use std::{cmp::Reverse, collections::BTreeMap};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use shared_context_core::{memory_kv::MemoryKv, time::Timestamp};

use super::{ask_core, list, now, words_of};
use crate::report::Report;

const DATA: &str = include_str!("graded.json");
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
/// The number of found memories that count.
const FIRST: usize = 10;
/// The orders that are compared.
const ORDERS: [&str; 3] = ["rank", "words", "importance"];

/// A memory as a search returned it.
struct Found {
    key: String,
    words: f64,
    importance: u64,
    at: String,
}

/// Measures the searches.
pub(super) fn measure(report: &mut Report) -> Result<()> {
    report.section("Graded questions, nDCG@10: by rank, by words alone, by importance alone");
    let data: Value = serde_json::from_str(DATA)?;
    let kv = MemoryKv::default();
    let keys = add(&kv, &data)?;
    let mut sums: BTreeMap<&str, (u32, [f64; 3])> = BTreeMap::new();
    for question in list(&data["questions"]) {
        let grades = question["grades"].as_object().context("a question has no grades")?;
        let grade = |key: &str| grades.get(key).and_then(Value::as_f64).unwrap_or_default();
        let mut best: Vec<f64> = grades.values().filter_map(Value::as_f64).collect();
        best.sort_by(|a, b| b.total_cmp(a));
        let best = gain(best.into_iter());
        for class in [question["class"].as_str().unwrap_or_default(), "all"] {
            sums.entry(class).or_default().0 += 1;
        }
        for (place, order) in ORDERS.into_iter().enumerate() {
            let found = found(&kv, &keys, &question["query"], order)?;
            let score = gain(found.iter().map(|it| grade(&it.key))) / best;
            for class in [question["class"].as_str().unwrap_or_default(), "all"] {
                let sum = sums.entry(class).or_default().1.get_mut(place);
                *sum.context("an order has no place")? += score;
            }
        }
    }
    for (class, (count, sums)) in sums {
        let [rank, words, importance] = sums.map(|it| it / f64::from(count));
        let what = format!("{class} ({count})");
        report.line(&what, format!("{rank:.3}   {words:.3}   {importance:.3}"));
    }
    Ok(())
}

/// Adds the memories, the oldest first. Returns the key of each id.
fn add(kv: &MemoryKv, data: &Value) -> Result<BTreeMap<String, String>> {
    ask_core(kv, &json!({"action": "create_project"}))?;
    let memories = list(&data["memories"]);
    let mut order: Vec<&Value> = memories.iter().collect();
    order.sort_by_key(|it| Reverse(it["days_ago"].as_u64()));
    let mut ids: BTreeMap<&str, String> = BTreeMap::new();
    for memory in order {
        let key = memory["key"].as_str().context("a memory has no key")?;
        let ago = memory["days_ago"].as_u64().unwrap_or_default() * DAY_MS;
        let replaced = memories.iter().filter(|it| it["superseded_by"] == key);
        let replaced = replaced.filter_map(|it| ids.get(it["key"].as_str()?));
        let mut request = json!({
            "timestamp": Timestamp(now().0 - ago).to_string(),
            "supersedes": replaced.collect::<Vec<_>>(),
        });
        for member in ["memory_type", "title", "content", "tags", "importance", "status"] {
            if let Some(value) = memory.get(member) {
                request[member] = value.clone();
            }
        }
        let reply = ask_core(kv, &json!({"action": "add_memories", "memories": [request]}))?;
        let id = reply.pointer("/memories/0/memory_id").and_then(Value::as_str);
        ids.insert(key, id.context("a memory got no id")?.to_owned());
    }
    Ok(ids.into_iter().map(|(key, id)| (id, key.to_owned())).collect())
}

/// Returns the memories in the order that is named.
fn found(
    kv: &MemoryKv,
    keys: &BTreeMap<String, String>,
    query: &Value,
    order: &str,
) -> Result<Vec<Found>> {
    let mut search = json!({"action": "search_memories", "limit": 100});
    if order != "importance" {
        search["query"] = query.clone();
    }
    let reply = ask_core(kv, &search)?;
    let read = |it: &Value| {
        Some(Found {
            key: keys.get(it["memory_id"].as_str()?)?.clone(),
            words: words_of(it),
            importance: it["importance"].as_u64()?,
            at: it["timestamp"].as_str()?.to_owned(),
        })
    };
    let mut found: Vec<Found> = list(&reply["memories"]).iter().filter_map(read).collect();
    match order {
        "words" => found.sort_by(|a, b| b.words.total_cmp(&a.words)),
        "importance" => found.sort_by(|a, b| (b.importance, &b.at).cmp(&(a.importance, &a.at))),
        _ => {}
    }
    Ok(found)
}

/// Returns the discounted gain of grades in their order.
fn gain(grades: impl Iterator<Item = f64>) -> f64 {
    let one = |(place, grade): (u32, f64)| (grade.exp2() - 1.0) / f64::from(place + 2).log2();
    (0..).zip(grades).take(FIRST).map(one).sum()
}
