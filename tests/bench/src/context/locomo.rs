//! Conversations in the format of `LoCoMo` (Maharana et al., ACL 2024): sessions of turns, and
//! questions with the ids of the turns that hold the answer.

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// A conversation.
#[derive(Debug)]
pub(super) struct Conversation {
    pub(super) turns: Vec<Turn>,
    /// The questions whose evidence is among the turns.
    pub(super) questions: Vec<Question>,
}

/// A turn.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) id: String,
    /// The number of its session, from 0. Sessions are in the order of their time.
    pub(super) session: usize,
    /// The time of its session.
    pub(super) date: String,
    /// The message with its speaker. A picture is shown as its caption.
    pub(super) said: String,
}

impl Turn {
    /// Returns its text as an agent would see it.
    pub(super) fn text(&self) -> String {
        format!("{} {}", self.date, self.said)
    }
}

/// A question.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) text: String,
    /// The kind of question, 1 to 5.
    pub(super) category: u64,
    /// The places of the turns that hold the answer.
    pub(super) evidence: Vec<usize>,
}

/// Reads the conversations of a file.
pub(super) fn read(file: &Path) -> Result<Vec<Conversation>> {
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let all: Value = serde_json::from_slice(&bytes)
        .with_context(|| format!("{} is no JSON document", file.display()))?;
    let conversations = all.as_array().context("the data is not a list of conversations")?;
    let conversations: Vec<Conversation> = conversations.iter().map(conversation).collect();
    if conversations.iter().all(|it| it.questions.is_empty()) {
        bail!("{} has no question with evidence", file.display());
    }
    Ok(conversations)
}

fn conversation(value: &Value) -> Conversation {
    let sessions = &value["conversation"];
    let mut turns = Vec::new();
    let numbers = (1..).take_while(|it| !sessions[format!("session_{it}_date_time")].is_null());
    let filled = numbers.filter(|it| sessions[format!("session_{it}")].is_array());
    for (session, number) in filled.enumerate() {
        let date = text(&sessions[format!("session_{number}_date_time")]);
        for turn in list(&sessions[format!("session_{number}")]) {
            let id = text(&turn["dia_id"]);
            turns.push(Turn { id, session, date: date.clone(), said: said(turn) });
        }
    }
    let questions = list(&value["qa"]).iter().filter_map(|it| question(it, &turns)).collect();
    Conversation { turns, questions }
}

fn said(turn: &Value) -> String {
    let said = format!("{}: {}", text(&turn["speaker"]), text(&turn["text"]));
    let caption = text(&turn["blip_caption"]);
    if caption.is_empty() { said } else { format!("{said} [{caption}]") }
}

fn question(value: &Value, turns: &[Turn]) -> Option<Question> {
    let ids: Vec<String> = list(&value["evidence"]).iter().map(text).collect();
    let ids: BTreeSet<&str> =
        ids.iter().flat_map(|it| it.split([' ', ',', ';'])).filter(|it| !it.is_empty()).collect();
    let evidence: Vec<usize> = turns
        .iter()
        .enumerate()
        .filter(|(_, turn)| ids.contains(turn.id.as_str()))
        .map(|(place, _)| place)
        .collect();
    let category = value["category"].as_u64().unwrap_or(0);
    let question = Question { text: text(&value["question"]), category, evidence };
    (!question.evidence.is_empty()).then_some(question)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
