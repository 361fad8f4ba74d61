//! Replies: what a person says to the message before. They agree to it or to a part of it, refuse it,
//! put it off, answer its question, or take back what they said themselves.
//!
//! A proposal that was agreed to is a decision in its own words. Whatever else is said to it stands
//! behind it, as in `Should I cite preprints? — only if there is nothing else`.

use super::{
    cues::{self, Answer},
    kinds::Part,
    messages::{Message, Sentence},
    revise::Said,
    statement::Statement,
    talk::{REACTION_WORDS_MAX, Reading},
    weigh::{Known, weigh},
};
use crate::{
    extract::claim::{Token, TokenKind, tokens},
    item::Item,
    text::ends_as_question,
};

/// An answer to a question has at most this many words.
const ANSWER_WORDS_MAX: usize = 16;
/// A rule with more words than this needs no question.
const RULE_WORDS_MIN: usize = 4;
/// The most proposals of a message that an agreement accepts.
const PROPOSALS_MAX: usize = 6;
/// The most bytes of parts that an answer counts.
const PARTS_BYTES_MAX: usize = 240;
/// An answer of at most this many words, as in `no, kafka`, needs what it answers.
const SHORT_WORDS_MAX: usize = 3;

impl Reading<'_> {
    /// Reads what a message says to the one of a model before it. Returns how many of its sentences
    /// were read.
    pub(super) fn reply(
        &mut self,
        before: &Message<'_>,
        message: &Message<'_>,
        opening: Answer,
    ) -> usize {
        let Some(first) = message.sentences.first() else { return 0 };
        let proposals = self.proposals(before);
        let taken = cues::taken(&first.lower).filter(|_| opening == Answer::Yes);
        let is_part = cues::agrees_in_part(&first.lower)
            || opening == Answer::Yes && cues::limits(&first.lower)
            || taken.is_some_and(|it| proposals.iter().any(|one| self.shares(one.text, it)));
        let puts_off = opening == Answer::Later || is_put_off(first);
        self.is_answered |= !ends_as_question(first.text) && !cues::is_aside(&first.lower);
        let (read, question) = self.answers(before, message, opening);
        let has_pronoun = cues::has_pronoun(&first.lower);
        let is_short = first.lower.words() <= SHORT_WORDS_MAX;
        // `That's overkill`
        let judges = is_short && has_pronoun && opening == Answer::Other;
        // `60 please`
        let has_digit = |it: &Sentence<'_>| it.text.contains(|c: char| c.is_ascii_digit());
        let counts =
            is_short && has_digit(first) && proposals.last().is_some_and(|it| has_digit(it));
        let depends = cues::depends(&first.lower)
            && (!cues::opens_with_then(&first.lower) || has_pronoun)
            || counts
            || judges && proposals.last().is_some_and(|it| cues::proposes(&it.lower));
        let mut target = None;
        if read == 0 && (is_part || puts_off || opening == Answer::No || depends) {
            let of = taken.unwrap_or_default();
            target = proposals.iter().rfind(|it| self.shares(it.text, of)).or(proposals.last());
        }
        match opening {
            Answer::Yes => {
                let is_read = |it: &&&Sentence<'_>| {
                    Some(it.start) == target.map(|it| it.start) || Some(it.start) == question
                };
                self.accept(before, first, proposals.iter().filter(|it| !is_read(it)).copied());
            }
            Answer::No | Answer::Later => self.reject(before),
            Answer::Other => {}
        }
        let Some(target) = target.filter(|_| !ends_as_question(first.text)) else { return read };
        let (end, count) = self.extent(message);
        let is_refused = opening == Answer::No && !is_part;
        let is_told = cues::narrates(&first.lower) || cues::is_personal(&first.lower);
        let is_bare = cues::is_bare(&first.lower) && count == 1;
        let has_cue = cues::rules(&first.lower) || cues::chooses(&first.lower);
        let begins = cues::begins_with_no(&first.lower);
        if is_refused && !is_bare && has_cue && count == 1 && begins {
            // `No, use Kafka.` needs nothing before it.
            return read;
        }
        // `Nope, too much work` may do so, too.
        let is_whole = is_refused && !is_bare && !is_short && !is_told && begins;
        let part = match () {
            () if puts_off => Part::OpenQuestion,
            () if is_refused && (is_bare || is_told || is_whole || !begins) => Part::FailedAttempt,
            () => Part::Decision,
        };
        let Some(answer) = self.slice(message, first, end) else { return read };
        let mut it = self.statement(message, first, part);
        let part = self.parts(before, first).filter(|_| is_part && taken.is_none());
        it.text = format!("{} — {answer}", part.as_deref().unwrap_or(target.text));
        it.detail = None;
        let words = tokens(&mut self.reader, &answer);
        weigh(&mut it, &first.lower, &words, Known { is_agreed: is_part, ..Known::default() });
        it.is_weak = false;
        self.push(it, message, (message.item, first.start));
        if is_whole { read } else { count }
    }

    /// Returns the message before from its first proposal on, if an answer counts its parts.
    fn parts(&mut self, before: &Message<'_>, answer: &Sentence<'_>) -> Option<String> {
        let first = self
            .proposals(before)
            .first()
            .copied()
            .filter(|_| cues::counts_parts(&answer.lower))?;
        let last = before.sentences.len().checked_sub(1)?;
        self.slice(before, first, last).filter(|it| it.len() <= PARTS_BYTES_MAX)
    }

    /// Reads the opening of a person who speaks after a person: the answer to the model that is still
    /// due, or one that takes back a statement or an agreement.
    pub(super) fn go_on(&mut self, message: &Message<'_>, opening: Answer) {
        let Some(first) = message.sentences.first().filter(|it| cues::is_bare(&it.lower)) else {
            return;
        };
        let model = self.last_of_model.and_then(|it| self.messages.get(it));
        match opening {
            Answer::Yes if !self.is_answered => {
                let Some(before) = model else { return };
                self.is_answered = true;
                let proposals = self.proposals(before);
                self.accept(before, first, proposals.into_iter());
            }
            Answer::No => {
                let said = self.found.iter_mut().skip(self.turn);
                let last = said.filter(|it| it.is_live && it.is_user).last();
                if let Some(it) = last {
                    it.is_live = false;
                } else if let Some(before) = model {
                    self.found
                        .iter_mut()
                        .filter(|it| it.place.0 == before.item)
                        .for_each(|it| it.is_live &= !it.is_agreed);
                }
            }
            _ => {}
        }
    }

    /// Returns the questions, the proposals and the values of a message, or its last sentence.
    fn proposals<'a, 'b>(&mut self, before: &'b Message<'a>) -> Vec<&'b Sentence<'a>> {
        let aside = before.sentences.iter().position(|it| cues::is_aside(&it.lower));
        let mut before_aside = before.sentences.iter().take(aside.unwrap_or(usize::MAX));
        let all: Vec<&Sentence<'_>> = before_aside.clone().filter(|it| self.says(it)).collect();
        let last =
            before_aside.rfind(|it| !cues::is_bare(&it.lower) && !cues::reports_done(&it.lower));
        if all.is_empty() { last.into_iter().collect() } else { all }
    }

    /// Returns true if a sentence of a model can be agreed to.
    fn says(&mut self, it: &Sentence<'_>) -> bool {
        let read = tokens(&mut self.reader, it.text);
        let has_value = read.iter().any(|it| it.kind == TokenKind::Hard);
        let is_word = |it: &&Token| it.stem != 0 && !self.generic.contains(&it.stem);
        let words = read.iter().filter(is_word).count();
        // `Does that fit?` says nothing by itself.
        let is_asked = ends_as_question(it.text) && (words > 1 || has_value);
        is_asked
            || has_value && !cues::reports_done(&it.lower)
            || cues::proposes(&it.lower) && words > 1
    }

    /// Returns true if two texts have a word in common that names something.
    fn shares(&mut self, a: &str, b: &str) -> bool {
        let (a, b) = (self.reader.distinct(a), self.reader.distinct(b));
        a.iter().any(|it| b.contains(it) && !self.generic.contains(it))
    }

    /// Adds what a person agreed to.
    fn accept<'a, 'b: 'a>(
        &mut self,
        before: &Message<'_>,
        answer: &Sentence<'_>,
        proposals: impl Iterator<Item = &'a Sentence<'b>> + Clone,
    ) {
        let skipped = proposals.clone().count().saturating_sub(PROPOSALS_MAX);
        for sentence in proposals.skip(skipped) {
            let key = (before.item, sentence.start);
            if let Some(known) = self.found.iter_mut().find(|it| it.place == key) {
                known.is_agreed = true;
                known.statement.is_weak = false;
                continue;
            }
            if self.is_report(before, sentence, answer) {
                continue;
            }
            let mut it = self.statement(before, sentence, Part::Decision);
            if ends_as_question(sentence.text) {
                // Without the answer a question says nothing.
                let is_short = answer.lower.words() <= REACTION_WORDS_MAX;
                let end = if is_short { answer.text } else { short(answer.text) };
                let end = end.trim_end_matches(['.', '!']);
                it.text = format!("{} — {end}", sentence.text);
                it.detail = None;
            }
            let read = tokens(&mut self.reader, &it.text);
            let known = Known { is_agreed: true, ..Known::default() };
            weigh(&mut it, &sentence.lower, &read, known);
            self.push(it, before, key);
            if let Some(it) = self.found.last_mut() {
                it.is_agreed = true;
            }
        }
    }

    /// Returns true for a sentence of a model that proposes nothing: it tells how something is, or
    /// what a page says.
    fn is_report(
        &self,
        before: &Message<'_>,
        sentence: &Sentence<'_>,
        answer: &Sentence<'_>,
    ) -> bool {
        if ends_as_question(sentence.text) {
            return false;
        }
        let next = before.sentences.iter().find(|it| it.start > sentence.start);
        let is_noted = cues::notes(&answer.lower) || next.is_some_and(|it| cues::blames(&it.lower));
        let proposes = cues::proposes(&sentence.lower)
            || cues::tells_choice(&sentence.lower)
            || cues::assents(&answer.lower);
        let asks = || {
            let nth = self.last_of_model.and_then(|it| it.checked_sub(1));
            let message = nth.and_then(|it| self.messages.get(it));
            message.is_some_and(|it| it.sentences.iter().any(|it| cues::inspects(&it.lower)))
        };
        cues::quotes(&sentence.lower)
            || cues::describes(&sentence.lower) && (is_noted || !proposes)
            || !proposes && asks()
    }

    /// Removes what a person objected to: what a model chose, and rules without a label.
    fn reject(&mut self, before: &Message<'_>) {
        for it in self.found.iter_mut().filter(|it| it.place.0 == before.item && !it.is_agreed) {
            let is_rule = it.statement.part == Part::Constraint && it.statement.is_weak;
            it.is_live &= it.statement.part != Part::Decision && !is_rule;
        }
    }

    /// Adds the answer to the last question of the message before. Returns how many sentences it
    /// has, and where the question is.
    fn answers(
        &mut self,
        before: &Message<'_>,
        message: &Message<'_>,
        opening: Answer,
    ) -> (usize, Option<usize>) {
        let asked = before.sentences.iter().rfind(|it| ends_as_question(it.text));
        let Some((question, answer)) = asked.zip(message.sentences.first()) else {
            return (0, None);
        };
        let aside = before.sentences.iter().find(|it| cues::is_aside(&it.lower));
        let is_aside = aside.is_some_and(|it| it.start <= question.start);
        let words = answer.lower.words();
        let is_bare = opening == Answer::Yes && cues::is_bare(&answer.lower);
        // A rule that stands alone needs no question.
        let is_whole = cues::forbids(&answer.lower)
            && !cues::depends(&answer.lower)
            && words > RULE_WORDS_MIN
            && opening != Answer::Yes;
        if is_bare
            || is_aside
            || is_whole
            || words > ANSWER_WORDS_MAX
            || ends_as_question(answer.text)
        {
            return (0, None);
        }
        let (end, count) = self.extent(message);
        let Some(text) = self.slice(message, answer, end) else { return (0, None) };
        let puts_off = opening == Answer::Later || is_put_off(answer) && count == 1;
        let part = if puts_off { Part::OpenQuestion } else { Part::Decision };
        let mut it = self.statement(message, answer, part);
        let read = tokens(&mut self.reader, &text);
        let asked = tokens(&mut self.reader, question.text);
        it.text = format!("{} — {text}", question.text);
        it.detail = None;
        let is_said = |it: &Token| asked.iter().any(|one| it.stem != 0 && one.stem == it.stem);
        let is_value = |it: &Token| it.kind == TokenKind::Hard;
        let is_astray =
            opening == Answer::Other && !read.iter().any(|it| is_said(it) || is_value(it));
        let known = Known { is_agreed: opening == Answer::Yes, is_astray, ..Known::default() };
        weigh(&mut it, &answer.lower, &read, known);
        self.facts.of(before.item, question);
        self.push(it, message, (message.item, answer.start));
        self.is_answered = true;
        (count, Some(question.start))
    }

    /// Returns the place of the last sentence of an answer, and how many sentences it has. `No. Kafka.`
    /// and `With a comma. 1,5 not 1.5` have two.
    fn extent(&mut self, message: &Message<'_>) -> (usize, usize) {
        let [first, second, ..] = message.sentences.as_slice() else { return (0, 1) };
        let is_plain = |it: &Token| it.kind == TokenKind::Word && !self.generic.contains(&it.stem);
        let is_value = !tokens(&mut self.reader, second.text).iter().any(is_plain);
        let has_cue = cues::rules(&second.lower) || cues::chooses(&second.lower);
        let goes_on = cues::is_bare(&first.lower) && second.lower.words() <= ANSWER_WORDS_MAX;
        let is_more = second.line == first.line
            && (!has_cue || goes_on && second.lower.words() <= SHORT_WORDS_MAX)
            && (is_value || goes_on)
            && !cues::is_bare(&second.lower)
            && !cues::retracts(&second.lower)
            && !ends_as_question(second.text);
        let takes_back = cues::answer(&first.lower) == Answer::Yes && is_no(second);
        if is_more || takes_back { (1, 2) } else { (0, 1) }
    }

    /// Returns the text from a sentence to the end of the one at `last`.
    fn slice(&self, message: &Message<'_>, from: &Sentence<'_>, last: usize) -> Option<String> {
        let last = message.sentences.get(last)?;
        if last.start == from.start {
            return Some(from.text.to_owned());
        }
        let text = self.items.get(message.item).and_then(Item::text)?;
        let spoken = from.whole.len().saturating_sub(from.text.len());
        let start = from.start.saturating_add(spoken);
        Some(text.get(start..last.start.saturating_add(last.whole.len()))?.to_owned())
    }

    /// Replaces the last statement of the message, with the question it answers. Returns false if
    /// it has no statement.
    pub(super) fn retract(&mut self, message: &Message<'_>, sentence: &Sentence<'_>) -> bool {
        let said = self.found.last_mut().filter(|it| it.is_user && it.place.0 == message.item);
        let Some(before) = said else { return false };
        before.is_live = false;
        let question = before.statement.text.split_once(" — ").map(|it| it.0.to_owned());
        let short = before.statement.source.origin.short();
        let mut it = self.statement(message, sentence, Part::Decision);
        if let Some(question) = question {
            it.text = format!("{question} — {}", sentence.text);
            it.detail = None;
        }
        it.merged_from = vec![short];
        self.push(it, message, (message.item, sentence.start));
        true
    }

    /// Removes the statement that a `No.` takes back: that of the sentence before, but for words such as
    /// `Hm.`
    pub(super) fn take_back(&mut self, message: &Message<'_>, place: usize) {
        let before = message.sentences.iter().take(place);
        let is_empty = |it: &Sentence<'_>| cues::is_bare(&it.lower) || it.lower.words() == 1;
        let said = before.rev().find(|it| !is_empty(it)).map(|it| (message.item, it.start));
        let last = self.found.last_mut().filter(|it| it.is_user && Some(it.place) == said);
        if let Some(it) = last {
            it.is_live = false;
        }
    }

    /// Removes the last choice of a person that has a word of the message of a model before: what
    /// that says was the reason to give it up.
    pub(super) fn give_up(&mut self, nth: usize) {
        let Some(message) = self.of_model_before(nth) else { return };
        let is_choice = |it: &Said| it.is_live && it.is_user && it.statement.part == Part::Decision;
        let Some(last) = self.found.iter().rposition(is_choice) else { return };
        let text = self.found.get(last).map_or_else(String::new, |it| it.statement.text.clone());
        let is_of_it = message.sentences.iter().any(|it| self.shares(&text, it.text));
        if let Some(it) = self.found.get_mut(last).filter(|_| is_of_it) {
            it.is_live = false;
        }
    }

    /// Puts before a rule such as `Don't touch it.` the sentence that says what it is about: one of
    /// the message, or of that of a model before.
    pub(super) fn name(&mut self, it: &mut Statement, nth: usize, sentence: &Sentence<'_>) {
        let own = self.messages.get(nth);
        let place = own.map(|it| it.item);
        for message in [own, self.of_model_before(nth)].into_iter().flatten() {
            for before in message.sentences.iter().rev() {
                let is_before = Some(message.item) != place || before.start < sentence.start;
                if is_before && self.names(before) {
                    it.text = format!("{} — {}", before.text, it.spoken());
                    return;
                }
            }
        }
    }

    /// Returns true if a sentence names something.
    fn names(&mut self, it: &Sentence<'_>) -> bool {
        let read = tokens(&mut self.reader, it.text);
        let has = |kind| read.iter().any(|it| it.kind == kind);
        (has(TokenKind::Hard) || has(TokenKind::Word) && !cues::has_pronoun(&it.lower))
            && !cues::is_bare(&it.lower)
    }

    /// Puts what a fragment such as `WebP.` chooses from before it.
    pub(super) fn complete(&mut self, it: &mut Statement, nth: usize) {
        let read = tokens(&mut self.reader, &["- ", it.spoken()].concat());
        let values: Vec<String> =
            read.into_iter().filter(|it| it.stem != 0).map(|it| it.form).collect();
        let Some(message) = self.of_model_before(nth) else { return };
        let said = self.reader.distinct(it.spoken());
        let reader = &mut self.reader;
        let has_value = |it: &&Sentence<'_>| {
            let lower = it.text.to_lowercase();
            values.iter().any(|it| lower.contains(it.as_str()))
                || reader.distinct(it.text).iter().any(|it| said.contains(it))
        };
        if let Some(before) = message.sentences.iter().rfind(has_value) {
            it.text = format!("{} — {}", before.text, it.spoken());
        }
    }

    /// Puts what a sentence such as `Keep those three.` points at before it: the last sentence of the
    /// message before that names something.
    pub(super) fn point(&mut self, it: &mut Statement, nth: usize) {
        let Some(message) = self.of_model_before(nth) else { return };
        let reader = &mut self.reader;
        let mut names = |it: &&Sentence<'_>| {
            tokens(reader, it.text).iter().any(|it| it.kind == TokenKind::Hard)
        };
        let told = message.sentences.iter().filter(|it| !ends_as_question(it.text));
        // `Option B.`
        let proposes = |it: &&Sentence<'_>| cues::proposes(&it.lower);
        if let Some(before) = told.clone().rfind(&mut names).or(told.rev().find(proposes)) {
            it.text = format!("{} — {}", before.text, it.spoken());
        }
    }
}

/// Returns how a message answers the one before it: by its first words, by the last ones of its first
/// sentence (`She nodded at that one, so yes.`), or by those of the next (`Didn't know that. Love it.`).
pub(super) fn answer(message: &Message<'_>) -> Answer {
    let Some(first) = message.sentences.first() else { return Answer::Other };
    let mut opening = cues::answer(&first.lower);
    let next = message.sentences.get(1).filter(|it| it.line == first.line);
    let takes_back = |it: &Sentence<'_>| {
        cues::is_bare(&it.lower) && matches!(cues::answer(&it.lower), Answer::No | Answer::Later)
            || cues::is_bare(&first.lower) && cues::stops(&it.lower)
    };
    if opening == Answer::Yes && next.is_some_and(takes_back) {
        // `Sure, if you have three years. No.` `Great idea. No, seriously: encrypt them.`
        opening = Answer::No;
    }
    if opening != Answer::Other || ends_as_question(first.text) || cues::defers(&first.lower) {
        return opening;
    }
    let agrees = |it: &Sentence<'_>| {
        let is_short = first.lower.words() <= REACTION_WORDS_MAX || cues::is_bare(&it.lower);
        cues::answer(&it.lower) == Answer::Yes && is_short && !ends_as_question(it.text)
    };
    let is_yes = cues::ends_in_yes(&first.lower) || message.sentences.get(1).is_some_and(agrees);
    if is_yes { Answer::Yes } else { Answer::Other }
}

/// Returns true for an answer that does nothing but object.
fn is_no(answer: &Sentence<'_>) -> bool {
    cues::is_bare(&answer.lower) && cues::answer(&answer.lower) == Answer::No
}

/// Returns true for an answer that only puts it off: `Let me think about it.`
fn is_put_off(answer: &Sentence<'_>) -> bool {
    cues::defers(&answer.lower) && answer.lower.words() <= REACTION_WORDS_MAX
}

/// Returns an answer without what follows its first words.
fn short(answer: &str) -> &str {
    let end = answer.find([',', ';']).unwrap_or(answer.len());
    answer.get(..end).unwrap_or(answer)
}
