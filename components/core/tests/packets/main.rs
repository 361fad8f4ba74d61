//! Packets: the context of a task for its worker (spec 18).

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test, which prints what it compares"
)]

mod afterwards;
mod example;
mod feedback;
mod given_up;
mod natural;
mod properties;
mod replies;
mod rules;
mod said;

use shared_context_core::{
    Error,
    item::{Item, Kind, ListedKind},
    packets::{
        Address, Depth, Form, GeneratePacket, Generated, Given, Head, PacketConfig, Part, Recipe,
        Sources, generate,
    },
    participant::Participant,
    tokens::{Tokens, approximate},
};

/// Returns a message of a user (`u`), of the orchestrator (`a`) or of a tool (`t`).
fn said(id: &str, by: char, text: &str) -> Item {
    let kind = match by {
        'u' => ListedKind::UserMessage,
        'a' => ListedKind::SessionHistory,
        _ => ListedKind::ToolResult,
    };
    Item::inline(id, Kind::Listed(kind), text)
}

/// Reads a conversation: each line begins with the speaker.
fn conversation(lines: &[(char, &str)]) -> Vec<Item> {
    let items = lines.iter().enumerate();
    items.map(|(nth, (by, text))| said(&format!("m{}", nth + 1), *by, text)).collect()
}

fn request(task: &str, conversation: Vec<Item>) -> GeneratePacket {
    GeneratePacket {
        task: task.to_owned(),
        task_type: None,
        address: Address::parse("subagent:impl").unwrap(),
        depth: None,
        budget: None,
        form: Form::Markdown,
        conversation,
        files: Vec::new(),
        facts: Vec::new(),
        links: Vec::new(),
        keys: Vec::new(),
        is_preview: false,
    }
}

/// Returns statements of one part.
fn given(part: Part, texts: &[impl AsRef<str>]) -> Vec<Given> {
    texts.iter().map(|it| Given::new(part, it.as_ref())).collect()
}

/// Returns a decision with its reason.
fn decision(choice: &str, reason: &str) -> Given {
    Given { detail: Some(reason.to_owned()), ..Given::new(Part::Decision, choice) }
}

fn head() -> Head {
    Head {
        id: Some("PKT-1".to_owned()),
        session: Some("shop-42".to_owned()),
        version: 1,
        created: "2026-11-27T00:00:00Z".to_owned(),
        creator: "orchestrator".to_owned(),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "other counters fail")]
fn count(text: &str) -> Result<Tokens, Error> {
    Ok(approximate(text))
}

fn recipe(request: &GeneratePacket) -> Recipe {
    request.check().unwrap();
    let by = Participant::parse("orchestrator").unwrap();
    Recipe::new(request, &PacketConfig::default(), &by)
}

fn generated(request: &GeneratePacket, sources: &Sources) -> Generated {
    generate(&recipe(request), sources, &head(), None, &count).unwrap()
}

/// Returns the packet of a conversation at a depth, as Markdown, after printing it.
fn printed(request: &GeneratePacket, depth: Depth) -> Generated {
    let request = GeneratePacket { depth: Some(depth), ..request.clone() };
    let made = generated(&request, &Sources::default());
    let text = made.packet.render(Form::Markdown);
    let (before, after) = (made.before.0, made.packet.token_count.markdown.0);
    let saved = 100 - after * 100 / before.max(1);
    println!("--- {}: {before} → {after} tokens, {saved} % saved\n{text}", depth.as_str());
    made
}
