//! Describes a selection: the outcome of each item, what remains, and what was lost.

use super::{
    facts::{Fact, Facts},
    narrowed,
    request::{
        Compaction, Coverage, Digest, DigestLine, Fate, Flag, Loss, Remainder, Scored, Snapshot,
    },
    score::{Judgement, is_instruction},
    select::{Choice, Selection},
    validate,
};
use crate::{count::narrow, digest::sha256, extract::Class, item::Item, tokens::Tokens};

/// Describes a selection. `document` is its digest with its tokens, and the last pair the tokens before
/// and the target.
pub(super) fn describe(
    items: &[Item],
    facts: &Facts<'_>,
    judged: &[Judgement],
    chosen: &Selection<'_>,
    document: Option<(String, Tokens)>,
    (before, target): (u64, u64),
) -> Compaction {
    let text = document.as_ref().map(|(text, _)| text.as_str()).unwrap_or_default();
    let proofs = validate::proofs(facts, chosen, text);
    let digest_tokens = document.as_ref().map_or(Tokens(0), |(_, tokens)| *tokens);
    let mut remainders = Vec::new();
    let mut scored = Vec::with_capacity(items.len());
    let mut coverage = Coverage::default();
    let (mut whole, mut after, mut leading, mut removed) =
        (0_u64, u64::from(digest_tokens.0), 0, 0);
    let mut is_leading = true;
    for (place, (item, judgement)) in items.iter().zip(judged).enumerate() {
        let fate = match chosen.choice(place) {
            Choice::Whole if chosen.part(place).is_none() => Fate::Kept,
            Choice::Whole | Choice::Part => Fate::Condensed,
            Choice::Gone if facts.of(place).iter().any(|it| chosen.is_digested(it.group)) => {
                Fate::Digested
            }
            Choice::Gone => Fate::Removed,
        };
        let part = chosen.part(place);
        let tokens = part.map_or(item.tokens, |it| it.tokens);
        let counter = match fate {
            Fate::Kept => &mut coverage.kept,
            Fate::Condensed | Fate::Digested => &mut coverage.in_part,
            Fate::Removed => &mut coverage.removed,
        };
        *counter = counter.saturating_add(1);
        if chosen.choice(place) == Choice::Gone {
            let is_lost = judgement.scored.score == 100 && judgement.scored.rule != "own_digest";
            removed = usize::saturating_add(removed, usize::from(is_lost));
        } else {
            is_leading = is_leading && is_instruction(item);
            leading = usize::saturating_add(leading, usize::from(is_leading));
            after = after.saturating_add(tokens.0.into());
            let text = part.map(|it| it.text.clone());
            remainders.push(Remainder { item: place, text, tokens });
        }
        if chosen.choice(place) == Choice::Whole {
            whole = whole.saturating_add(item.tokens.0.into());
        }
        scored.push(Scored { fate, ..judgement.scored.clone() });
    }
    let last = stands_behind(facts, chosen);
    let behind = remainders.iter().filter(|it| last.is_some_and(|last| it.item <= last)).count();
    let share = |part: u64| part.saturating_mul(100).checked_div(before).unwrap_or(0);
    coverage.percent_kept = u8::try_from(share(whole)).unwrap_or(100);
    let saved = share(before.saturating_sub(after));
    let digest =
        document.map(|(text, tokens)| Digest { text, tokens, lines: lines(facts, chosen) });
    let results = remainders.len().saturating_add(usize::from(digest.is_some()));
    Compaction {
        target: narrowed(target),
        before: snapshot(facts, before, items.len(), &|_| true),
        after: snapshot(facts, after, results, &|it| proofs.get(it).copied().unwrap_or(false)),
        scored,
        remainders,
        digest,
        digest_before: leading.max(behind),
        losses: losses(facts, &proofs),
        coverage,
        findings: validate::findings(facts, &proofs, saved, removed),
        flags: flags(before, after, target, saved),
    }
}

/// Returns the last item that the digest stands behind, besides those that instruct all others: one
/// that says what a line of the digest replaces, and what belongs to its unit. Else the next
/// compaction would take the earlier value for the later one.
fn stands_behind(facts: &Facts<'_>, chosen: &Selection<'_>) -> Option<usize> {
    let again = chosen.digested().into_iter().filter_map(|it| facts.of_group(it));
    let again = again.filter(|it| it.is_changed_back).map(|it| it.item);
    // An earlier digest stands where it does for the same reason.
    let own = chosen.judged.iter().rposition(|it| it.scored.rule == "own_digest");
    let own = own.filter(|it| chosen.choice(*it) == Choice::Gone);
    let behind = again.chain(own).max().unwrap_or(0);
    let mut last = None;
    for (place, unit) in chosen.units.iter().enumerate() {
        let is_gone = |it: usize| chosen.choice(it) != Choice::Whole;
        let mut own = facts.of(place).iter();
        let is_replaced = own.any(|it| it.replaced_in.iter().any(|it| is_gone(*it)));
        let is_divided = last.is_some_and(|it| *unit <= it);
        let is_before = place < behind;
        if chosen.choice(place) != Choice::Gone && (is_replaced || is_divided || is_before) {
            last = Some(place);
        }
    }
    last
}

fn flags(before: u64, after: u64, target: u64, saved: u64) -> Vec<Flag> {
    let mut flags = Vec::new();
    if saved > 50 {
        flags.push(Flag::OverAggressive);
    }
    if after < before && saved < 20 {
        flags.push(Flag::UnderTarget);
    }
    if before <= target {
        flags.push(Flag::NothingToGain);
    }
    flags
}

/// Returns the lines of the digest.
fn lines(facts: &Facts<'_>, chosen: &Selection<'_>) -> Vec<DigestLine> {
    let facts = chosen.digested().into_iter().filter_map(|it| facts.of_group(it));
    facts
        .map(|fact| DigestLine {
            section: fact.section(),
            text: fact.text.to_owned(),
            digest: sha256(fact.text),
            source: fact.source.clone(),
            authority: fact.authority,
            item: fact.item,
        })
        .collect()
}

/// Counts a conversation. `is_there` returns true for each group of facts that it has.
fn snapshot(
    facts: &Facts<'_>,
    tokens: u64,
    items: usize,
    is_there: &dyn Fn(usize) -> bool,
) -> Snapshot {
    let of = |class: Class| {
        let groups = (0..facts.groups.len()).filter(|it| is_there(*it));
        let found = groups.filter_map(|it| facts.of_group(it));
        // Decisions and issues of third parties do not count.
        let counts = |it: &&Fact<'_>| class == Class::Modification || it.is_required();
        let found = found.filter(|it| it.class == class && it.holds && !it.is_resolved);
        narrow(found.filter(counts).count())
    };
    Snapshot {
        tokens: narrowed(tokens),
        items: narrow(items),
        decisions: of(Class::Decision),
        issues: of(Class::Issue),
        files: of(Class::Modification),
    }
}

/// Returns the classes of which facts were lost.
fn losses(facts: &Facts<'_>, proofs: &[bool]) -> Vec<Loss> {
    let loss = |class: Class| {
        let (mut before, mut after) = (0_u32, 0_u32);
        for (group, is_there) in proofs.iter().enumerate() {
            if facts.of_group(group).is_some_and(|it| it.class == class && !it.is_settlement) {
                before = before.saturating_add(1);
                after = after.saturating_add(u32::from(*is_there));
            }
        }
        Loss { class, before, after }
    };
    Class::ALL.into_iter().map(loss).filter(|it| it.after < it.before).collect()
}
