//! Edits of a packet before it is handed over (spec 18.7).

use serde_json::{Map, Value};

use super::{
    document::{add_source, object, text_of},
    draft::changelog,
    generate::Head,
    kinds::{Layer, Part},
    packet::Packet,
    reading,
    recipe::Recipe,
    request::{check_task, check_task_type},
    statement::Source,
};
use crate::{Error, tokens::Tokens};

/// The longest patch, in bytes.
pub const PATCH_BYTES_MAX: usize = 65_536;
/// The members that an edit may change.
const EDITABLE: [&str; 4] = ["context", "links", "target_task", "task_type"];
/// How deep a patch is read.
const DEPTH_MAX: u32 = 16;

/// Returns the next version of a packet: `patch` is a JSON merge patch (RFC 7396) of its document. It
/// may change `context`, `target_task`, `task_type` and `links`. What it adds has its author as its
/// source.
///
/// # Errors
///
/// [`Error::Malformed`] for a patch that is no JSON object, is too long, changes nothing, changes
/// another member or gives a member of another form; [`Error::PacketTooSmall`] if the result is over
/// the budget of the recipe; those of `count`.
pub fn edit(
    packet: &Packet,
    patch: &str,
    recipe: &Recipe,
    head: &Head,
    count: &dyn Fn(&str) -> Result<Tokens, Error>,
) -> Result<Packet, Error> {
    if patch.len() > PATCH_BYTES_MAX {
        return Err(Error::malformed(format!(
            "patch has {} bytes, at most {PATCH_BYTES_MAX} fit; change fewer members",
            patch.len()
        )));
    }
    let patch = reading::parse(patch)?;
    if let Some(part) = Part::ALL.into_iter().find(|it| patch.get(it.as_str()).is_some()) {
        let parent = if part.layer() == Layer::Codebase { "context.codebase" } else { "context" };
        let name = part.as_str();
        return Err(Error::malformed(format!(
            "the patch has {name} at its top; put it into {parent}, where the packet has it"
        )));
    }
    reading::read(&patch, |it| it.only(&EDITABLE))?;
    let before = packet.value();
    let mut after = before.clone();
    apply(&mut after, &patch, 0)?;
    if after == before {
        return Err(Error::malformed(format!(
            "the patch changes nothing in the packet; it can change {}",
            EDITABLE.join(", ")
        )));
    }
    let sources = sources(&before, &after, &head.creator);
    if let Some(members) = after.as_object_mut() {
        members.insert("sources".to_owned(), sources);
    }
    let mut edited = Packet::read(&after)?;
    check_task(&edited.target_task)?;
    edited.task_type.as_deref().map_or(Ok(()), check_task_type)?;
    edited.id.clone_from(&head.id);
    edited.version = head.version;
    edited.created.clone_from(&head.created);
    edited.creator.clone_from(&head.creator);
    edited.changelog = changelog(Some(packet), &edited);
    edited.checksum = edited.sum();
    edited.count(count)?;
    let needed = edited.token_count.of(recipe.form);
    if needed > recipe.budget {
        let (budget, form) = (recipe.budget, recipe.form.as_str());
        return Err(Error::PacketTooSmall { budget, needed, form, fits: None, is_edited: true });
    }
    Ok(edited)
}

/// Applies a merge patch: a null removes a member, an object changes members, anything else
/// replaces.
fn apply(value: &mut Value, patch: &Value, depth: u32) -> Result<(), Error> {
    let Value::Object(changes) = patch else {
        *value = patch.clone();
        return Ok(());
    };
    if depth > DEPTH_MAX {
        return Err(Error::malformed(format!("patch is nested deeper than {DEPTH_MAX} objects")));
    }
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let Some(members) = value.as_object_mut() else { return Ok(()) };
    for (name, change) in changes {
        if change.is_null() {
            members.remove(name);
        } else {
            let member = members.entry(name.clone()).or_insert(Value::Null);
            apply(member, change, depth.saturating_add(1))?;
        }
    }
    Ok(())
}

/// Returns the sources of an edited packet: what is unchanged keeps its source.
fn sources(before: &Value, after: &Value, by: &str) -> Value {
    let known = before.get("sources").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let source_of = |pointer: &str| {
        known.iter().find(|it| it.get("pointer").and_then(Value::as_str) == Some(pointer))
    };
    let task = after.get("target_task");
    let mut sources = Vec::new();
    let mut add = |pointer: String, value: &Value, source: Option<&Value>| {
        let mut source = source.cloned().unwrap_or_else(|| {
            let text = value.as_str().map_or_else(|| text_of(value), str::to_owned);
            let mut members = Vec::new();
            add_source(&mut members, &Source::written(&text, by));
            object(members)
        });
        if let Some(members) = source.as_object_mut() {
            members.insert("pointer".to_owned(), Value::String(pointer));
        }
        sources.push(source);
    };
    for part in Part::ALL {
        let list = part.list();
        let before = before.pointer(&list);
        let after = after.pointer(&list);
        match after {
            Some(goal) if part == Part::Goal => {
                let source = source_of(&list);
                // A goal that is the task needs no source.
                if source.is_some() || Some(goal) != task {
                    add(list, goal, source.filter(|_| before == after));
                }
            }
            Some(Value::Array(after)) => {
                let before = before.and_then(Value::as_array);
                for (nth, value) in after.iter().enumerate() {
                    let same = before.and_then(|it| it.iter().position(|it| it == value));
                    add(part.place(nth), value, same.and_then(|it| source_of(&part.place(it))));
                }
            }
            _ => {}
        }
    }
    Value::Array(sources)
}
