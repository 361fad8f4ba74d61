//! Reads a conversation: its decisions, constraints, failed attempts and open questions.
//!
//! Labels and phrases of `extract` find a part of it. The rest is found by what people do in every
//! conversation (`cues`): they agree to a proposal or object to it, answer a question, set a rule,
//! make a choice, correct themselves (`revise`). The output of a tool is never a rule or a
//! decision. Of messages that are not read sentence by sentence (`messages`), the facts are read. A
//! long conversation is read in part (`window`).

use super::{
    cues::{self, Answer},
    kinds::Part,
    labelled::{from_fact, is_labelled},
    material::with_reason,
    messages::{Message, Sentence, Speaker, messages, starts_aside},
    revise::{self, GENERIC, Said},
    statement::{Origin, Source, Statement},
    topics::Topics,
    weigh::{Known, weigh},
    window::window,
};
use crate::{
    digest::sha256,
    extract::{
        Class, Fact, Status,
        claim::{Token, TokenKind, tokens},
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
/// An answer to a question has at most this many words.
const ANSWER_WORDS_MAX: usize = 16;
/// A reaction before an agreement has at most this many words.
const REACTION_WORDS_MAX: usize = 6;
/// A rule with more words than this needs no question.
const RULE_WORDS_MIN: usize = 4;
/// A fragment has at most this many words.
const FRAGMENT_WORDS_MAX: usize = 1;
/// The goal is one of this many sentences.
const GOAL_SENTENCES: usize = 4;
/// The longest goal, in bytes.
const GOAL_BYTES_MAX: usize = 600;
/// The most proposals of a message that an agreement accepts.
const PROPOSALS_MAX: usize = 6;

/// Returns the statements of a conversation, in its order.
pub(super) fn read(task: &str, items: &[Item]) -> Vec<Statement> {
    let read = window(items);
    let items = read.as_ref();
    let facts = extract_all(items).facts;
    let messages = messages(items);
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
struct Facts<'a>(Vec<(&'a Fact, bool)>);

impl<'a> Facts<'a> {
    fn new(facts: &'a [Fact]) -> Self {
        let all = facts.iter().map(|it| (it, false)).collect();
        Self(sorted(all, |(a, _), (b, _)| place(a).cmp(&place(b))))
    }

    fn range(&self, at: (usize, usize)) -> std::ops::Range<usize> {
        let before = |is_before: &dyn Fn((usize, usize)) -> bool| {
            self.0.partition_point(|it| is_before(place(it.0)))
        };
        before(&|it| it < at)..before(&|it| it <= at)
    }

    /// Returns the fact of a sentence.
    fn get(&self, at: (usize, usize)) -> Option<&'a Fact> {
        self.0.get(self.range(at))?.last().map(|it| it.0)
    }

    /// Marks a sentence as read.
    fn mark(&mut self, at: (usize, usize)) {
        let range = self.range(at);
        self.0.get_mut(range).into_iter().flatten().for_each(|it| it.1 = true);
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
    /// True if its message answers something, or has an earlier statement on the subject.
    answers: bool,
    /// True if it is in the paragraph that states the goal.
    is_of_goal: bool,
}

/// A conversation that is being read.
struct Reading<'a> {
    items: &'a [Item],
    messages: &'a [Message<'a>],
    facts: Facts<'a>,
    topics: Topics,
    found: Vec<Said>,
    reader: Reader,
    /// Words that name no subject.
    generic: Vec<Word>,
    /// The words of the task.
    task: Vec<Word>,
}

impl<'a> Reading<'a> {
    fn message(&mut self, nth: usize) {
        let Some(message) = self.messages.get(nth) else { return };
        match message.speaker {
            Speaker::User => self.of_user(nth),
            _ => self.of_model(message, nth),
        }
    }

    /// Returns the message before the one at `nth`, if a model wrote it.
    fn of_model_before(&self, nth: usize) -> Option<&'a Message<'a>> {
        let before = nth.checked_sub(1).and_then(|it| self.messages.get(it));
        before.filter(|it| it.speaker == Speaker::Model)
    }

    /// Reads a message of a person.
    fn of_user(&mut self, nth: usize) {
        let Some(message) = self.messages.get(nth) else { return };
        let before = self.of_model_before(nth);
        let opening = answer(message);
        let mut first = 0;
        if let Some(before) = before {
            if self.answers(before, message, opening) {
                first = 1;
            }
            match opening {
                Answer::Yes => self.accept(before, message),
                Answer::No => self.reject(before),
                Answer::Other => {}
            }
        }
        let mut goal_end = 0;
        let is_first = !self.found.iter().any(|it| it.statement.part == Part::Goal);
        if is_first {
            goal_end = self.goal(message);
        }
        let goal = self.found.last().filter(|it| is_first && it.statement.part == Part::Goal);
        let goal_start = goal.map(|it| it.place.1);
        let mut is_aside = false;
        // What follows something of the subject in one message belongs to it.
        let mut follows = first > 0;
        for (place, sentence) in message.sentences.iter().enumerate() {
            let key = (message.item, sentence.start);
            let fact = self.facts.get(key);
            self.facts.mark(key);
            is_aside |= cues::is_aside(&sentence.lower);
            // The packet always shows the first sentence of the goal, however short the rest is.
            let is_goal =
                Some(sentence.start) == goal_start && sentence.lower.words() > REACTION_WORDS_MAX;
            let is_known = place < first
                || is_goal
                || sentence.start < goal_end && !cues::forbids(&sentence.lower);
            if is_aside || is_known && fact.is_none_or(|it| !is_labelled(it)) {
                continue;
            }
            if place > 0 && cues::retracts(&sentence.lower) && self.retract(message, sentence) {
                continue;
            }
            if place > 0
                && cues::is_bare(&sentence.lower)
                && cues::answer(&sentence.lower) == Answer::No
            {
                self.take_back(message, place);
                continue;
            }
            let replies = place == 0 && before.is_some_and(|it| !starts_aside(it));
            let known = self.found.len();
            let reads =
                Place { nth, answers: replies || follows, is_of_goal: sentence.start < goal_end };
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
        let Place { nth, answers, is_of_goal } = at;
        if let Some(fact) = fact.filter(|it| is_labelled(it)) {
            let item = self.items.get(message.item);
            let statement = item.and_then(|it| from_fact(it, fact));
            if let Some(mut it) = statement {
                // A label is no reason to include a statement about another task.
                let ties = self.topics.ties(&mut self.reader, sentence.text, nth);
                it.is_weak = ties == 0 && !is_of_goal;
                self.push(it, message);
            }
            return;
        }
        let lower = &sentence.lower;
        let is_question = ends_as_question(sentence.text);
        if is_question && !cues::asks_to_do(lower) || cues::is_bare(lower) {
            return;
        }
        let read = tokens(&mut self.reader, sentence.text);
        let has_value = read.iter().any(|it| it.kind == TokenKind::Hard);
        let (rules, chooses, corrects) =
            (cues::rules(lower), cues::chooses(lower), cues::corrects(lower));
        let has_cue = rules || chooses || corrects;
        if !has_value && fact.is_none() && (cues::defers(lower) || cues::disclaims(lower)) {
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
        let is_said = has_cue || has_value || answers || is_marked;
        let is_tied = ties > 0 || is_of_goal || answers && !cues::is_personal(lower);
        if !is_said || !is_tied || is_told {
            return;
        }
        let mut it = self.statement(message, sentence, part);
        let mut known = Known { is_marked, ..Known::default() };
        weigh(&mut it, lower, &read, known);
        let length = it.text.len();
        let is_first = message.sentences.first().is_some_and(|it| it.start == sentence.start);
        let words = read.iter().filter(|it| it.stem != 0).count();
        if is_first && words <= FRAGMENT_WORDS_MAX && !has_cue {
            self.complete(&mut it, nth);
        } else if is_first && cues::points_back(lower) && !it.text.contains(" — ") {
            self.point(&mut it, nth);
        }
        if it.text.len() > length {
            // It chooses or accepts what stands before it now.
            let read = tokens(&mut self.reader, &it.text);
            known.is_agreed = true;
            weigh(&mut it, lower, &read, known);
        }
        let (is_whole, count) = (it.text == sentence.text, self.found.len());
        self.push(it, message);
        if let Some(said) = self.found.get_mut(count).filter(|_| is_whole) {
            said.tokens = read;
        }
    }

    /// Replaces the last statement of the message, with the question it answers. Returns false if
    /// it has no statement.
    fn retract(&mut self, message: &Message<'_>, sentence: &Sentence<'_>) -> bool {
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
        self.push(it, message);
        true
    }

    /// Removes the statement that a `No.` takes back: that of the sentence before, but for words such as
    /// `Hm.`
    fn take_back(&mut self, message: &Message<'_>, place: usize) {
        let before = message.sentences.iter().take(place);
        let is_empty = |it: &Sentence<'_>| cues::is_bare(&it.lower) || it.lower.words() == 1;
        let said = before.rev().find(|it| !is_empty(it)).map(|it| (message.item, it.start));
        let last = self.found.last_mut().filter(|it| it.is_user && Some(it.place) == said);
        if let Some(it) = last {
            it.is_live = false;
        }
    }

    /// Puts what a fragment such as `WebP.` chooses from before it.
    fn complete(&mut self, it: &mut Statement, nth: usize) {
        let read = tokens(&mut self.reader, &["- ", &it.text].concat());
        let values: Vec<String> =
            read.into_iter().filter(|it| it.stem != 0).map(|it| it.form).collect();
        let Some(message) = self.of_model_before(nth) else { return };
        let has_value = |it: &&Sentence<'_>| {
            let lower = it.text.to_lowercase();
            values.iter().any(|it| lower.contains(it.as_str()))
        };
        if let Some(before) = message.sentences.iter().rfind(has_value) {
            it.text = format!("{} — {}", before.text, it.text);
        }
    }

    /// Puts what a sentence such as `Keep those three.` points at before it: the last sentence of the
    /// message before that names something.
    fn point(&mut self, it: &mut Statement, nth: usize) {
        let Some(message) = self.of_model_before(nth) else { return };
        let reader = &mut self.reader;
        let mut names =
            |text: &str| tokens(reader, text).iter().any(|it| it.kind == TokenKind::Hard);
        let told = message.sentences.iter().filter(|it| !ends_as_question(it.text));
        if let Some(before) = told.rev().find(|it| names(it.text)) {
            it.text = format!("{} — {}", before.text, it.text);
        }
    }

    /// Adds what a person agreed to: the questions, the proposals and the values of the message
    /// before.
    fn accept(&mut self, before: &Message<'_>, message: &Message<'_>) {
        let (reader, generic) = (&mut self.reader, &self.generic);
        let mut says = |it: &Sentence<'_>| {
            let read = tokens(reader, it.text);
            let has_value = read.iter().any(|it| it.kind == TokenKind::Hard);
            let words =
                read.iter().filter(|it| it.stem != 0 && !generic.contains(&it.stem)).count();
            // `Does that fit?` says nothing by itself.
            let is_asked = ends_as_question(it.text) && (words > 1 || has_value);
            is_asked || has_value || cues::proposes(&it.lower) && words > 1
        };
        let aside = before.sentences.iter().position(|it| cues::is_aside(&it.lower));
        let before_aside = before.sentences.iter().take(aside.unwrap_or(usize::MAX));
        let proposals: Vec<&Sentence<'_>> = before_aside.clone().filter(|it| says(it)).collect();
        let last = before_aside.clone().next_back();
        let proposals = if proposals.is_empty() { last.into_iter().collect() } else { proposals };
        let skipped = proposals.len().saturating_sub(PROPOSALS_MAX);
        let answer = message.sentences.first().map_or("", |it| it.text);
        for sentence in proposals.into_iter().skip(skipped) {
            let key = (before.item, sentence.start);
            if let Some(known) = self.found.iter_mut().find(|it| it.place == key) {
                known.is_agreed = true;
                continue;
            }
            let mut it = self.statement(before, sentence, Part::Decision);
            if ends_as_question(sentence.text) {
                // Without the answer a question says nothing.
                let end = short(answer).trim_end_matches(['.', '!']);
                it.text = format!("{} — {end}", sentence.text);
                it.detail = None;
            }
            let read = tokens(&mut self.reader, &it.text);
            let known = Known { is_agreed: true, ..Known::default() };
            weigh(&mut it, &sentence.lower, &read, known);
            self.facts.mark(key);
            self.push(it, before);
            if let Some(it) = self.found.last_mut() {
                it.is_agreed = true;
            }
        }
    }

    /// Removes what a person objected to.
    fn reject(&mut self, before: &Message<'_>) {
        for it in self.found.iter_mut().filter(|it| it.place.0 == before.item && !it.is_agreed) {
            it.is_live = it.statement.part != Part::Decision && it.is_live;
        }
    }

    /// Adds the answer to the last question of the message before. Returns true if there is one.
    fn answers(&mut self, before: &Message<'_>, message: &Message<'_>, opening: Answer) -> bool {
        let asked = before.sentences.iter().rfind(|it| ends_as_question(it.text));
        let Some((question, answer)) = asked.zip(message.sentences.first()) else { return false };
        let aside = before.sentences.iter().find(|it| cues::is_aside(&it.lower));
        let is_aside = aside.is_some_and(|it| it.start <= question.start);
        let words = answer.lower.words();
        let is_bare = opening == Answer::Yes && cues::is_bare(&answer.lower);
        // A rule that stands alone needs no question.
        let is_whole =
            cues::forbids(&answer.lower) && words > RULE_WORDS_MIN && opening == Answer::Other;
        if is_bare
            || is_aside
            || is_whole
            || words > ANSWER_WORDS_MAX
            || ends_as_question(answer.text)
        {
            return false;
        }
        let mut it = self.statement(message, answer, Part::Decision);
        it.text = format!("{} — {}", question.text, answer.text);
        it.detail = None;
        let read = tokens(&mut self.reader, answer.text);
        let asked = tokens(&mut self.reader, question.text);
        let is_said = |it: &Token| asked.iter().any(|one| it.stem != 0 && one.stem == it.stem);
        let is_value = |it: &Token| it.kind == TokenKind::Hard;
        let is_astray =
            opening == Answer::Other && !read.iter().any(|it| is_said(it) || is_value(it));
        let known = Known { is_agreed: opening == Answer::Yes, is_astray, ..Known::default() };
        weigh(&mut it, &answer.lower, &read, known);
        self.facts.mark((before.item, question.start));
        self.push(it, message);
        if let Some(it) = self.found.last_mut() {
            it.place = (message.item, answer.start);
        }
        true
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
        let Some(first) = first.or(message.sentences.first()) else { return 0 };
        let whole = text.get(first.start..).unwrap_or_default();
        let paragraph = whole.split("\n\n").next().unwrap_or_default();
        let mut end = 0;
        for sentence in message.sentences.iter().filter(|it| it.start >= first.start) {
            let last =
                sentence.start.saturating_add(sentence.text.len()).saturating_sub(first.start);
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
        self.push(it, message);
        end
    }

    /// Reads a message of a model: labelled facts, marked sentences, and the choices it reports.
    fn of_model(&mut self, message: &Message<'_>, nth: usize) {
        if starts_aside(message) {
            return;
        }
        for sentence in &message.sentences {
            let key = (message.item, sentence.start);
            let fact = self.facts.get(key);
            if let Some(fact) = fact {
                self.facts.mark(key);
                let item = self.items.get(message.item);
                let statement = item.and_then(|it| from_fact(it, fact));
                let is_labelled = is_labelled(fact);
                if let Some(mut it) = statement {
                    // Rules are set by people; a model repeats them.
                    it.is_weak = it.part == Part::Constraint && !is_labelled;
                    self.push(it, message);
                }
            } else if cues::tells_choice(&sentence.lower) && !ends_as_question(sentence.text) {
                let read = tokens(&mut self.reader, sentence.text);
                let ties = self.topics.ties(&mut self.reader, sentence.text, nth);
                if read.iter().any(|it| it.kind == TokenKind::Hard) && ties > 0 {
                    let mut it = self.statement(message, sentence, Part::Decision);
                    it.is_weak = true;
                    self.push(it, message);
                }
            }
        }
    }

    fn statement(&self, message: &Message<'_>, sentence: &Sentence<'_>, part: Part) -> Statement {
        let id = self.items.get(message.item).map_or_else(String::new, |it| it.id.clone());
        let source = Source {
            origin: Origin::Item { id, line: sentence.line },
            digest: sha256(sentence.text),
            authority: message.authority,
            by: None,
        };
        let (text, reason) = match part {
            Part::Decision | Part::FailedAttempt => with_reason(sentence.text),
            _ => (sentence.text, None),
        };
        let mut it = Statement::new(part, text, source);
        it.detail = reason.map(str::to_owned);
        it.made_by = (part == Part::Decision).then_some(message.by);
        it.rank = u64::try_from(message.item).unwrap_or_default();
        it
    }

    fn push(&mut self, statement: Statement, message: &Message<'_>) {
        if statement.text.chars().count() > SENTENCE_CHARS_MAX && statement.part != Part::Goal {
            return;
        }
        let place = (message.item, 0);
        let start = message.sentences.iter().find(|it| {
            statement.text.starts_with(it.text) || it.text.starts_with(statement.text.as_str())
        });
        let place = start.map_or(place, |it| (message.item, it.start));
        let is_user = message.speaker == Speaker::User;
        self.found.push(Said::new(statement, place, is_user));
    }
}

/// Returns how a message answers the one before it: by its first words, by the last ones of its first
/// sentence (`She nodded at that one, so yes.`), or by those of the next (`Didn't know that. Love it.`).
fn answer(message: &Message<'_>) -> Answer {
    let Some(first) = message.sentences.first() else { return Answer::Other };
    let opening = cues::answer(&first.lower);
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

/// Returns an answer without what follows its first words.
fn short(answer: &str) -> &str {
    let end = answer.find([',', ';']).unwrap_or(answer.len());
    answer.get(..end).unwrap_or(answer)
}
