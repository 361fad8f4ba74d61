//! The facts of a conversation as a compaction sees them: those that were extracted, and the lines
//! of earlier digests.
//!
//! # Invariant
//!
//! Each fact belongs to a group: the facts with the same text. The result of a compaction needs the
//! text of a group once.

use std::collections::BTreeMap;

use super::{
    digest::{self, Line, Section},
    widen::widened,
};
use crate::{
    extract::{
        Class, Extraction, MODIFICATIONS_KEPT, Place, Report, Severity, Status, holders,
        is_repeated,
    },
    item::{Authority, Item, Kind, ListedKind},
};

/// The score of a fact that no compaction may lose.
const REQUIRED: u8 = 100;
/// The score of a line of an earlier digest that is kept while there is room.
const OPTIONAL: u8 = 60;
/// The score of a modification that is not one of the last.
const EARLIER_MODIFICATION: u8 = 40;
/// A goal with a mark, such as `Success criteria:`, has its colon within these characters.
const GOAL_MARK_CHARS: usize = 24;

/// A fact, or a line of an earlier digest.
#[expect(clippy::struct_excessive_bools, reason = "each says another thing of the fact")]
#[derive(Debug, Clone)]
pub(super) struct Fact<'a> {
    /// The place of its item.
    pub(super) item: usize,
    /// Its text.
    pub(super) text: &'a str,
    /// Its class.
    pub(super) class: Class,
    /// Its score.
    pub(super) score: u8,
    /// True if it holds: no later fact replaces it.
    pub(super) holds: bool,
    /// The items that must stay behind it: that of the fact that holds in its place, if its text is
    /// another, and that of what settled it.
    pub(super) replaced_in: Vec<usize>,
    /// True if a fact with another text came after it, even if one with its own text holds now.
    is_stale: bool,
    /// True if it holds again after something else did.
    pub(super) is_changed_back: bool,
    /// True if it is a sentence that settled issues. The result needs it with the issues only.
    pub(super) is_settlement: bool,
    /// True if it is an issue that is resolved.
    pub(super) is_resolved: bool,
    /// Where it was said first: an item and a line in it, from 1.
    pub(super) source: String,
    /// The authority of its source.
    pub(super) authority: Authority,
    /// The severity of an issue.
    pub(super) severity: Option<Severity>,
    /// True if its author is named.
    pub(super) has_author: bool,
    /// The number of its group.
    pub(super) group: usize,
}

/// The facts of a conversation.
#[derive(Debug, Default)]
pub(super) struct Facts<'a> {
    /// The facts, in the order of their items.
    pub(super) all: Vec<Fact<'a>>,
    /// For each group, the place of its first fact in `all`, or of its first one that must be kept.
    pub(super) groups: Vec<usize>,
    /// For each group, those of the issues that it settled.
    pub(super) settles: Vec<Vec<usize>>,
    /// For each group of issues, those of what settled them.
    pub(super) settled_by: Vec<Vec<usize>>,
    /// For each item, the places of its facts in `all`.
    of_item: Vec<std::ops::Range<usize>>,
    /// For each extracted fact, its place in `all`, or that of the line of a digest that it is in.
    extracted: Vec<Option<usize>>,
    /// For each settlement, the same.
    settlements: Vec<Option<usize>>,
}

impl Fact<'_> {
    /// Returns true if no compaction may lose the fact.
    pub(super) fn is_required(&self) -> bool {
        self.holds && self.score == REQUIRED
    }

    /// Returns true if the fact is worth a line of the digest while there is room.
    pub(super) fn is_optional(&self) -> bool {
        self.holds && (OPTIONAL..REQUIRED).contains(&self.score)
    }

    /// Returns its section in a digest. A settlement stands behind its issue.
    pub(super) fn section(&self) -> Section {
        if self.is_settlement { Section::Issues } else { digest::section(self.class) }
    }

    /// Returns the fact as a line of a digest.
    pub(super) fn line(&self) -> Line<'_> {
        Line {
            section: self.section(),
            text: self.text,
            source: &self.source,
            authority: self.authority,
            is_required: self.is_required(),
        }
    }
}

impl<'a> Facts<'a> {
    /// Collects the facts of `items`. Of an earlier digest, its lines are the facts.
    pub(super) fn new(items: &'a [Item], extraction: &'a Extraction) -> Self {
        let mut facts = Self::default();
        facts.extracted.resize(extraction.facts.len(), None);
        facts.settlements.resize(extraction.reports.len(), None);
        let holders = holders(&extraction.facts);
        let mut from = 0;
        let mut settlement = 0;
        for (place, item) in items.iter().enumerate() {
            let start = facts.all.len();
            let is_own = |it: &crate::extract::Fact| it.place.item <= place;
            let count = extraction.facts.iter().skip(from).take_while(|it| is_own(it)).count();
            let own = from..from.saturating_add(count);
            from = own.end;
            if digest::is_own(item) {
                facts.push_digest(place, item, (own, settlement), extraction);
            } else {
                let of_item = (own, settlement);
                settlement = facts.push_extracted(place, item, of_item, (extraction, &holders));
            }
            settlement = facts.push_settlements(settlement, item, extraction, (place, usize::MAX));
            facts.of_item.push(start..facts.all.len());
        }
        facts.demote_later_goal(items);
        facts.age_modifications();
        let settled = facts.settled(extraction, &holders);
        facts.group();
        facts.relate(&settled);
        facts
    }

    /// Returns the facts of an item.
    pub(super) fn of(&self, item: usize) -> &[Fact<'a>] {
        let range = self.of_item.get(item).cloned().unwrap_or_default();
        self.all.get(range).unwrap_or_default()
    }

    /// Returns the fact that represents a group.
    pub(super) fn of_group(&self, group: usize) -> Option<&Fact<'a>> {
        self.all.get(*self.groups.get(group)?)
    }

    fn push_extracted(
        &mut self,
        place: usize,
        item: &'a Item,
        (own, mut settlement): (std::ops::Range<usize>, usize),
        (extraction, holders): (&'a Extraction, &[usize]),
    ) -> usize {
        for nth in own {
            let Some(fact) = extraction.facts.get(nth).filter(|it| !it.text.is_empty()) else {
                continue;
            };
            let until = (place, fact.place.start);
            settlement = self.push_settlements(settlement, item, extraction, until);
            let holder = holders.get(nth).and_then(|it| extraction.facts.get(*it));
            let holder = holder.filter(|it| it.text != fact.text);
            if let Some(it) = self.extracted.get_mut(nth) {
                *it = Some(self.all.len());
            }
            self.all.push(Fact {
                item: place,
                text: widened(item.text().unwrap_or_default(), fact),
                class: fact.class,
                score: fact.score,
                holds: holds(fact),
                replaced_in: holder.into_iter().map(|it| it.place.item).collect(),
                is_stale: is_stale(fact, extraction),
                // An issue that is found after a fix is another one.
                is_changed_back: extraction.reported.get(nth).is_some_and(|it| it.is_before),
                is_settlement: false,
                is_resolved: fact.class == Class::Issue && fact.status == Status::Resolved,
                source: source(&item.id, fact.place.line.saturating_add(1)),
                authority: fact.authority,
                severity: fact.severity,
                has_author: fact.made_by.is_some(),
                group: 0,
            });
        }
        settlement
    }

    /// Adds the sentences that settled issues from the `next` on, up to an item and a byte in it. Returns
    /// the place of the next one.
    fn push_settlements(
        &mut self,
        mut next: usize,
        item: &'a Item,
        extraction: &Extraction,
        until: (usize, usize),
    ) -> usize {
        while let Some(it) = extraction.reports.get(next) {
            if (it.place.item, it.place.start) >= until {
                break;
            }
            if it.is_known {
                self.push_settlement(next, item, it);
            }
            next = next.saturating_add(1);
        }
        next
    }

    /// Adds a sentence that settled issues, unless it is in the line of a digest that is known.
    fn push_settlement(&mut self, nth: usize, item: &'a Item, settlement: &Report) {
        if self.settlements.get(nth).is_none_or(Option::is_some) {
            return;
        }
        let place = settlement.place;
        let text = item.text().and_then(|it| it.get(place.start..place.end)).unwrap_or_default();
        if let Some(it) = self.settlements.get_mut(nth) {
            *it = Some(self.all.len());
        }
        self.all.push(Fact {
            item: place.item,
            text,
            class: Class::State,
            score: 0,
            holds: true,
            replaced_in: Vec::new(),
            is_stale: false,
            is_changed_back: settlement.is_again,
            is_settlement: true,
            is_resolved: false,
            source: source(&item.id, place.line.saturating_add(1)),
            authority: settlement.by,
            severity: None,
            has_author: false,
            group: 0,
        });
    }

    /// Adds the lines of an earlier digest. What was extracted from them says only which of them a
    /// later item replaces.
    fn push_digest(
        &mut self,
        place: usize,
        item: &'a Item,
        (own, settlement): (std::ops::Range<usize>, usize),
        extraction: &Extraction,
    ) {
        let document = item.text().unwrap_or_default();
        // A digest that was possibly edited gives its lines no more authority than it has itself.
        let is_proven = digest::id(document) == item.id;
        let least = if is_proven { Authority::User } else { item.source.authority };
        for (start, line) in digest::read(document) {
            if line.text.is_empty() {
                continue;
            }
            let end = start.saturating_add(line.text.len()).saturating_add(line.source.len());
            let is_inside = |it: &Place| it.item == place && (start..=end).contains(&it.start);
            let mut is_settlement = false;
            let settlements = extraction.reports.iter().skip(settlement);
            let settlements = settlements.take_while(|it| it.place.item == place);
            for (it, known) in settlements.zip(self.settlements.iter_mut().skip(settlement)) {
                if is_inside(&it.place) {
                    is_settlement = !line.is_required;
                    *known = Some(self.all.len());
                }
            }
            // A goal of several lines may have a decision in it. Whoever repeats the decision does not
            // replace the goal.
            let mut is_replaced = false;
            let mut known = None;
            for nth in own.clone() {
                let Some(it) = extraction.facts.get(nth).filter(|it| is_inside(&it.place)) else {
                    continue;
                };
                if digest::section(it.class) != line.section {
                    continue;
                }
                if let Some(known) = self.extracted.get_mut(nth) {
                    *known = Some(self.all.len());
                }
                let by = it.superseded_by.and_then(|it| extraction.facts.get(it));
                is_replaced |= by.is_some_and(|it| it.place.item > place);
                known = known.or(Some(it));
            }
            let is_stale = known.is_some_and(|it| is_stale(it, extraction));
            // An issue that is done for long goes from the digest, too.
            let is_old = known.is_some_and(|it| it.class == Class::Issue && it.score < OPTIONAL);
            let score = if line.is_required { REQUIRED } else { OPTIONAL };
            self.all.push(Fact {
                item: place,
                text: line.text,
                class: known.map_or_else(|| digest::class(line.section), |it| it.class),
                score: if is_old || is_settlement { 0 } else { score },
                holds: !is_replaced,
                replaced_in: Vec::new(),
                is_stale,
                is_changed_back: false,
                is_settlement,
                is_resolved: known.is_some_and(|it| it.status == Status::Resolved),
                source: line.source.to_owned(),
                authority: line.authority.max(least),
                severity: known.and_then(|it| it.severity),
                has_author: known.is_some_and(|it| it.made_by.is_some()),
                group: 0,
            });
        }
    }

    /// Lowers the score of the first message that a user still has, where an earlier digest knows the
    /// goal: without a mark it is taken for the goal only because the first message went.
    fn demote_later_goal(&mut self, items: &[Item]) {
        let user = Kind::Listed(ListedKind::UserMessage);
        let Some(first) = items.iter().position(|it| it.kind == user) else { return };
        let is_goal = |it: &Fact<'_>| it.class == Class::Goal && it.is_required();
        let has_goal =
            |it: &Fact<'_>| items.get(it.item).is_some_and(digest::is_own) && is_goal(it);
        if !self.all.iter().any(has_goal) {
            return;
        }
        for fact in self.all.iter_mut().filter(|it| it.item == first && is_goal(it)) {
            let is_marked = fact.text.chars().take(GOAL_MARK_CHARS).any(|it| it == ':');
            if !is_marked {
                fact.score = OPTIONAL;
            }
        }
    }

    /// Lowers the score of all modifications but the last ones: earlier digests have the last ones
    /// of their time.
    fn age_modifications(&mut self) {
        let recent = self.all.iter_mut().rev();
        let recent = recent.filter(|it| it.class == Class::Modification && it.is_required());
        for fact in recent.skip(MODIFICATIONS_KEPT) {
            fact.score = EARLIER_MODIFICATION;
        }
    }

    /// Returns the places of issues and of what settled them, and marks issues that are not open any
    /// more, or again, since they were settled.
    fn settled(&mut self, extraction: &Extraction, holders: &[usize]) -> Vec<(usize, usize)> {
        let of = |nth: usize| extraction.reported.get(nth).and_then(|it| it.by);
        let mut settled = Vec::new();
        for (nth, holder) in holders.iter().enumerate() {
            let Some(issue) = self.extracted.get(nth).copied().flatten() else { continue };
            let Some(fact) = self.all.get_mut(issue).filter(|_| of(nth).is_some()) else {
                continue;
            };
            // The same issue was found again. If that one is open, this is another; else what settled
            // that one settled this one, too.
            let by = of(*holder).and_then(|it| self.settlements.get(it).copied().flatten());
            fact.is_stale |= of(*holder).is_none();
            let Some(by) = by else { continue };
            settled.push((issue, by));
            let item = self.all.get(by).map(|it| it.item);
            if let Some(fact) = self.all.get_mut(issue) {
                fact.replaced_in.extend(item);
            }
        }
        settled
    }

    /// Numbers the groups. A fact that must be kept represents its group before any other.
    fn group(&mut self) {
        let mut known: BTreeMap<(&str, bool, usize), usize> = BTreeMap::new();
        for (place, fact) in self.all.iter_mut().enumerate() {
            let next = self.groups.len();
            // `It is fixed.` is of what was found before it, each time that it is said.
            let own = if fact.is_settlement { place } else { usize::MAX };
            fact.group = *known.entry((fact.text, fact.is_stale, own)).or_insert(next);
            if fact.group == next {
                self.groups.push(place);
            }
        }
        let mut has_required = vec![false; self.groups.len()];
        for (place, fact) in self.all.iter_mut().enumerate().filter(|(_, it)| it.is_required()) {
            fact.is_changed_back |= known.contains_key(&(fact.text, true, usize::MAX));
            let Some(has) = has_required.get_mut(fact.group) else { continue };
            if !std::mem::replace(has, true)
                && let Some(it) = self.groups.get_mut(fact.group)
            {
                *it = place;
            }
        }
    }

    /// Relates the groups of issues and of what settled them.
    fn relate(&mut self, settled: &[(usize, usize)]) {
        self.settles.resize(self.groups.len(), Vec::new());
        self.settled_by.resize(self.groups.len(), Vec::new());
        let group = |place: usize| self.all.get(place).map(|it| it.group);
        for (issue, by) in settled {
            let Some((issue, by)) = group(*issue).zip(group(*by)) else { continue };
            let rows = self.settles.get_mut(by).zip(self.settled_by.get_mut(issue));
            if let Some((settles, settled_by)) =
                rows.filter(|it| issue != by && !it.0.contains(&issue))
            {
                settles.push(issue);
                settled_by.push(by);
            }
        }
    }
}

/// Returns true if a fact with another text replaced a fact, even if one with its own text holds now.
fn is_stale(fact: &crate::extract::Fact, extraction: &Extraction) -> bool {
    let mut next = fact.superseded_by;
    while let Some(by) = next.and_then(|it| extraction.facts.get(it)) {
        if !is_repeated(by, fact) {
            return true;
        }
        next = by.superseded_by;
    }
    false
}

fn holds(fact: &crate::extract::Fact) -> bool {
    fact.superseded_by.is_none() && fact.status != Status::Superseded
}

fn source(id: &str, line: u32) -> String {
    [id, ":", &line.to_string()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::Place;

    fn extracted(item: usize, start: usize, class: Class, text: &str) -> crate::extract::Fact {
        let end = start + text.len();
        crate::extract::Fact {
            class,
            score: 100,
            text: text.to_owned(),
            place: Place { item, line: 0, start, end, char_start: 0, char_end: 0 },
            details: Vec::new(),
            id: None,
            severity: None,
            status: Status::Open,
            said_at: None,
            made_by: None,
            authority: Authority::User,
            digest: crate::digest::sha256(text),
            superseded_by: None,
        }
    }

    fn required(items: &[Item], facts: Vec<crate::extract::Fact>) -> Vec<(String, String)> {
        let extraction = Extraction { facts, ..Extraction::default() };
        let facts = Facts::new(items, &extraction);
        let groups = (0..facts.groups.len()).filter_map(|it| facts.of_group(it));
        let required = groups.filter(|it| it.is_required());
        required.map(|it| (it.text.to_owned(), it.source.clone())).collect()
    }

    fn pair(text: &str, source: &str) -> (String, String) {
        (text.to_owned(), source.to_owned())
    }

    #[test]
    fn an_earlier_digest_is_read_again() {
        let document = "# Compacted context\n\n## Decisions\n- Use A [m1:1]\n- Use B [m1:2]\n\
                        * Use C [m1:3]";
        let kind = |it| Kind::Listed(it);
        let mut digest = Item::inline("old", kind(ListedKind::ComputedSummary), document);
        digest.source.authority = Authority::Model;
        let later = Item::inline("m2", kind(ListedKind::UserMessage), "Use A2");
        let mut replaced =
            extracted(0, document.find("Use A").unwrap_or(0), Class::Decision, "Use A");
        replaced.superseded_by = Some(1);
        let facts = vec![replaced, extracted(1, 0, Class::Decision, "Use A2")];
        assert_eq!(
            required(&[digest, later], facts),
            [pair("Use B", "m1:2"), pair("Use A2", "m2:1")],
            "what a later item replaces goes, and what may go first may go"
        );
    }

    #[test]
    fn only_the_last_modifications_are_never_lost() {
        let text = |it: usize| format!("Modified: {it}.rs");
        let items: Vec<Item> = (0..7)
            .map(|it| Item::inline(it.to_string(), Kind::Listed(ListedKind::ToolResult), text(it)))
            .collect();
        let facts = (0..7).map(|it| extracted(it, 0, Class::Modification, &text(it))).collect();
        let found = required(&items, facts);
        assert_eq!(found.len(), MODIFICATIONS_KEPT);
        assert_eq!(found.first(), Some(&pair("Modified: 2.rs", "2:1")));
    }

    /// The first message of a user was mistaken for the goal. It went into the digest, so the next
    /// one was the first, and each round added a goal.
    #[test]
    fn a_goal_is_not_replaced_by_the_next_message() {
        let kind = |it| Kind::Listed(it);
        let document = "# Compacted context\n\n## Goal\n- Sell bread. [m0:1]";
        let digest = Item::inline("old", kind(ListedKind::ComputedSummary), document);
        for (text, count) in [("Go on with it.", 1), ("Goal: sell cake", 2)] {
            let next = Item::inline("m1", kind(ListedKind::UserMessage), text);
            let items = [digest.clone(), next];
            let found = required(&items, vec![extracted(1, 0, Class::Goal, text)]);
            assert_eq!(found.len(), count, "{found:?}");
        }
    }

    /// A goal of two lines went when the decision in its second line was repeated later: the goal of
    /// the conversation was lost, and a later message took its place.
    #[test]
    fn a_goal_stays_when_a_decision_in_it_is_repeated() {
        let kind = |it| Kind::Listed(it);
        let goal = "Build the shop.\nDECISION: Use A";
        let document = ["# Compacted context\n\n## Goal\n- [m0:1, 2 lines]\n", goal].concat();
        let mut inside = extracted(
            0,
            document.find("DECISION").unwrap_or(0),
            Class::Decision,
            "DECISION: Use A",
        );
        inside.superseded_by = Some(1);
        let digest = Item::inline("old", kind(ListedKind::ComputedSummary), document);
        let later = Item::inline("m1", kind(ListedKind::SessionHistory), "DECISION: Use A");
        let facts = vec![inside, extracted(1, 0, Class::Decision, "DECISION: Use A")];
        let expected = [pair(goal, "m0:1"), pair("DECISION: Use A", "m1:1")];
        assert_eq!(required(&[digest, later], facts), expected);
    }

    #[test]
    fn a_text_is_kept_once() {
        let items = ["a", "b"]
            .map(|it| Item::inline(it, Kind::Listed(ListedKind::UserMessage), "Never log keys"));
        let fact = |item| extracted(item, 0, Class::Constraint, "Never log keys");
        let mut first = fact(0);
        first.superseded_by = Some(1);
        assert_eq!(required(&items, vec![first, fact(1)]), [pair("Never log keys", "b:1")]);
    }
}
