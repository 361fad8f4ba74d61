//! Reads texts line by line, and finds facts in them.

use std::borrow::Cow;

use super::{
    fact::{Class, Fact, Place, Status},
    form::{
        changes_file, details, following, ids, inner_label, is_marked_issue, is_part, is_state,
        is_to_do, label_of,
    },
    line::{Head, Line, head, lines, sentence_ends, skip_bullet},
    marks,
    settle::{self, Report},
};
use crate::{
    count::{narrow, widen},
    digest::sha256,
    item::{Authority, Item, Kind, ListedKind},
    text::{ends_as_question, lower, words::Reader},
};

/// The longest fact, in bytes; a longer one ends at the last word before.
const FACT_BYTES_MAX: usize = 2_000;
/// The longest goal that is taken from the first message, in bytes.
const GOAL_BYTES_MAX: usize = 600;

/// The state of reading an item.
#[derive(Debug)]
pub(super) struct Scan<'a> {
    text: &'a str,
    item: usize,
    authority: Authority,
    is_tool_call: bool,
    /// Of a digest, the first byte of each line and the authority of its source.
    digest: Vec<(usize, Authority)>,
    /// A place whose number of characters is known: bytes and characters.
    counted: (usize, u32),
    pub(super) facts: Vec<Fact>,
    /// The sentences that say that something is done, or that it is no longer.
    pub(super) reports: Vec<Report>,
    /// True if the sentence quotes a page or an output; and the line that ends such a list.
    is_quoted: bool,
    quoted_to: usize,
    /// The reader of words, once it is needed.
    reader: Option<Reader>,
    /// The number of lines that were read.
    pub(super) lines: u32,
}

/// Returns the authority of an item: that of its source if it is known, else the one its kind
/// implies.
pub(super) fn authority(item: &Item) -> Authority {
    use ListedKind as L;
    if item.source.authority != Authority::Unknown {
        return item.source.authority;
    }
    match item.kind {
        Kind::Listed(L::UserMessage | L::ManualNote) => Authority::User,
        Kind::Listed(L::SystemPrompt | L::DeveloperInstruction | L::PolicyNote) => {
            Authority::Operator
        }
        Kind::Listed(
            L::SessionHistory | L::PeerAgentMessage | L::ComputedSummary | L::ThreadSummary,
        ) => Authority::Model,
        Kind::Listed(
            L::ToolResult | L::ExternalResource | L::RetrievalResult | L::BrowserState,
        ) => Authority::ToolExternal,
        _ => Authority::Unknown,
    }
}

impl<'a> Scan<'a> {
    /// Creates the scan of an item, of which nothing is read yet.
    pub(super) fn new((place, item): (usize, &'a Item), text: &'a str) -> Self {
        Self {
            text,
            item: place,
            authority: authority(item),
            is_tool_call: item.kind.as_str() == "tool_call",
            digest: super::digest::authorities(item),
            counted: (0, 0),
            facts: Vec::new(),
            reports: Vec::new(),
            is_quoted: false,
            quoted_to: 0,
            reader: None,
            lines: 0,
        }
    }

    /// Reads the lines from `first` on, at most `lines_max`, until there are `facts_max` facts.
    /// Returns the line to go on from if it did not reach the end. `is_later` is true if this
    /// extraction has facts of other items.
    pub(super) fn read(
        &mut self,
        first: u32,
        (lines_max, facts_max): (u32, usize),
        is_later: bool,
    ) -> Option<u32> {
        let lines = lines(self.text);
        let mut at = widen(first);
        while let Some(line) = lines.get(at) {
            if self.lines >= lines_max || self.facts.len() >= facts_max {
                return Some(line.number);
            }
            let before = (self.facts.len(), self.reports.len());
            let read = self.line(&lines, at);
            if self.facts.len() > facts_max && (is_later || before.0 > 0) {
                // A line is read as a whole: the next extraction begins with it.
                self.facts.truncate(before.0);
                self.reports.truncate(before.1);
                return Some(line.number);
            }
            self.lines = self.lines.saturating_add(narrow(read));
            at = at.saturating_add(read);
        }
        None
    }

    /// Reads the line at `at`, and those that belong to the same fact. Returns how many.
    fn line(&mut self, lines: &[Line<'a>], at: usize) -> usize {
        let Some(line) = lines.get(at).copied() else { return 1 };
        self.is_quoted = at < self.quoted_to;
        if line.text.trim_start().starts_with('>') {
            return 1;
        }
        let mut start = head(line.text, &|it| marks::label(it).is_some() || is_part(it));
        let mut rest = line.text.get(start.rest..).unwrap_or_default();
        if line.is_fenced {
            // `// TODO: rename it`
            rest = rest.trim_start_matches(['/', '<', '!', '-', '#', '*', ';', ' ']);
            start.rest = line.text.len().saturating_sub(rest.len());
        }
        if self.is_tool_call && changes_file(rest, at == 0) {
            self.add(Class::Modification, line, (line.start, start.rest), rest.len(), start);
            return 1;
        }
        let labelled = label_of(rest).filter(|it| !line.is_fenced || is_to_do(it.1));
        if let Some((class, _)) = labelled {
            return self.add_with_list(class, (lines, at), start.rest, start);
        }
        if line.is_fenced { 1 } else { self.sentences(line, start, (lines, at)) }
    }

    /// Adds a fact that begins `in_line` of the line at `at`, with the lines that belong to it. Returns
    /// how many lines it has.
    fn add_with_list(
        &mut self,
        class: Class,
        (lines, at): (&[Line<'a>], usize),
        in_line: usize,
        start: Head<'a>,
    ) -> usize {
        let Some(line) = lines.get(at).copied() else { return 1 };
        let first = line.start.saturating_add(in_line);
        let is_ours = self.authority_at(first) < Authority::ToolExternal;
        let is_kept = is_ours && class != Class::Issue && score(class, self.authority, "") == 100;
        // In a digest the next entry is another line of it.
        let next = self.digest.get(self.digest.partition_point(|it| it.0 <= first));
        let max = next.map_or(FACT_BYTES_MAX, |it| it.0.saturating_sub(line.start));
        let count = following(lines, at, is_kept, max.min(FACT_BYTES_MAX));
        let last = lines.get(at.saturating_add(count).saturating_sub(1)).unwrap_or(&line);
        let end = last.start.saturating_add(last.text.trim_end().len());
        self.add(class, line, (line.start, in_line), end.saturating_sub(first), start);
        count
    }

    /// Reads the sentences of a line, and a list below the last one. Returns how many lines it read.
    fn sentences(
        &mut self,
        line: Line<'a>,
        start: Head<'a>,
        (lines, at): (&[Line<'a>], usize),
    ) -> usize {
        let rest = line.text.get(start.rest..).unwrap_or_default();
        let mut from = 0;
        for end in sentence_ends(rest) {
            let sentence = rest.get(from..end).unwrap_or_default();
            let before = start.rest.saturating_add(from);
            from = end;
            let trimmed = sentence.trim_start();
            let before = before.saturating_add(sentence.len().saturating_sub(trimmed.len()));
            let lower = lower(&unquoted(trimmed));
            let sentence = marks::Sentence::new(&lower);
            let is_question = ends_as_question(trimmed);
            // `Is it fixed?` settles nothing.
            let mut settles = !is_question && sentence.may_settle();
            let has_list = end == rest.len() && trimmed.trim_end().ends_with(':');
            let class = match label_of(trimmed) {
                Some((class, _)) => Some(class),
                None if is_question => None,
                None => sentence.class(lower.len().saturating_sub(skip_bullet(&lower).len())),
            };
            // A page that an agent quotes is the source.
            let may_be_told = class.is_some() || settles || has_list;
            let is_told =
                may_be_told && self.authority > Authority::Operator && marks::is_quotation(&lower);
            self.is_quoted = is_told || at < self.quoted_to;
            if is_told && has_list {
                self.quoted_to = at.saturating_add(following(lines, at, true, FACT_BYTES_MAX));
            }
            let is_ours = !is_question
                && self.authority_at(line.start.saturating_add(before)) < Authority::ToolExternal;
            let is_by_person = is_ours && self.authority <= Authority::Operator;
            settles = settles && self.add_report(&lower, line, (before, trimmed));
            let class = match class {
                Some(Class::Constraint | Class::Decision) if settles => None,
                None if is_state(trimmed) => Some(Class::State),
                None if is_ours && !settles && is_marked_issue(trimmed) => Some(Class::Issue),
                None if is_by_person && sentence.chooses() => Some(Class::Decision),
                None if !is_question && !settles && self.defines(trimmed) => Some(Class::Fact),
                it => it,
            };
            // `After the call, DECISION: cart in Redis.`
            let inner = if is_ours && !settles { inner_label(trimmed) } else { None };
            if let Some((class, at)) = inner.filter(|_| label_of(trimmed).is_none()) {
                let length = trimmed.trim_end().len().saturating_sub(at);
                self.add(class, line, (line.start, before.saturating_add(at)), length, start);
                continue;
            }
            let Some(class) = class else { continue };
            // `Never do these:` has a list.
            if has_list {
                return self.add_with_list(class, (lines, at), before, start);
            }
            self.add(class, line, (line.start, before), trimmed.trim_end().len(), start);
        }
        1
    }

    /// Returns true if a member of the team states a value: `The retry limit is 5.`
    fn defines(&self, sentence: &str) -> bool {
        let tells = [" is ", " are ", " was moved to ", " = "];
        self.authority <= Authority::Operator
            && sentence.starts_with(|c: char| c.is_uppercase())
            && sentence.bytes().any(|it| it.is_ascii_digit())
            && tells.iter().any(|it| sentence.contains(it))
    }

    /// Adds a fact of `length` bytes that begins in `line`.
    fn add(
        &mut self,
        class: Class,
        line: Line<'a>,
        (of_line, in_line): (usize, usize),
        length: usize,
        start: Head<'a>,
    ) {
        let first = of_line.saturating_add(in_line);
        let whole = self.text.get(first..).unwrap_or_default();
        let text = bounded(whole, length.min(FACT_BYTES_MAX));
        let text = text.trim_end();
        if text.is_empty() {
            return;
        }
        let char_start = self.chars_before(first);
        let end = first.saturating_add(text.len());
        let char_end = char_start.saturating_add(narrow(text.chars().count()));
        let details = details(text);
        let by = details.iter().find(|it| it.label == "agent").map(|it| it.text.as_str());
        let made_by = by.or(start.speaker).and_then(marks::author).map(str::to_owned);
        let is_done =
            details.iter().any(|it| it.label == "status" && settle::is_done(&lower(&it.text)));
        let authority = self.authority_at(first);
        let id = if class == Class::Issue { ids(text).into_iter().next() } else { None };
        let severity = if class == Class::Issue { marks::severity(text) } else { None };
        let mut score = score(class, authority, text);
        if score == 100
            && class == Class::Constraint
            && authority == Authority::Model
            && marks::is_hedged(&lower(text))
        {
            // A model that guesses sets no rule.
            score = 70;
        }
        self.facts.push(Fact {
            class,
            score,
            place: Place {
                item: self.item,
                line: line.number,
                start: first,
                end,
                char_start,
                char_end,
            },
            details,
            id,
            severity,
            status: if is_done { Status::Resolved } else { Status::Open },
            said_at: start.said_at.map(str::to_owned),
            made_by,
            authority,
            digest: sha256(text),
            text: text.to_owned(),
            superseded_by: None,
        });
    }

    /// Returns the authority of what begins at a byte: in a digest, that of the line's source.
    fn authority_at(&self, byte: usize) -> Authority {
        let line_of = self.digest.partition_point(|it| it.0 <= byte).checked_sub(1);
        let source = line_of.and_then(|it| self.digest.get(it));
        let authority = source.map_or(self.authority, |it| it.1);
        if self.is_quoted { authority.max(Authority::ToolExternal) } else { authority }
    }

    /// Adds a sentence that begins `in_line` if it says that something is done, or no longer is. `lower`
    /// is it in lower case. Returns true if it does.
    fn add_report(&mut self, lower: &str, line: Line<'_>, (in_line, text): (usize, &str)) -> bool {
        let Some(report) = settle::report(&mut self.reader, lower) else { return false };
        let start = line.start.saturating_add(in_line);
        let end = start.saturating_add(text.trim_end().len());
        let place = Place { item: self.item, line: line.number, start, end, ..Place::default() };
        let by = self.authority_at(start);
        self.reports.push(Report { place, by, is_known: !self.digest.is_empty(), ..report });
        true
    }

    /// Adds the question with which an item ends.
    pub(super) fn add_question(&mut self) {
        let trimmed = self.text.trim_end();
        if !ends_as_question(trimmed) {
            return;
        }
        self.is_quoted = false;
        let first = trimmed.rfind('\n').map_or(0, |it| it.saturating_add(1));
        let line = trimmed.get(first..).unwrap_or_default();
        let mut from = 0;
        let mut last = 0;
        for end in sentence_ends(line) {
            (last, from) = (from, end);
        }
        let sentence = line.get(last..).unwrap_or_default();
        let skipped = sentence.len().saturating_sub(sentence.trim_start().len());
        let number = narrow(trimmed.matches('\n').count());
        let line = Line { number, start: first, text: line, is_fenced: false };
        let start = last.saturating_add(skipped);
        self.add(
            Class::Question,
            line,
            (first, start),
            sentence.trim_start().len(),
            Head::default(),
        );
    }

    /// Adds the first paragraph as the goal.
    pub(super) fn add_goal(&mut self) {
        let text = self.text.trim_start();
        let first = self.text.len().saturating_sub(text.len());
        let blank = lines(text).into_iter().find(|it| it.text.trim().is_empty());
        let paragraph = blank.and_then(|it| text.get(..it.start)).unwrap_or(text).trim_end();
        let long = bounded(paragraph, GOAL_BYTES_MAX);
        let fits = sentence_ends(long).filter(|it| *it < long.len() || long == paragraph);
        let length = fits.last().unwrap_or(long.len());
        let number = narrow(self.text.get(..first).unwrap_or_default().matches('\n').count());
        let line = Line { number, start: first, text, is_fenced: false };
        self.add(Class::Goal, line, (first, 0), length, Head::default());
    }

    /// Counts the characters before a byte. Bytes are asked for in ascending order.
    fn chars_before(&mut self, byte: usize) -> u32 {
        let (from, counted) = if byte < self.counted.0 { (0, 0) } else { self.counted };
        let between = self.text.get(from..byte).unwrap_or_default();
        let count = counted.saturating_add(narrow(between.chars().count()));
        self.counted = (byte, count);
        count
    }
}

/// Returns the importance of a fact. A sentence from outside the team may look like a rule: it is
/// found, but not always kept.
fn score(class: Class, authority: Authority, text: &str) -> u8 {
    let is_ours = authority < Authority::ToolExternal;
    let is_labelled = label_of(text).is_some();
    match class {
        Class::Decision | Class::Constraint | Class::Goal | Class::Critical | Class::State
            if is_ours =>
        {
            100
        }
        Class::Preference if authority <= Authority::Operator => 100,
        // A person who writes `FACT:` wants it to be kept.
        Class::Fact if authority <= Authority::Operator && is_labelled => 100,
        Class::Issue => 100,
        Class::Decision
        | Class::Constraint
        | Class::Goal
        | Class::Preference
        | Class::Critical
        | Class::State
        | Class::Question
        | Class::Fact => 70,
        Class::Failure | Class::Learning | Class::Pattern => 60,
        // The last five get 100 when all are known.
        Class::Modification => 40,
        Class::Prune => 30,
        Class::Noise => 20,
    }
}

/// Returns the start of `text` of at most `max` bytes, up to the end of a word.
fn bounded(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let mut end = max;
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    let cut = text.get(..end).unwrap_or_default();
    if text.get(end..).is_some_and(|it| it.starts_with(char::is_whitespace)) {
        return cut;
    }
    cut.rfind(char::is_whitespace).and_then(|it| cut.get(..it)).unwrap_or(cut)
}

/// Returns a sentence without the text in quotation marks or backticks: phrases there are not the
/// speaker's own.
fn unquoted(sentence: &str) -> Cow<'_, str> {
    const CURLY: u8 = 0xe2; // the first byte of “
    if !sentence.bytes().any(|it| matches!(it, b'"' | b'`' | CURLY)) {
        return Cow::Borrowed(sentence);
    }
    let mut kept = String::with_capacity(sentence.len());
    let mut quote = None;
    for c in sentence.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            Some(_) => {}
            None => match c {
                '"' | '`' => quote = Some(c),
                '“' => quote = Some('”'),
                c => kept.push(c),
            },
        }
    }
    // Quotation marks that are never closed do not count.
    if quote.is_some() { Cow::Borrowed(sentence) } else { Cow::Owned(kept) }
}
