//! Makes a packet: chooses statements within the budget (spec 18.2).
//!
//! `gather` collects the candidates, `trim` chooses among them, `draft` writes it.

use super::{
    draft::{self, Draft},
    gather,
    kinds::Layer,
    packet::Packet,
    recipe::Recipe,
    source::Sources,
    statement::Statement,
    trim::{Detail, Trimmed},
};
use crate::{Error, budget::Omission, count::narrow, tokens::Tokens};

/// The head of a packet: its id, origin, version and creator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Its id; `None` for a preview.
    pub id: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// Its version, from 1.
    pub version: u32,
    /// The time, in RFC 3339.
    pub created: String,
    /// The participant that makes it.
    pub creator: String,
}

/// A packet that was made, and a report on each candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// The packet.
    pub packet: Packet,
    /// Why each other candidate is not in it. The ids are those of [`Candidate::id`].
    pub omitted: Vec<Omission>,
    /// All candidates, in the order of their importance.
    pub candidates: Vec<Candidate>,
    /// The tokens of everything it was made from.
    pub before: Tokens,
}

/// A candidate, by its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its id: `c1`, `c2`, …
    pub id: String,
    /// The statement.
    pub statement: Statement,
    /// True if it is in the packet.
    pub is_included: bool,
}

/// The text of one layer, for a worker that needs more than its packet has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerText {
    /// The layer.
    pub layer: Layer,
    /// Its text, in Markdown.
    pub text: String,
    /// Its tokens.
    pub tokens: Tokens,
    /// The number of statements that did not fit.
    pub left_out: u32,
}

/// The most times that a packet is measured and trimmed before everything that may go is left out.
const ATTEMPTS: u32 = 8;

/// Makes a packet. `previous` is the version before it; without one the version is the first.
///
/// # Errors
///
/// [`Error::PacketTooSmall`] if even the goal does not fit; those of `count`.
pub fn generate(
    recipe: &Recipe,
    sources: &Sources,
    head: &Head,
    previous: Option<&Packet>,
    count: &dyn Fn(&str) -> Result<Tokens, Error>,
) -> Result<Generated, Error> {
    let gathered = gather::gather(recipe, sources);
    let order = draft::order(&gathered);
    let draft = Draft { recipe, head, previous, gathered: &gathered, order: &order, count };
    let (layers, budget) = (recipe.depth.layers(), recipe.budget);
    let cost = |it: &Statement, text: &str| draft.cost(it, text);
    let mut trimmed = Trimmed::new(&gathered, layers, budget, &cost)?;
    let fixed = draft.measure(&trimmed.emptied())?.1;
    let mut goal = budget;
    for attempt in 0..=ATTEMPTS {
        trimmed.fit(layers, goal, fixed);
        let (packet, tokens) = draft.measure(&trimmed)?;
        if tokens <= budget {
            let (packet, trimmed) = draft.refill(packet, tokens, trimmed)?;
            return draft.finish(packet, &trimmed);
        }
        if trimmed.is_least() {
            return Err(draft.too_small(tokens, &trimmed));
        }
        trimmed.in_words &= attempt == 0;
        let is_last = attempt.saturating_add(1) >= ATTEMPTS;
        goal = if is_last { Tokens(0) } else { goal.minus(tokens.minus(budget)) };
    }
    Err(draft.too_small(fixed, &trimmed))
}

/// Returns one layer of what a packet is made from, at most as large as the layer is meant to be.
///
/// # Errors
///
/// Those of `count`.
pub fn layer(
    recipe: &Recipe,
    sources: &Sources,
    layer: Layer,
    creator: &str,
    count: &dyn Fn(&str) -> Result<Tokens, Error>,
) -> Result<LayerText, Error> {
    let gathered = gather::gather(recipe, sources);
    let head = Head {
        id: None,
        session: None,
        version: 1,
        created: String::new(),
        creator: creator.to_owned(),
    };
    let order = draft::order(&gathered);
    let (head, gathered) = (&head, &gathered);
    let draft = Draft { recipe, head, previous: None, gathered, order: &order, count };
    let layers = [layer];
    let most = layer.target().1;
    let cost = |it: &Statement, text: &str| draft.cost(it, text);
    let mut trimmed = Trimmed::new(gathered, &layers, most, &cost)?;
    let mut goal = most;
    loop {
        trimmed.fit(&layers, goal, Tokens(0));
        let mut packet = draft.packet(&trimmed, &layers);
        packet.not_included.clear();
        let text = packet.fenced();
        let tokens = count(&text)?;
        if tokens <= most || goal.0 == 0 {
            let shown = |place: &usize| trimmed.detail(*place) > Detail::None;
            let is_of = |place: &usize| {
                let it = gathered.statements.get(*place).filter(|it| it.part.layer() == layer);
                it.is_some() && gathered.reasons.get(*place).is_some_and(Option::is_none)
            };
            let all = (0..gathered.statements.len()).filter(|it| is_of(it) && !shown(it));
            let text = if tokens <= most { text } else { String::new() };
            return Ok(LayerText {
                layer,
                tokens: if text.is_empty() { Tokens(0) } else { tokens },
                text,
                left_out: narrow(all.count()),
            });
        }
        goal = goal.minus(tokens.minus(most).plus(Tokens(1)));
    }
}
