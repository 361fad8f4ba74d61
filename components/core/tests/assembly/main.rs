//! Assemblies (spec 16.10 to 16.13): what is shown, what is left out and why, and in which order.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

mod examples;
mod order;
mod properties;
mod shown;

use shared_context_core::{
    Error,
    budget::{Budget, Reason},
    context::assembly::{
        Assembly, Candidate, Format, Heading, Previous, RankBy, Request, Rules, assemble, check,
    },
    item::{Item, Kind, ListedKind},
    participant::Participant,
    scope::SessionId,
    text::Score,
    time::Timestamp,
    tokens::{Tokens, approximate},
};

const NOW: Timestamp = Timestamp(1_771_597_800_000);

/// Returns an item of this kind.
fn item(id: &str, kind: ListedKind, text: &str) -> Item {
    Item::inline(id, Kind::Listed(kind), text)
}

/// Returns an item that a file was read into.
fn file(id: &str, text: &str) -> Item {
    item(id, ListedKind::FileExcerpt, text)
}

fn budget(tokens: u32) -> Rules {
    Rules { budget: Budget::of(Tokens(tokens)), ..Rules::default() }
}

fn assembled_after(
    task: &str,
    items: &[Item],
    rules: &Rules,
    previous: &Previous,
) -> Result<Assembly, Error> {
    check(task, items, rules)?;
    let request = Request { task, items, rules, previous, now: NOW };
    assemble(&request, &|text| Ok(approximate(text)))
}

fn assembled(task: &str, items: &[Item], rules: &Rules) -> Assembly {
    assembled_after(task, items, rules, &Previous::default()).unwrap()
}

/// Returns the envelope of an assembly, and its blocks as a later assembly gets them.
fn envelope(task: &str, items: &[Item], rules: &Rules, assembly: &Assembly) -> String {
    let request = Request { task, items, rules, previous: &Previous::default(), now: NOW };
    let heading = Heading {
        id: None,
        owner: Some((
            &SessionId::new("ticket-7").unwrap(),
            &Participant::parse("orchestrator").unwrap(),
        )),
        shows_hidden: true,
    };
    assembly.envelope(&request, &heading)
}

fn previous(task: &str, items: &[Item], rules: &Rules, assembly: &Assembly) -> Previous {
    Previous::of_envelope(&envelope(task, items, rules, assembly), &assembly.open)
}

/// Returns the ids of the selected items in the order of the text, and the reasons of the others.
fn outcome<'a>(items: &'a [Item], it: &Assembly) -> (Vec<&'a str>, Vec<(&'a str, Reason)>) {
    let selected = it.blocks.iter().filter_map(|it| Some(items[it.place?].id.as_str())).collect();
    let omitted = items.iter().zip(&it.candidates);
    let omitted = omitted.filter_map(|(item, it)| Some((&*item.id, it.omission.as_ref()?.reason)));
    (selected, omitted.collect())
}
