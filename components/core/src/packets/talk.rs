//! Reads a conversation: its decisions, constraints, failed attempts and open questions.
//!
//! Labels and phrases of `extract` find a part of it. The rest is found by what people do in every
//! conversation (`cues`): they agree to a proposal or object to it, answer a question, set a rule,
//! make a choice, correct themselves (`revise`). The output of a tool is never a rule or a
//! decision. Of messages that are not read sentence by sentence (`messages`), the facts are read. A
//! long conversation is read in part (`window`).

use super::{
    cues::{self, Answer, Lower},
    kinds::Part,
    labelled::{from_fact, is_labelled},
    material::with_reason,
    messages::{Message, Sentence, Speaker, messages, starts_aside},
    reply,
    revise::{self, GENERIC, Said},
    statement::{Origin, Source, Statement},
    topics::Topics,
    weigh::{Known, weigh},
    window::window,
};
use crate::{
    compact::points_back,
    digest::sha256,
    extract::{
        Class, Fact, Status,
        claim::{TokenKind, tokens},
        extract_all,
    },
    item::Item,
    order::sorted,
    text::{
        ends_as_question,
        words::{Reader, Word},
    },
};

/// The longest sentence that is a statement, in characters.
const SENTENCE_CHARS_MAX: usize = 400;
/// A reaction before an agreement has at most this many words.
pub(super) const REACTION_WORDS_MAX: usize = 6;
/// A fragment has at most this many words.
const FRAGMENT_WORDS_MAX: usize = 1;
/// The goal is one of this many sentences.
const GOAL_SENTENCES: usize = 4;
/// The longest goal, in bytes.
const GOAL_BYTES_MAX: usize = 600;

/// Returns the statements of a conversation, in its order.
pub(super) fn read(task: &str, items: &[Item]) -> Vec<Statement> {
    let read = window(items);
    let items = read.as_ref();
    let facts = extract_all(items).facts;
    let messages = messages(task, items);
    let mut reader = Reader::default();
    let generic = reader.distinct(GENERIC);
    let mut words = reader.distinct(task);
    words.retain(|it| !generic.contains(it));
    let mut reading = Reading {
        items,
        messages: &messages,
        facts: Facts::new(&facts),
        topics: Topics::read(task, items, &messages),
        found: Vec::new(),
        reader,
        generic,
        task: words,
        last_of_model: None,
        turn: 0,
        is_answered: false,
    };
    for nth in 0..messages.len() {
        reading.message(nth);
    }
    reading.found.retain(|it| it.is_live);
    let mut found = reading.found;
    revise::revise(&mut found);
    let mut all: Vec<Statement> =
        found.into_iter().filter(|it| it.is_live).map(|it| it.statement).collect();
    for (fact, is_read) in reading.facts.0 {
        let holds = fact.status == Status::Open && fact.superseded_by.is_none();
        let item = items.get(fact.place.item).filter(|_| !is_read && holds);
        all.extend(item.and_then(|it| from_fact(it, fact)));
    }
    all
}

/// The facts of a conversation by their places, each with true if its sentence was read: then it is
/// already a statement, or was left out.
pub(super) struct Facts<'a>(Vec<(&'a Fact, bool)>);

impl<'a> Facts<'a> {
    fn new(facts: &'a [Fact]) -> Self {
        let all = facts.iter().map(|it| (it, false)).collect();
        Self(sorted(all, |(a, _), (b, _)| place(a).cmp(&place(b))))
    }

    /// Returns the last fact in a sentence, after marking those there as read.
    pub(super) fn of(&mut self, item: usize, sentence: &Sentence<'_>) -> Option<&'a Fact> {
        let from = (item, sentence.start);
        let to = (item, sentence.start.saturating_add(sentence.whole.len()));
        let before = |at: (usize, usize)| self.0.partition_point(|it| place(it.0) < at);
        let range = before(from)..before(to);
        let all = self.0.get_mut(range)?;
        for it in all.iter_mut() {
            it.1 = true;
        }
        all.last().map(|it| it.0)
    }
}

/// Returns the item of a fact and its first byte there.
fn place(it: &Fact) -> (usize, usize) {
    (it.place.item, it.place.start)
}

/// The place of a sentence of a person.
#[derive(Clone, Copy)]
struct Place {
    /// The place of its message.
    nth: usize,
    /// Its item and its first byte there.
    key: (usize, usize),
    /// True if its message answers something, or has an earlier statement on the subject.
    answers: bool,
    /// True if it is in the paragraph that states the goal.
    is_of_goal: bool,
    /// True if the message before is about something else.
    is_aside: bool,
}

/// A conversation that is being read.
pub(super) struct Reading<'a> {
    pub(super) items: &'a [Item],
    pub(super) messages: &'a [Message<'a>],
    pub(super) facts: Facts<'a>,
    topics: Topics,
    pub(super) found: Vec<Said>,
    pub(super) reader: Reader,
    /// Words that name no subject.
    pub(super) generic: Vec<Word>,
    /// The words of the task.
    task: Vec<Word>,
    /// The place of the last message of a model.
    pub(super) last_of_model: Option<usize>,
    /// The number of statements before the turn of a person.
    pub(super) turn: usize,
    /// True if somebody agreed or objected to that message.
    pub(super) is_answered: bool,
}

impl<'a> Reading<'a> {
    fn message(&mut self, nth: usize) {
        let Some(message) = self.messages.get(nth) else { return };
        match message.speaker {
            Speaker::User => self.of_user(nth),
            _ => self.of_model(message, nth),
        }
    }

    /// Returns the message right before the one at `nth`, if a model wrote it.
    pub(super) fn of_model_before(&self, nth: usize) -> Option<&'a Message<'a>> {
        let last = self.last_of_model.filter(|it| it.saturating_add(1) == nth)?;
        self.messages.get(last)
    }

    /// Reads a message of a person.
    fn of_user(&mut self, nth: usize) {
        let Some(message) = self.messages.get(nth) else { return };
        let before = nth.checked_sub(1).and_then(|it| self.messages.get(it));
        let is_aside = before.is_some_and(starts_aside);
        let is_first = !self.found.iter().any(|it| it.statement.part == Part::Goal);
        let goal_end = if is_first { self.goal(message) } else { 0 };
        let goal = self.found.last().filter(|_| goal_end > 0);
        let goal_start = goal.map(|it| it.place.1);
        let opening = reply::answer(message);
        let first = match before {
            Some(it) if it.speaker == Speaker::Model => {
                let opens = message.sentences.first().map(|it| it.start);
                // The goal is no answer to `How can I help?`
                if opens == goal_start { 0 } else { self.reply(it, message, opening) }
            }
            Some(_) => {
                self.go_on(message, opening);
                0
            }
            None => 0,
        };
        let mut is_off = false;
        // What follows something of the subject in one message belongs to it.
        let mut follows = first > 0;
        for (place, sentence) in message.sentences.iter().enumerate() {
            let key = (message.item, sentence.start);
            let fact = self.facts.of(message.item, sentence);
            is_off |= cues::is_aside(&sentence.lower) && !cues::forbids(&sentence.lower);
            // The packet always shows the first sentence of the goal, however short the rest is.
            let is_goal =
                Some(sentence.start) == goal_start && sentence.lower.words() > REACTION_WORDS_MAX;
            let is_known = place < first
                || is_goal
                || sentence.start < goal_end && !cues::forbids(&sentence.lower);
            if is_off || is_known && fact.is_none_or(|it| !is_labelled(it)) {
                continue;
            }
            if place > 0 && cues::retracts(&sentence.lower) && self.retract(message, sentence) {
                continue;
            }
            if cues::gives_up(&sentence.lower) {
                self.give_up(nth);
                continue;
            }
            if place > 0
                && cues::is_bare(&sentence.lower)
                && cues::answer(&sentence.lower) == Answer::No
            {
                self.take_back(message, place);
                continue;
            }
            // A message after one of a person is an answer as well.
            let replies = place == 0 && before.is_some() && !is_aside;
            let known = self.found.len();
            let reads = Place {
                nth,
                key,
                answers: replies || follows,
                is_of_goal: sentence.start < goal_end,
                is_aside,
            };
            self.sentence_of_user((message, reads), sentence, fact);
            follows |= self.found.len() > known || replies && opening != Answer::Other;
        }
    }

    /// Reads a sentence of a person.
    fn sentence_of_user(
        &mut self,
        (message, at): (&Message<'_>, Place),
        sentence: &Sentence<'_>,
        fact: Option<&Fact>,
    ) {
        let Place { nth, key, answers, is_of_goal, is_aside } = at;
        if let Some(fact) = fact.filter(|it| is_labelled(it)) {
            let item = self.items.get(message.item);
            let statement = item.and_then(|it| from_fact(it, fact));
            if let Some(mut it) = statement {
                // A label is no reason to include a statement about another task.
                let ties = self.topics.ties(&mut self.reader, sentence.text, nth);
                it.is_weak = ties == 0 && !is_of_goal;
                self.push(it, message, key);
            }
            return;
        }
        let lower = &sentence.lower;
        let is_question = ends_as_question(sentence.text);
        // `Rules:`
        let is_lead = sentence.text.ends_with(':') || cues::greets(lower);
        if is_question && !cues::asks_to_do(lower) || is_lead || cues::is_bare(lower) {
            return;
        }
        let read = tokens(&mut self.reader, sentence.text);
        // `\\o/`
        let is_first = message.sentences.first().is_some_and(|it| it.start == sentence.start);
        let chooses_one = is_first && self.of_model_before(nth).is_some();
        if !chooses_one && read.iter().all(|it| it.form.len() < 2) {
            return;
        }
        let has_value = read.iter().any(|it| it.kind == TokenKind::Hard);
        let (rules, chooses, corrects) =
            (cues::rules(lower), cues::chooses(lower), cues::corrects(lower));
        let has_cue = rules || chooses || corrects;
        let puts_off = cues::defers(lower) && !corrects;
        if !has_value && fact.is_none() && (puts_off || cues::disclaims(lower)) {
            return;
        }
        let part = match fact.map(|it| it.class) {
            Some(Class::Decision) => Part::Decision,
            Some(Class::Failure | Class::Pattern | Class::Learning) if corrects => Part::Decision,
            Some(Class::Failure) => Part::FailedAttempt,
            Some(Class::Pattern | Class::Learning) => Part::Pattern,
            Some(Class::Constraint | Class::Preference | Class::Critical) => Part::Constraint,
            Some(Class::Noise | Class::Prune) => return,
            _ if rules => Part::Constraint,
            _ if chooses || corrects || answers => Part::Decision,
            _ => Part::Constraint,
        };
        let is_marked = fact.is_some_and(|it| it.class != Class::Fact && it.class != Class::Goal);
        let ties = self.topics.ties(&mut self.reader, sentence.text, nth);
        // A narrative about oneself or the past is not an instruction.
        let is_told = !has_cue && !is_marked && cues::narrates(lower);
        let is_told = is_told && !(is_first && answers && has_value);
        let is_said = has_cue || has_value || answers || is_marked;
        let is_near = ties > 0 || is_of_goal || answers && !cues::is_personal(lower);
        // A rule holds whatever it is about.
        let is_tied = is_near || has_cue && !is_aside && !cues::is_personal(lower);
        if !is_said || !is_tied || is_told {
            return;
        }
        let mut it = self.statement(message, sentence, part);
        let mut known = Known { is_marked, is_astray: !is_near, ..Known::default() };
        weigh(&mut it, lower, &read, known);
        let length = it.text.len();
        let words = read.iter().filter(|it| it.stem != 0).count();
        if is_first && words <= FRAGMENT_WORDS_MAX && !has_cue {
            self.complete(&mut it, nth);
        } else if is_first && cues::points_back(lower) && !it.text.contains(" — ") {
            self.point(&mut it, nth);
        } else if cues::forbids(lower) && points_back(sentence.text) {
            self.name(&mut it, nth, sentence);
        }
        if it.text.len() > length {
            // It chooses or accepts what stands before it now.
            let read = tokens(&mut self.reader, &it.text);
            known.is_agreed = true;
            weigh(&mut it, lower, &read, known);
        }
        let (is_whole, count) = (it.spoken() == sentence.text, self.found.len());
        self.push(it, message, key);
        if let Some(said) = self.found.get_mut(count).filter(|_| is_whole) {
            said.tokens = read;
        }
    }

    /// Adds the first message as the goal. Returns the byte after it.
    fn goal(&mut self, message: &Message<'_>) -> usize {
        let Some(text) = self.items.get(message.item).and_then(Item::text) else { return 0 };
        let is_greeting = |it: &&Sentence<'_>| it.text.split_whitespace().count() <= 3;
        let told = message.sentences.iter();
        let told = told.filter(|it| !is_greeting(it) && !ends_as_question(it.text));
        // Many begin with a remark: the first of these that has a word of the task.
        let told: Vec<&Sentence<'_>> = told.take(GOAL_SENTENCES).collect();
        let mut names = |it: &&&Sentence<'_>| {
            let words = self.reader.distinct(it.text);
            words.iter().any(|it| self.task.contains(it))
        };
        let first = told.iter().find(&mut names).or(told.first()).copied();
        // `Hi!` is no goal.
        let opens = message.sentences.first().filter(|it| !cues::greets(&it.lower));
        let Some(first) = first.or(opens) else { return 0 };
        let whole = text.get(first.start..).unwrap_or_default();
        let paragraph = whole.split("\n\n").next().unwrap_or_default();
        let mut end = 0;
        for sentence in message.sentences.iter().filter(|it| it.start >= first.start) {
            let last =
                sentence.start.saturating_add(sentence.whole.len()).saturating_sub(first.start);
            if last > GOAL_BYTES_MAX.min(paragraph.len()) {
                break;
            }
            end = last;
        }
        let goal = paragraph.get(..end).filter(|it| !it.is_empty()).unwrap_or(first.text);
        let mut it = self.statement(message, first, Part::Goal);
        goal.clone_into(&mut it.text);
        // Its first sentence says enough where the budget is short.
        it.weight = 0;
        it.source.digest = sha256(goal);
        let end = first.start.saturating_add(goal.len());
        self.push(it, message, (message.item, first.start));
        end
    }

    /// Reads a message of a model: labelled facts, marked sentences, and the choices it reports.
    fn of_model(&mut self, message: &Message<'_>, nth: usize) {
        self.last_of_model = Some(nth);
        self.turn = self.found.len();
        self.is_answered = false;
        if starts_aside(message) {
            return;
        }
        for sentence in &message.sentences {
            let key = (message.item, sentence.start);
            if let Some(fact) = self.facts.of(message.item, sentence) {
                let item = self.items.get(message.item);
                let statement = item.and_then(|it| from_fact(it, fact));
                let is_labelled = is_labelled(fact);
                if let Some(mut it) = statement {
                    // Rules are set by people; a model repeats them.
                    it.is_weak = it.part == Part::Constraint && !is_labelled;
                    self.push(it, message, key);
                }
            } else if cues::tells_choice(&sentence.lower) && !ends_as_question(sentence.text) {
                let read = tokens(&mut self.reader, sentence.text);
                let ties = self.topics.ties(&mut self.reader, sentence.text, nth);
                if read.iter().any(|it| it.kind == TokenKind::Hard) && ties > 0 {
                    let mut it = self.statement(message, sentence, Part::Decision);
                    it.is_weak = true;
                    self.push(it, message, key);
                }
            }
        }
    }

    pub(super) fn statement(
        &self,
        message: &Message<'_>,
        sentence: &Sentence<'_>,
        part: Part,
    ) -> Statement {
        let id = self.items.get(message.item).map_or_else(String::new, |it| it.id.clone());
        let source = Source {
            origin: Origin::Item { id, line: sentence.line },
            digest: sha256(sentence.text),
            authority: message.authority,
            by: sentence.by.map(str::to_owned),
        };
        let (text, reason) = match part {
            Part::Decision | Part::FailedAttempt => with_reason(sentence.whole),
            _ => (sentence.whole, None),
        };
        // A choice behind the reason is no part of it: `because it is slow, use p50`.
        let chooses =
            |it: &str| it.split(", ").skip(1).any(|it| cues::opens_with_cue(&Lower::new(it)));
        let (text, reason) = match reason {
            Some(it) if chooses(it) => (sentence.whole, None),
            it => (text, it),
        };
        let mut it = Statement::new(part, text, source);
        it.detail = reason.map(str::to_owned);
        it.made_by = (part == Part::Decision).then_some(message.by);
        it.rank = u64::try_from(message.item).unwrap_or_default();
        it
    }

    pub(super) fn push(
        &mut self,
        statement: Statement,
        message: &Message<'_>,
        place: (usize, usize),
    ) {
        if statement.text.chars().count() > SENTENCE_CHARS_MAX && statement.part != Part::Goal {
            return;
        }
        let is_user = message.speaker == Speaker::User;
        self.found.push(Said::new(statement, place, is_user));
    }
}
