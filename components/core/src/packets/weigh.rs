//! Weighs what was said without a label: how far a statement binds who does the task, by its words
//! (spec 18.3).
//!
//! People mix rules and choices with remarks. What names a number, a path or a code, forbids, chooses
//! or corrects something, or was agreed to, binds. What is about the speaker, or long, does less.

use super::{
    cues::{self, Lower},
    statement::{BINDING, PASSING, Statement},
};
use crate::extract::claim::{Token, TokenKind};

/// Each of these numbers of words takes a point: what binds is said in few.
const LONG: [usize; 3] = [18, 28, 40];

/// What is known of a statement besides its words.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Known {
    /// True if a person agreed to it.
    pub(super) is_agreed: bool,
    /// True if the extraction of facts found a phrase for it.
    pub(super) is_marked: bool,
    /// True if it answers a question with which it has nothing in common.
    pub(super) is_astray: bool,
}

/// Sets the weight of a statement by a sentence and its tokens.
pub(super) fn weigh(it: &mut Statement, lower: &Lower, read: &[Token], known: Known) {
    let hard = || read.iter().filter(|it| it.kind == TokenKind::Hard);
    let is_exact = hard().any(|it| it.form.contains(|c: char| !c.is_alphabetic()));
    let is_named = hard().next().is_some();
    let is_remark = cues::is_personal(lower) || cues::narrates(lower);
    let for_it: [(bool, u8); 9] = [
        (is_exact, 3),
        (is_named && !is_exact, 1),
        (cues::rules(lower), 1),
        (cues::forbids(lower), 2),
        (cues::chooses(lower), 2),
        (cues::corrects(lower), 2),
        (cues::opens_with_cue(lower), 1),
        // Not 2: what a person says in words of its own goes first.
        (known.is_agreed, 1),
        (known.is_marked, 3),
    ];
    let length = LONG.iter().filter(|it| lower.words() >= **it).count();
    let against: [(bool, u8); 4] = [
        (cues::defers(lower), 3),
        (is_remark, if is_exact { 1 } else { 2 }),
        (cues::disclaims(lower), 2),
        (known.is_astray, 2),
    ];
    let sum = |all: &[(bool, u8)]| all.iter().filter(|it| it.0).map(|it| it.1).sum::<u8>();
    let against = sum(&against).saturating_add(u8::try_from(length).unwrap_or_default());
    it.weight = sum(&for_it).saturating_sub(against).min(BINDING);
    it.is_weak = it.weight <= PASSING;
}
