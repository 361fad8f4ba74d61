//! Writes a packet from the trimmed candidates, and measures it.

use super::{
    document::{SIZES, text_of},
    gather::Gathered,
    generate::{Candidate, Generated, Head},
    kinds::{Depth, Form, Layer, MadeBy, Part},
    packet::{Change, Packet, TokenCount},
    recipe::Recipe,
    render,
    request::VERSIONS_KEPT,
    stale::change,
    statement::{Origin, Statement},
    trim::{Detail, Trimmed, shown},
    yaml,
};
use crate::{
    Error,
    budget::{Omission, Reason},
    count::widen,
    order::{entry, sorted},
    tokens::Tokens,
};

/// A packet that is being made.
pub(super) struct Draft<'a> {
    pub(super) recipe: &'a Recipe,
    pub(super) head: &'a Head,
    pub(super) previous: Option<&'a Packet>,
    pub(super) gathered: &'a Gathered,
    /// The places of the candidates, in the order of the packet.
    pub(super) order: &'a [usize],
    pub(super) count: &'a dyn Fn(&str) -> Result<Tokens, Error>,
}

impl Draft<'_> {
    /// Returns the cost of a statement with this text in the form of the packet.
    pub(super) fn cost(&self, it: &Statement, text: &str) -> Result<Tokens, Error> {
        let shorter = Statement { text: text.to_owned(), ..it.clone() };
        (self.count)(&render::element(&shorter, self.recipe.form, &self.head.creator))
    }

    /// Returns the packet with its sizes and its checksum, and its size in the form that counts.
    pub(super) fn measure(&self, trimmed: &Trimmed) -> Result<(Packet, Tokens), Error> {
        let mut packet = self.packet(trimmed, self.recipe.depth.layers());
        packet.checksum = packet.sum();
        let tokens = match self.recipe.form {
            Form::Markdown => (self.count)(&packet.render(Form::Markdown))?,
            form => {
                packet.count(self.count)?;
                packet.token_count.of(form)
            }
        };
        Ok((packet, tokens))
    }

    /// Uses what is left of the budget.
    pub(super) fn refill(
        &self,
        packet: Packet,
        tokens: Tokens,
        trimmed: Trimmed,
    ) -> Result<(Packet, Trimmed), Error> {
        let budget = self.recipe.budget;
        let mut best = (packet, trimmed);
        let mut more = best.1.clone();
        if more.refill(budget.minus(tokens)) {
            let (packet, tokens) = self.measure(&more)?;
            if tokens <= budget {
                best = (packet, more);
            }
        }
        // Costs are estimates, and what is shown need not be counted as left out: the next ones are
        // tried.
        for nth in 0..TRIES {
            let mut more = best.1.clone();
            if !more.show_next(nth) {
                break;
            }
            let (packet, tokens) = self.measure(&more)?;
            if tokens <= budget {
                best = (packet, more);
            }
        }
        Ok(best)
    }

    /// Returns the packet with what is shown of the candidates.
    pub(super) fn packet(&self, trimmed: &Trimmed, layers: &[Layer]) -> Packet {
        let Self { recipe, head, .. } = self;
        let shown = self.order.iter().filter_map(|place| {
            let detail = trimmed.detail(*place);
            let it = self.gathered.statements.get(*place)?;
            (detail > Detail::None).then(|| told(it, detail))
        });
        let mut packet = Packet {
            id: head.id.clone(),
            session: head.session.clone(),
            address: recipe.address.clone(),
            version: head.version,
            created: head.created.clone(),
            creator: head.creator.clone(),
            target_task: recipe.task.clone(),
            task_type: recipe.task_type.clone(),
            depth: recipe.depth,
            layers: layers.to_vec(),
            statements: shown.collect(),
            not_included: self.not_included(trimmed),
            links: recipe.links.clone(),
            changelog: Vec::new(),
            checksum: String::new(),
            token_count: TokenCount::default(),
        };
        packet.changelog = changelog(self.previous, &packet);
        packet
    }

    /// Creates the error for a packet that does not fit its budget even with nothing but its task. It
    /// names the first form and depth in which it would.
    pub(super) fn too_small(&self, needed: Tokens, trimmed: &Trimmed) -> Error {
        let Recipe { budget, form, depth, .. } = *self.recipe;
        let others =
            [(form, Depth::Minimal), (Form::Markdown, depth), (Form::Markdown, Depth::Minimal)];
        let fits = |it: &(Form, Depth)| {
            let recipe = Recipe { form: it.0, depth: it.1, ..self.recipe.clone() };
            let least = Draft { recipe: &recipe, ..*self }.measure(&trimmed.least());
            least.is_ok_and(|it| it.1 <= budget)
        };
        let fits = others.into_iter().find(fits);
        let fits = fits.map(|(form, depth)| (form.as_str(), depth.as_str()));
        Error::PacketTooSmall { budget, needed, form: form.as_str(), fits, is_edited: false }
    }

    /// Returns the parts that were left out, as text where the specification has a text, else as
    /// counts.
    fn not_included(&self, trimmed: &Trimmed) -> Vec<String> {
        let Gathered { statements, reasons, messages } = self.gathered;
        let mut files: u32 = 0;
        let mut others: u32 = 0;
        let mut counts: Vec<(Part, u32)> = Vec::new();
        for (place, it) in statements.iter().enumerate() {
            match reasons.get(place).copied().flatten() {
                Some((Reason::Irrelevant, _)) if it.part == Part::File => files += 1,
                Some((Reason::Irrelevant, _)) => others += 1,
                None if trimmed.detail(place) == Detail::None => {
                    entry(&mut counts, it.part, |count| *count = count.saturating_add(1));
                }
                _ => {}
            }
        }
        let mut notes = Vec::new();
        let (talk, code, other) = if trimmed.in_words {
            (
                "Full conversation history",
                "Unrelated codebase exploration",
                "Statements about other tasks",
            )
        } else {
            ("messages", "unrelated files", "other statements")
        };
        let mut note = |name: &str, count: u32| {
            if count > 0 {
                let words = format!("{name} ({count})");
                notes.push(if trimmed.in_words { words } else { format!("{count} {name}") });
            }
        };
        note(talk, *messages);
        note(code, files);
        note(other, others);
        let counts: Vec<String> = counts
            .iter()
            .map(|(part, count)| format!("{count} {}", render::title(*part)))
            .collect();
        if !counts.is_empty() {
            notes.push(counts.join(", "));
        }
        notes
    }

    /// Returns the packet with a report on each candidate.
    pub(super) fn finish(&self, mut packet: Packet, trimmed: &Trimmed) -> Result<Generated, Error> {
        packet.count(self.count)?;
        let id = |place: usize| format!("c{}", place.saturating_add(1));
        let mut omitted = Vec::new();
        let mut candidates = Vec::new();
        for (place, statement) in self.gathered.statements.iter().enumerate() {
            let is_included = trimmed.detail(place) > Detail::None;
            if !is_included {
                let reason = self.gathered.reasons.get(place).copied().flatten();
                let deeper = || {
                    let is_shown = self.recipe.depth.layers().contains(&statement.part.layer());
                    (if is_shown { Reason::OverBudget } else { Reason::OnDemand }, None)
                };
                let (reason, other) = reason.unwrap_or_else(deeper);
                omitted.push(Omission { other: other.map(id), ..Omission::new(id(place), reason) });
            }
            candidates.push(Candidate { id: id(place), statement: statement.clone(), is_included });
        }
        let before =
            self.gathered.statements.iter().filter(|it| {
                !matches!(it.source.origin, Origin::Item { .. } | Origin::File { .. })
            });
        let mut sum = self.recipe.tokens;
        for it in before {
            sum = sum.plus((self.count)(&it.whole())?);
        }
        Ok(Generated { packet, omitted, candidates, before: sum })
    }
}

/// Returns the places of the candidates in the order of the packet: part by part, what was given and
/// stored as it is, what was said in its order.
pub(super) fn order(gathered: &Gathered) -> Vec<usize> {
    let all: Vec<usize> = (0..gathered.statements.len()).collect();
    let key = |place: &usize| {
        let it = gathered.statements.get(*place)?;
        Some((it.part, it.source.origin.precedence(), it.rank))
    };
    sorted(all, |a, b| key(a).cmp(&key(b)))
}

/// Returns a statement as a packet has it.
fn told(it: &Statement, detail: Detail) -> Statement {
    let is_decision = it.part == Part::Decision;
    let has_detail = detail == Detail::Full && it.part.members().is_some();
    let mut told = Statement::new(it.part, shown(it, detail), it.source.clone());
    told.detail = it.detail.clone().filter(|_| has_detail);
    if is_decision {
        told.made_by = Some(it.made_by.unwrap_or(MadeBy::Agent));
        told.merged_from.clone_from(&it.merged_from);
    }
    told
}

/// Returns the changes of the versions so far, and of this one.
pub(super) fn changelog(previous: Option<&Packet>, packet: &Packet) -> Vec<Change> {
    let mut changes = previous.map_or_else(Vec::new, |it| it.changelog.clone());
    changes.push(Change { version: packet.version, text: change(previous, packet) });
    let surplus = changes.len().saturating_sub(widen(VERSIONS_KEPT));
    changes.drain(..surplus);
    changes
}

impl Packet {
    /// Counts the packet in each form. The document contains its sizes, so they are counted until
    /// they agree.
    pub(super) fn count(
        &mut self,
        count: &dyn Fn(&str) -> Result<Tokens, Error>,
    ) -> Result<(), Error> {
        self.token_count.markdown = count(&self.render(Form::Markdown))?;
        // Most sizes have four digits: the first guess has them, too.
        self.token_count.json = Tokens(1_000);
        self.token_count.yaml = Tokens(1_000);
        let mut value = self.value();
        for _ in 0..COUNTINGS {
            if let Some(it) = value.get_mut(SIZES) {
                *it = self.sizes();
            }
            let json = count(&text_of(&value))?;
            let yaml = count(&yaml::write(&value))?;
            let is_stable = (self.token_count.json, self.token_count.yaml) == (json, yaml);
            self.token_count.json = json;
            self.token_count.yaml = yaml;
            if is_stable {
                break;
            }
        }
        Ok(())
    }
}

/// The number of candidates that are tried one by one when a packet is nearly full.
const TRIES: usize = 2;
/// The most times that the sizes within the document itself are counted.
const COUNTINGS: u32 = 4;
