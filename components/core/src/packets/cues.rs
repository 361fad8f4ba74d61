//! Cues: phrases with which people agree, object, correct themselves, set rules and make choices,
//! without any label.
//!
//! Each table is a list of phrases in lower case, separated by commas. A phrase only matches whole
//! words.

use std::sync::LazyLock;

use super::revise::GENERIC;
use crate::{
    extract::is_quotation,
    text::{char_at, lower},
};

/// A sentence in lower case, and where its words start: a phrase is looked for there.
#[derive(Debug, Clone)]
pub(super) struct Lower {
    text: String,
    starts: Vec<usize>,
}

impl Lower {
    /// Reads a sentence.
    pub(super) fn new(sentence: &str) -> Self {
        let text = lower(sentence);
        let mut starts = Vec::new();
        let mut is_within = false;
        for start in 0..text.len() {
            let Some(c) = char_at(&text, start) else { continue };
            let is_inner = is_word(c);
            if is_inner && !is_within {
                starts.push(start);
            }
            is_within = is_inner;
        }
        Self { text, starts }
    }

    /// Returns the number of words.
    pub(super) fn words(&self) -> usize {
        self.starts.len()
    }
}

/// Returns the number of the first letter of a text. All that are no letters share one.
fn initial(text: &str) -> usize {
    let byte = text.as_bytes().first().copied().filter(u8::is_ascii_lowercase);
    byte.map_or(31, |it| usize::from(it.saturating_sub(b'a')))
}

/// A list of phrases, by their first letters.
struct Phrases {
    by_initial: [Vec<&'static str>; 32],
}

impl Phrases {
    /// Reads a list that is separated by commas.
    fn new(list: &'static str) -> Self {
        let mut by_initial: [Vec<&'static str>; 32] = std::array::from_fn(|_| Vec::new());
        for phrase in list.split(", ") {
            if let Some(it) = by_initial.get_mut(initial(phrase)) {
                it.push(phrase);
            }
        }
        Self { by_initial }
    }

    /// Returns the length of the longest phrase that a text starts with, or 0.
    fn at(&self, text: &str) -> usize {
        let phrases = self.by_initial.get(initial(text));
        let second = text.as_bytes().get(1);
        // Most phrases differ in the second letter.
        let may_open = |it: &&&str| it.as_bytes().get(1).is_none_or(|it| Some(it) == second);
        let found = phrases.into_iter().flatten().filter(may_open);
        let found = found.filter(|it| opens_with(text, it));
        found.map(|it| it.len()).max().unwrap_or(0)
    }

    /// Returns true if a sentence has one of the phrases.
    fn is_in(&self, lower: &Lower) -> bool {
        lower.starts.iter().any(|it| lower.text.get(*it..).is_some_and(|it| self.at(it) > 0))
    }
}

/// Declares the lists, each read once.
macro_rules! lists {
    ($($name:ident $list:ident;)+) => {
        $(static $name: LazyLock<Phrases> = LazyLock::new(|| Phrases::new($list));)+
    };
}

lists! {
    YES YES_LIST;
    NO NO_LIST;
    CORRECTIONS CORRECTIONS_LIST;
    RULES RULES_LIST;
    CHOICES CHOICES_LIST;
    PROPOSALS PROPOSALS_LIST;
    OWN_CHOICES OWN_CHOICES_LIST;
    RETRACTIONS RETRACTIONS_LIST;
    REQUESTS REQUESTS_LIST;
    POINTERS POINTERS_LIST;
    ASIDES ASIDES_LIST;
    NARRATIVES NARRATIVES_LIST;
    PERSONAL PERSONAL_LIST;
    STRICT STRICT_LIST;
    INTERJECTIONS INTERJECTIONS_LIST;
    DEFERRALS DEFERRALS_LIST;
    DISCLAIMERS DISCLAIMERS_LIST;
}

/// The relation of a message to the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// It agrees.
    Yes,
    /// It objects.
    No,
    /// It puts off the answer.
    Later,
    /// It says something else.
    Other,
}

const YES_LIST: &str = "lovely, splendid, marvellous, very good, good point, good thinking, good \
    catch, well done, excellent, brilliant, awesome, true, clear, understood, works, that fits, \
    fits, yes, yep, yeah, yup, sure, ok, okay, exactly, agreed, agree, correct, right, perfect, \
    great, fine, good, sounds good, sounds right, sounds fine, sounds great, sounds reasonable, \
    works for me, that works, go ahead, go for it, do it, do that, please do, makes sense, \
    absolutely, definitely, of course, confirmed, approved, deal, let's do that, let's do it, \
    that's right, fair enough, go with that, love it, nice, precisely, indeed, that's fine, i \
    agree, cool, i'm happy with that, happy with that, no objections, no objection, no problem, \
    no worries, by all means, lgtm, +1, both, all good, looks good, that's the one, that is \
    right, that's correct";
const NO_LIST: &str = "no, nope, nah, hell no, let's not, not this time, not convinced, i don't \
    like, not that, not yet, rather not, i'd rather not, please don't, hold on, wait, hmm, \
    absolutely not, of course not, definitely not, no way, no time, no space, no need, i don't \
    think so, i disagree, bad idea, never mind, scratch that, forget it, forget that, drop it, \
    drop that, skip it, skip that";
const CORRECTIONS_LIST: &str = "one change, small change, change of plan, instead, \
    actually, on second thought, scratch that, change that, \
    change it, changed, make it, make that, rather than, no longer, not anymore, switch to, \
    switched to, correction, i meant, move it, moved to, bump, raise it, lower it, never mind, \
    turns out, turned out, after all, new plan, revert, go back, better, we were wrong, i was \
    wrong, ignore what i said, replace, push it, postpone, postponed, change of plan, changed my \
    mind, let's say, from now on, make the, sorry";
/// Phrases that set a rule.
const RULES_LIST: &str = "must, mustn't, never, always, only, don't, do not, can't, cannot, can \
    not, may not, shouldn't, should not, should, has to, have to, needs to, need to, needs, \
    required, not allowed, at most, at least, no more than, leave, stays, stay, keep, keeps, \
    avoid, without, except, unless, limit, maximum, minimum, no later than, nobody, nothing, off \
    limits, careful, as long as, make sure, ensure, ought to, won't, will not, under no \
    circumstances, is fixed, is frozen, hands off, deadline, isn't, not touch, please no, no new, \
    stick to, hard limit, legal, compliance";
/// Phrases that make a choice.
const CHOICES_LIST: &str = "let's, we'll, go with, going with, went with, use, using, switch, \
    choose, chose, prefer, pick, want, would like, i'd like, make it, instead, call it, name it, \
    put, store, send, i'd rather, rather, therefore, hence, thus, decided, we will, settle, goes \
    to, go to, stick with, take, please, set, add, write, run, move, drop, replace";
/// Phrases with which a model proposes something, or reports its choice.
const PROPOSALS_LIST: &str = "i suggest, i'd suggest, i would suggest, i propose, i'd propose, i \
    recommend, i'd recommend, i would, i'd, i could, we could, we can, how about, what about, \
    shall i, shall we, should i, should we, should it, let's, my plan, the plan, i plan, i'd go, \
    i will, i'll, we'll, could, would, do you want, want me to, would you like, option, default, \
    suggestion, proposal, i think, i'm leaning, leaning, okay to, ok to, am i right, so you want, \
    so that means, do i understand, so";
/// Phrases with which a model reports what it did or will do.
const OWN_CHOICES_LIST: &str = "i went with, i picked, i chose, i'm using, i used, i've used, i \
    set, i've set, i'll use, i'll keep, i'll put, i'll go with, i decided, i'll make, i \
    configured, i'll set, i'll store, i'll name, i'll write, i'll add, i'm going with, we'll use, \
    we settled, i'll leave, i'll run, i'll send, i've put, i made it, i'll cap, i'll limit, i'll \
    call, i named, i've named, i kept, i've kept, i'll treat";
/// Phrases that take back the statement just before.
const RETRACTIONS_LIST: &str = "hmm no, hm no, no wait, actually no, oh wait, wait no, on second \
    thought, scratch that, correction, or rather, ah no, oh no, sorry no, no sorry, well no";
/// More characters than such a phrase has.
const RETRACTION_CHARS: usize = 24;
/// Phrases that ask for an action.
const REQUESTS_LIST: &str = "could you, can you, would you, will you, please";
/// Phrases that refer to something before.
const POINTERS_LIST: &str = "those, these, them, both, all of them, the first, the second, the \
    third, the former, the latter, the other, that one, this one, that way, option";
/// Phrases that announce something unrelated to the task.
const ASIDES_LIST: &str = "by the way, btw, off topic, off-topic, unrelated, on a different note, \
    side note, fun fact, speaking of, random question, totally different, different subject, \
    haha, lol, small talk, on another note, on another topic, another topic, separately, \
    something else entirely, completely different, not related";

/// Phrases of a narrative: about the past, or about the speaker.
const NARRATIVES_LIST: &str = "had, was, were, used to, complained, called, happened, yesterday, \
    i am working, i'm working, i'm off, i will be, i'll be, i have no idea, heard, saw, watched";
/// Phrases about the private life of the speaker.
const PERSONAL_LIST: &str = "my, i'm, i am, wish me, enjoy, tonight, home, lunch, coffee, \
    weekend, weather, vacation, holiday, birthday, thanks, thank you";
/// Phrases that forbid something, or demand it without exception.
const STRICT_LIST: &str = "must, mustn't, never, always, don't, do not, cannot, can't, may not, \
    must not, should not, shouldn't, no more than, at most, only, has to, have to";

/// Exclamations before what is said.
const INTERJECTIONS_LIST: &str = "oh, ohh, ooh, ah, aha, ha, haha, hm, hmm, mm, uh, um, well, \
    wow, wtf, lol, lmao, god, gosh, ugh, huh, hey, eh, man, dude, oops, hi, hello, good morning, \
    morning, good to know, and, but, so, then, thanks";
/// Phrases that put off an answer.
const DEFERRALS_LIST: &str = "dunno, idk, i dunno, not sure, no idea, no clue, maybe, maybe \
    later, perhaps, possibly, let me ask, lemme ask, let me check, lemme check, let me think, let \
    me sleep, i'll ask, i'll check, i will ask, ask me again, we'll see, we will see, good \
    question, later, not now, not yet, let's discuss, let's talk, let's see, some other time, \
    another time, who knows, hard to say, eh, hm, hmm, i'd have to ask, i need to ask, no \
    opinion, up to you";
/// Phrases with which people say what they do not know or mind.
const DISCLAIMERS_LIST: &str = "don't remember, do not remember, can't remember, don't recall, \
    don't know, do not know, don't care, don't mind, don't worry, don't think, do not think, \
    don't understand, do not understand, don't expect, do not expect, can't say, cannot say, \
    can't tell, never mind, not your problem, no worries, don't ask, never thought, never heard, \
    don't get me wrong";

/// Returns true if a sentence ends in an agreement: `She nodded at that one, so yes.`
pub(super) fn ends_in_yes(lower: &Lower) -> bool {
    let text = lower.text.trim_end_matches(|c: char| !c.is_alphanumeric());
    [" yes", " agreed", " deal", " do it", " do that", " go ahead", " that works"]
        .iter()
        .any(|it| text.ends_with(it))
}

/// Returns true if a sentence begins with a rule or a choice: `Leave empty what is empty.`
pub(super) fn opens_with_cue(lower: &Lower) -> bool {
    let start = lower.text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let start = ["so ", "and ", "then ", "but ", "ok "]
        .iter()
        .find_map(|it| start.strip_prefix(it))
        .unwrap_or(start);
    RULES.at(start) > 0 || CHOICES.at(start) > 0
}

/// Returns true if a sentence puts off an answer.
pub(super) fn defers(lower: &Lower) -> bool {
    let start = lower.text.trim_start_matches(|c: char| !c.is_alphanumeric());
    DEFERRALS.at(start) > 0
}

/// Returns true if a sentence says what its speaker does not know or mind.
pub(super) fn disclaims(lower: &Lower) -> bool {
    DISCLAIMERS.is_in(lower)
}

/// Returns true if a sentence narrates: it is about the past or about the speaker.
pub(super) fn narrates(lower: &Lower) -> bool {
    NARRATIVES.is_in(lower)
}

/// Returns true if a sentence is about one's own life.
pub(super) fn is_personal(lower: &Lower) -> bool {
    PERSONAL.is_in(lower)
}

/// Returns true if a sentence sets a strict rule.
pub(super) fn forbids(lower: &Lower) -> bool {
    STRICT.is_in(lower) || rules_out(lower)
}

/// Returns how a sentence answers what is before it: by its first words, and by the last clause that
/// does nothing but agree, object or put off: `yes, I understand, but no`.
pub(super) fn answer(lower: &Lower) -> Answer {
    let mut answer = Answer::Other;
    for (nth, clause) in clauses(lower).into_iter().enumerate() {
        let (of, rest) = opening(clause);
        let takes_back = matches!(of, Answer::No | Answer::Later) && says_nothing(rest);
        if nth == 0 || takes_back {
            answer = of;
        }
        let puts_off = rest.ends_with(" later") || clause.starts_with("let's discuss");
        if answer == Answer::Yes && puts_off {
            answer = Answer::Later;
        }
    }
    answer
}

/// Returns true if a sentence objects with its first words.
pub(super) fn begins_with_no(lower: &Lower) -> bool {
    opening(&lower.text).0 == Answer::No
}

/// Returns true if a sentence begins with an objection that stands alone: `No, seriously: …`
pub(super) fn stops(lower: &Lower) -> bool {
    let rest = ["no", "nope", "nah", "wait", "hold on"];
    let rest = rest.iter().find_map(|it| lower.text.strip_prefix(it));
    rest.is_some_and(|it| it.starts_with([',', '.', '!', ':', ';', '…', '—']))
}

/// Returns true if a sentence agrees to a part of what is before it: `freeze yes, night no`.
pub(super) fn agrees_in_part(lower: &Lower) -> bool {
    const ENDS: [&str; 7] = [" yes", " no", " ok", " okay", " good", " fine", " not"];
    let is_part = |it: &str| {
        let before = ENDS.iter().find_map(|end| it.strip_suffix(end));
        before.is_some_and(|it| !says_nothing(it)) && opening(it).0 == Answer::Other
    };
    clauses(lower).into_iter().any(is_part)
        || [" except ", " apart from "].iter().any(|it| lower.text.contains(it))
}

/// Returns true if a sentence says on which condition or how far it agrees: `yes but only the parser`.
pub(super) fn limits(lower: &Lower) -> bool {
    has_word(lower, &["only", "if", "unless"])
}

/// Returns true if a sentence names parts by their places or their number: `the first two are fine`.
pub(super) fn counts_parts(lower: &Lower) -> bool {
    let words = ["first", "second", "third", "last", "both", "two", "three", "all", "half"];
    lower.text.starts_with(|it: char| it.is_ascii_digit()) || has_word(lower, &words)
}

/// Returns the words that a sentence takes away from what it agrees to: `ok, but no zip`.
pub(super) fn taken(lower: &Lower) -> Option<&str> {
    const LEADS: [&str; 7] = ["no ", "not ", "without ", "skip ", "drop ", "leave out ", "forget "];
    let lead = |it: &str| it.trim_start_matches("but ").trim_start_matches("and ").to_owned();
    clauses(lower).into_iter().skip(1).find(|it| LEADS.iter().any(|one| lead(it).starts_with(one)))
}

/// Returns true if a text has only words that say nothing by themselves.
#[inline(never)]
fn says_nothing(text: &str) -> bool {
    let mut words = text.split(|c| !is_word(c)).filter(|it| !it.is_empty());
    words.all(|it| GENERIC.split_whitespace().any(|one| one == it))
}

/// Returns the clauses of a sentence. Out of line, for each copy takes half a kilobyte.
#[inline(never)]
fn clauses(lower: &Lower) -> Vec<&str> {
    let parts = lower.text.split([',', ';', ':', '.', '!', '?', '…', '—']);
    let parts = parts.flat_map(|it| it.split(" but ")).map(str::trim);
    parts.filter(|it| !it.is_empty()).collect()
}

/// Returns how a clause begins, and what follows these words.
#[inline(never)]
fn opening(clause: &str) -> (Answer, &str) {
    let mut answer = Answer::Other;
    let mut rest = clause;
    loop {
        rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '+' | '👍'));
        let found = [
            (INTERJECTIONS.at(rest), None),
            (YES.at(rest), Some(Answer::Yes)),
            (NO.at(rest), Some(Answer::No)),
            (DEFERRALS.at(rest), Some(Answer::Later)),
            (if rest.starts_with('👍') { '👍'.len_utf8() } else { 0 }, Some(Answer::Yes)),
        ];
        // Of phrases of one length the first.
        let Some((length, of)) = found.into_iter().reduce(|a, b| if b.0 > a.0 { b } else { a })
        else {
            break;
        };
        if length == 0 {
            break;
        }
        answer = of.unwrap_or(answer);
        rest = rest.get(length..).unwrap_or_default();
    }
    (answer, rest)
}

/// Returns a sentence in lower case without the words with which it agrees or objects at its start.
pub(super) fn content(text: &str) -> String {
    opening(&lower(text)).1.trim_end_matches(['.', '!', ' ']).to_owned()
}

/// Returns true for a sentence that does nothing but agree or object.
pub(super) fn is_bare(lower: &Lower) -> bool {
    let has_digit = lower.text.contains(|c: char| c.is_ascii_digit());
    if lower.words() > 4 || has_digit {
        return false;
    }
    let retracts = RETRACTIONS.at(&lower.text);
    let (of, rest) = opening(lower.text.get(retracts..).unwrap_or_default());
    // `Start please.`
    let goes_on =
        ["start", "begin", "continue", "proceed"].iter().find_map(|it| rest.strip_prefix(it));
    let is_known = of != Answer::Other || goes_on.is_some() || rest.is_empty();
    let is_more =
        || chooses(lower) || corrects(lower) || forbids(lower) && !has_word(lower, &["only"]);
    is_known && says_nothing(goes_on.unwrap_or(rest)) || of == Answer::Yes && !is_more()
}

/// Returns true if a sentence has one of the words.
#[inline(never)]
fn has_word(lower: &Lower, words: &[&str]) -> bool {
    let is_at =
        |it: &usize, word: &str| lower.text.get(*it..).is_some_and(|it| opens_with(it, word));
    lower.starts.iter().any(|it| words.iter().any(|word| is_at(it, word)))
}

/// Returns true if a sentence allows something.
pub(super) fn permits(lower: &Lower) -> bool {
    has_word(lower, &["may", "can", "could", "allowed", "fine to", "ok to"])
}

/// Returns true if a sentence begins with a correction.
pub(super) fn begins_correction(lower: &Lower) -> bool {
    let (_, rest) = opening(&lower.text);
    CORRECTIONS.at(&lower.text) > 0 || CORRECTIONS.at(rest) > 0
}

/// Returns true if a sentence corrects what it has no words of: `Thursday works better after all`.
pub(super) fn corrects_what_is_before(lower: &Lower) -> bool {
    let is_other = [" instead", " after all"].iter().any(|it| lower.text.contains(it));
    is_other || answer(lower) == Answer::No && has_pronoun(lower)
}

/// Returns true if a sentence points at something by `it`, `that` or `them`: `then raise it`.
pub(super) fn has_pronoun(lower: &Lower) -> bool {
    has_word(lower, &["it", "it's", "that", "that's", "them", "those", "these"])
}

/// Returns true if a sentence corrects something.
pub(super) fn corrects(lower: &Lower) -> bool {
    CORRECTIONS.is_in(lower)
}

/// Returns true if a sentence sets a rule.
pub(super) fn rules(lower: &Lower) -> bool {
    RULES.is_in(lower) || rules_out(lower)
}

/// Returns true if a sentence rules something out: `yeah no mails`.
fn rules_out(lower: &Lower) -> bool {
    clauses(lower).into_iter().any(|it| {
        let (_, rest) = opening(it);
        let lead = it.strip_suffix(rest).unwrap_or_default().trim_end();
        lead.rsplit(' ').next() == Some("no") && !says_nothing(rest)
    })
}

/// Returns true if a sentence makes a choice.
pub(super) fn chooses(lower: &Lower) -> bool {
    CHOICES.is_in(lower)
}

/// Returns true if a sentence of a model proposes something.
pub(super) fn proposes(lower: &Lower) -> bool {
    PROPOSALS.is_in(lower)
}

/// Returns true if a sentence tells how something is: `Passwords are stored in plain text.`
pub(super) fn describes(lower: &Lower) -> bool {
    const VERBS: [&str; 12] = [
        "is", "are", "was", "were", "has", "have", "isn't", "aren't", "does", "doesn't", "lacks",
        "contains",
    ];
    has_word(lower, &VERBS)
}

/// Returns true if a sentence says that what is before it is a fault: `That is dangerous.`
pub(super) fn blames(lower: &Lower) -> bool {
    const FAULTS: [&str; 12] = [
        "dangerous",
        "wrong",
        "bad",
        "bug",
        "problem",
        "risk",
        "risky",
        "insecure",
        "unsafe",
        "broken",
        "vulnerability",
        "leak",
    ];
    let starts = ["that", "this", "which", "it"];
    starts.iter().any(|it| opens_with(&lower.text, it)) && has_word(lower, &FAULTS)
}

/// Returns true if a sentence asks how something is: `Review the login.`
pub(super) fn inspects(lower: &Lower) -> bool {
    const VERBS: [&str; 10] = [
        "review",
        "check",
        "audit",
        "inspect",
        "look at",
        "look into",
        "investigate",
        "analyse",
        "analyze",
        "why",
    ];
    let start = opening(&lower.text).1;
    let asked = start.get(REQUESTS.at(start)..).unwrap_or_default().trim_start();
    VERBS.iter().any(|it| opens_with(asked, it))
}

/// Returns true if an answer accepts a plan, and does not only find something true.
pub(super) fn assents(lower: &Lower) -> bool {
    has_word(
        lower,
        &["agree", "agreed", "deal", "approved", "lgtm", "go ahead", "do it", "do that"],
    )
}

/// Returns true if an answer takes note of something: `good catch`, `Right, I saw that.`
pub(super) fn notes(lower: &Lower) -> bool {
    has_word(lower, &["good catch", "nice catch", "well spotted", "i saw", "i noticed", "i know"])
}

/// Returns true if a sentence gives up what it answers to: `Oh. That kills it.`
pub(super) fn gives_up(lower: &Lower) -> bool {
    const PHRASES: [&str; 7] = [
        "kills it",
        "kills that",
        "rules it out",
        "rules that out",
        "dealbreaker",
        "deal breaker",
        "showstopper",
    ];
    has_word(lower, &PHRASES)
}

/// Returns true if a sentence says that something was done: `Done, it is in the branch.`
pub(super) fn reports_done(lower: &Lower) -> bool {
    ["done", "noted", "changed", "fixed", "added"].iter().any(|it| opens_with(&lower.text, it))
}

/// Returns true if a sentence quotes a page, a file or an output.
pub(super) fn quotes(lower: &Lower) -> bool {
    is_quotation(&lower.text)
}

/// Returns true if a sentence of a model reports its choice.
pub(super) fn tells_choice(lower: &Lower) -> bool {
    OWN_CHOICES.is_in(lower)
}

/// Returns true if a sentence takes back the statement just before: `Hmm, no, the owner.`
pub(super) fn retracts(lower: &Lower) -> bool {
    // `Hmm, no, …` and `Hmm no …`. No phrase is longer.
    let plain = lower.text.chars().filter(|it| !matches!(it, ',' | '.' | '…'));
    let plain: String = plain.take(RETRACTION_CHARS).collect();
    RETRACTIONS.at(&plain) > 0
}

/// Returns true if a question asks to do something: `Could you also …?`
pub(super) fn asks_to_do(lower: &Lower) -> bool {
    REQUESTS.at(&lower.text) > 0
}

/// Returns true if a sentence refers to an earlier statement: `Keep those three.`
pub(super) fn points_back(lower: &Lower) -> bool {
    POINTERS.is_in(lower)
}

/// Returns true if a sentence only greets.
pub(super) fn greets(lower: &Lower) -> bool {
    const GREETINGS: [&str; 6] = ["hi", "hey", "hello", "good morning", "morning", "good evening"];
    lower.words() <= 3 && GREETINGS.iter().any(|it| opens_with(&lower.text, it))
}

/// Returns true if a sentence is of something before it: `only if there is none`, `then raise it`.
pub(super) fn depends(lower: &Lower) -> bool {
    ["only", "if", "unless", "then", "except"].iter().any(|it| opens_with(&lower.text, it))
}

pub(super) fn opens_with_then(lower: &Lower) -> bool {
    opens_with(&lower.text, "then")
}

/// Returns true if a sentence announces something else: at its start, for `by the way` may stand anywhere.
pub(super) fn is_aside(lower: &Lower) -> bool {
    let start = lower.text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let start = start.strip_prefix("oh, ").or_else(|| start.strip_prefix("and ")).unwrap_or(start);
    ASIDES.at(start) > 0
}

fn opens_with(lower: &str, phrase: &str) -> bool {
    lower.strip_prefix(phrase).is_some_and(|rest| !rest.chars().next().is_some_and(is_word))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '\''
}
