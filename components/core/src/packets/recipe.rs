//! Recipes: the input of a packet besides the session, kept so that the packet can be made again
//! (spec 18.9).

use serde_json::Value;

use super::{
    address::Address,
    document::{add, add_decision, add_source, links, object, text, text_of},
    kinds::{Depth, Form, Part},
    material,
    packet::Link,
    reading::{self, Place},
    request::{GeneratePacket, PacketConfig},
    statement::{BINDING, Source, Statement},
};
use crate::{
    Error,
    count::narrow,
    key::Key,
    order::sorted,
    participant::Participant,
    tokens::{Tokens, approximate},
};

/// The name of the format of recipes.
const RECIPE_FORMAT: &str = "shared-context/recipe/1";
/// About how many bytes a statement takes besides its texts.
const STATEMENT_BYTES: usize = 240;

/// The most bytes of the statements of a recipe.
pub const MATERIAL_BYTES_MAX: usize = 65_536;

/// The input of a packet besides the data of its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    /// The task.
    pub task: String,
    /// The type of the task.
    pub task_type: Option<String>,
    /// The receivers of the packet.
    pub address: Address,
    /// The depth.
    pub depth: Depth,
    /// The budget.
    pub budget: Tokens,
    /// The form that the budget counts.
    pub form: Form,
    /// Packets of other sessions that it refers to.
    pub links: Vec<Link>,
    /// The keys that the packet may use although its receiver may not read them.
    pub keys: Vec<Key>,
    /// The statements that were given, or found in the conversation and the files.
    pub material: Vec<Statement>,
    /// The number of messages of the conversation.
    pub messages: u32,
    /// The tokens of the conversation and of the files.
    pub tokens: Tokens,
}

impl Recipe {
    /// Reads the conversation and the files of a request, which [`GeneratePacket::check`] accepted.
    /// `by` is the caller.
    pub fn new(request: &GeneratePacket, config: &PacketConfig, by: &Participant) -> Self {
        let depth = request.depth.unwrap_or(config.default_depth);
        let files = request.files.iter().map(|it| approximate(&it.text));
        let said = request.conversation.iter().map(|it| it.tokens);
        Self {
            task: request.task.trim().to_owned(),
            task_type: request.task_type.clone(),
            address: request.address.clone(),
            depth,
            budget: request.budget.unwrap_or_else(|| config.budgets.of(depth)),
            form: request.form,
            links: request.links.clone(),
            keys: request.keys.clone(),
            material: bounded(material::read(request, by)),
            messages: narrow(request.conversation.len()),
            tokens: said.chain(files).fold(Tokens(0), Tokens::plus),
        }
    }

    /// Returns the recipe as canonical JSON.
    pub fn text(&self) -> String {
        let mut members = vec![
            ("address", text(self.address.as_str())),
            ("budget", Value::from(self.budget.0)),
            ("depth", text(self.depth.as_str())),
            ("form", text(self.form.as_str())),
            ("format", text(RECIPE_FORMAT)),
            ("keys", self.keys.iter().map(|it| text(it.as_str())).collect()),
            ("links", links(&self.links)),
            ("material", self.material.iter().map(statement).collect()),
            ("messages", Value::from(self.messages)),
            ("task", text(&self.task)),
            ("tokens", Value::from(self.tokens.0)),
        ];
        add(&mut members, "task_type", self.task_type.as_deref());
        text_of(&object(members))
    }

    /// Parses what [`Recipe::text`] returned.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] for anything else.
    pub fn parse(text: &str) -> Result<Self, Error> {
        reading::read(&reading::parse(text)?, |it| {
            it.get("format").is(RECIPE_FORMAT);
            Self {
                task: it.get("task").text(),
                task_type: it.get("task_type").optional(),
                address: it.get("address").parse(Address::parse).unwrap_or(Address::Shared),
                depth: it.get("depth").parse(Depth::parse).unwrap_or(Depth::Minimal),
                budget: Tokens(it.get("budget").number()),
                form: it.get("form").parse(Form::parse).unwrap_or(Form::Markdown),
                links: reading::links(&it),
                keys: it.get("keys").items().filter_map(|it| it.parse(Key::parse)).collect(),
                material: it.get("material").items().map(|it| read_statement(&it)).collect(),
                messages: it.get("messages").number(),
                tokens: Tokens(it.get("tokens").number()),
            }
        })
    }
}

fn statement(it: &Statement) -> Value {
    let mut members = vec![
        ("is_weak", Value::Bool(it.is_weak)),
        ("part", text(it.part.as_str())),
        ("rank", text(&it.rank.to_string())),
        ("text", text(&it.text)),
    ];
    if it.weight < BINDING {
        members.push(("weight", Value::from(it.weight)));
    }
    add(&mut members, "detail", it.detail.as_deref());
    add_decision(&mut members, it);
    add_source(&mut members, &it.source);
    object(members)
}

fn read_statement(it: &Place<'_>) -> Statement {
    let part = it.get("part").parse(Part::parse).unwrap_or(Part::Constraint);
    let mut statement = Statement::new(part, it.get("text").text(), Source::read(it));
    statement.detail = it.get("detail").optional();
    it.decision(&mut statement);
    let rank = it.get("rank");
    match rank.text().parse() {
        Ok(number) => statement.rank = number,
        Err(_) => rank.reject("must be a number"),
    }
    statement.is_weak = it.get("is_weak").flag();
    // Recipes from before weights have none.
    let weight = it.get("weight").optional_count().unwrap_or(BINDING.into());
    statement.weight = u8::try_from(weight).map_or(BINDING, |it| it.min(BINDING));
    statement
}

/// Returns the statements that fit a recipe: first those that were given, then the latest of the
/// conversation.
fn bounded(all: Vec<Statement>) -> Vec<Statement> {
    let bytes = |it: &Statement| {
        let detail = it.detail.as_deref().map_or(0, str::len);
        it.text.len().saturating_add(detail).saturating_add(STATEMENT_BYTES)
    };
    let mut places: Vec<usize> = (0..all.len()).collect();
    places = sorted(places, |a, b| {
        let key = |place: &usize| {
            let it = all.get(*place)?;
            // The goal is what was said first.
            let is_goal = it.part == Part::Goal;
            Some((
                it.source.origin.precedence(),
                !is_goal,
                it.is_weak,
                BINDING.saturating_sub(it.weight),
                u64::MAX.saturating_sub(it.rank),
            ))
        };
        key(a).cmp(&key(b))
    });
    let mut left = MATERIAL_BYTES_MAX;
    let mut keeps = vec![false; all.len()];
    for place in places {
        let Some((it, keeps)) = all.get(place).zip(keeps.get_mut(place)) else { continue };
        if let Some(rest) = left.checked_sub(bytes(it)) {
            (left, *keeps) = (rest, true);
        }
    }
    all.into_iter().zip(keeps).filter(|it| it.1).map(|it| it.0).collect()
}
