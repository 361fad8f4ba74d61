//! Assemblies, and the envelopes that a session keeps of them. The rules of an assembly and the
//! JSON of its envelope are the core's own. The model states which entries are candidates, which
//! envelopes are stored, and which texts each caller sees.

use std::rc::Rc;

use shared_context_core::{
    Code, CompactionCommand, CompactionReply, ContextReply, Error, Key, Line, Reply, SessionId,
    compact::CompactItems,
    context::{
        AssembleContext, Assembled, CompactionHeading,
        assembly::{self, Block, Heading, Previous, Request},
        kept::{Content, ENVELOPES_BYTES_MAX, ENVELOPES_MAX, KeptEnvelope, KeptId, Part},
    },
    digest::sha256,
    item::{self, Authority, Body, Item, Kind, ListedKind, Target},
    port::Revision,
    time::Timestamp,
    tokens::approximate,
};

use super::{
    context::Made,
    state::{Model, is_granted, is_limited, name, participant, sees_all},
};

/// The bytes of a part besides its texts, in a document.
const PART_BYTES: u64 = 320;

/// An envelope as one reader sees it.
#[derive(Clone)]
pub(super) struct Seen {
    envelope: KeptEnvelope,
    is_kept: bool,
}

/// Returns the keys of the entries that an envelope has as items.
fn keys(it: &KeptEnvelope) -> Vec<Key> {
    let head: serde_json::Value = serde_json::from_str(&it.head).unwrap();
    let items = head["items"].as_array().unwrap();
    let ids = items.iter().filter_map(|it| it["id"].as_str()?.strip_prefix("entry:"));
    ids.filter_map(|it| Key::parse(it).ok()).collect()
}

/// The candidates of an assembly, and the entry that each is the value of.
type Candidates = (Vec<Item>, Vec<Option<(Key, Revision)>>);

impl Seen {
    /// Returns the reply to an assembly with this envelope.
    pub(super) fn assembled(self) -> Assembled {
        let Self { envelope, is_kept } = self;
        let part = |it: &Part| {
            let text = match &it.content {
                Content::Text(text) => text.clone(),
                Content::Redacted(reason) => format!("[redacted: {reason}]"),
                Content::Withheld => "[withheld]".to_owned(),
                Content::Reference => String::new(),
            };
            [it.before.as_str(), &text, &it.after].concat()
        };
        let parts: String = envelope.parts.iter().map(part).collect();
        Assembled {
            id: is_kept.then_some(KeptId::envelope(envelope.number)),
            text: [envelope.open.as_str(), &parts, &envelope.close].concat(),
            envelope: envelope.head,
        }
    }

    /// Returns the envelope without texts that auditors may not see.
    pub(super) fn for_auditors(mut self) -> KeptEnvelope {
        withhold(&mut self.envelope, |it| !it.is_evidence);
        self.envelope
    }
}

impl Model {
    /// Assembles a context, and keeps its envelope.
    pub(super) fn keep(&mut self, clock: u64, who: &str, it: &AssembleContext) -> Made {
        let number = self.context.last_envelope + 1;
        let made = self.assemble(clock, who, it, Some(number))?;
        self.store(&made.envelope)?;
        let reply = ContextReply::Assembled(Box::new(made.assembled()));
        Ok((KeptId::envelope(number), Reply::Context(reply)))
    }

    /// Compacts a conversation, and keeps an envelope with the texts of the result.
    pub(super) fn compact(&mut self, clock: u64, who: &str, it: &CompactItems) -> Made {
        let command = CompactionCommand::Compact(Box::new(it.clone()));
        let mut reply = super::compaction::answer(&command)?;
        let CompactionReply::Compacted { compaction, items, envelope, .. } = &mut reply else {
            panic!("{reply:?} is no compaction");
        };
        let number = self.context.last_envelope + 1;
        let heading = CompactionHeading {
            number,
            session: &SessionId::new(self.about.session.as_str()).unwrap(),
            created_by: &participant(who),
            now: Timestamp(clock),
        };
        let parts = compaction.items(items).iter().map(result_part).collect();
        let kept = KeptEnvelope::of_compaction(it, items, compaction, &heading);
        self.store(&KeptEnvelope { parts, ..kept })?;
        *envelope = Some(number);
        Ok((KeptId::envelope(number), Reply::Compaction(reply)))
    }

    /// Keeps an envelope, and removes the oldest beyond the limits.
    fn store(&mut self, envelope: &KeptEnvelope) -> Result<(), Code> {
        let bytes = document_bytes(envelope);
        if bytes > ENVELOPES_BYTES_MAX {
            return Err(Code::EnvelopeLimit);
        }
        let kept = Rc::make_mut(&mut self.context);
        kept.last_envelope = envelope.number;
        kept.envelopes.push(envelope.clone());
        self.envelope_bytes.push(bytes);
        while kept.envelopes.len() > ENVELOPES_MAX
            || self.envelope_bytes.iter().sum::<u64>() > ENVELOPES_BYTES_MAX
        {
            kept.envelopes.remove(0);
            self.envelope_bytes.remove(0);
        }
        Ok(())
    }

    /// Assembles a context. It has an id if it gets a `number`.
    pub(super) fn assemble(
        &self,
        clock: u64,
        who: &str,
        it: &AssembleContext,
        number: Option<u64>,
    ) -> Result<Seen, Code> {
        let (items, entries) = self.candidates(who, it)?;
        let previous = match it.previous {
            Some(id) => {
                let envelope = self.envelope_for(who, id)?.envelope;
                if envelope.is_of_compaction() {
                    return Err(Code::MalformedRequest);
                }
                Previous::of_envelope(&envelope.head, &envelope.open)
            }
            None => Previous::default(),
        };
        let request = Request {
            task: &it.task,
            items: &items,
            rules: &it.rules,
            previous: &previous,
            now: Timestamp(clock),
        };
        let assembled = assembly::assemble(&request, &|text| Ok(approximate(text)));
        let assembled = assembled.map_err(|error| error.code())?;
        let id = number.map(|it| KeptId::envelope(it).to_string());
        let heading = Heading {
            id: id.as_deref(),
            owner: Some((&SessionId::new(self.about.session.as_str()).unwrap(), &participant(who))),
            shows_hidden: sees_all(name(who)),
        };
        let part = |block: &Block| part(block, &it.task, &items, &entries);
        let envelope = KeptEnvelope {
            number: number.unwrap_or_default(),
            created_by: participant(who),
            head: assembled.envelope(&request, &heading),
            parts: assembled.blocks.iter().map(part).collect(),
            open: assembled.open.clone(),
            close: assembled.close.clone(),
        };
        let made = Seen { envelope, is_kept: number.is_some() };
        assert_eq!(made.clone().assembled().text, assembled.text, "the parts make up the text");
        Ok(made)
    }

    /// Returns the items of the request, the entries that `who` may read, and the round state.
    fn candidates(&self, who: &str, it: &AssembleContext) -> Result<Candidates, Code> {
        let mut items = it.items.clone();
        let mut entries = vec![None; items.len()];
        let listed = |id: String, kind, text: String, tokens| {
            let mut item = Item::inline(id, Kind::Listed(kind), text);
            item.tokens = tokens;
            item.source.authority = Authority::Model;
            item
        };
        for entry in self.readable(who) {
            if entry.is_redacted || !it.entries.as_ref().is_some_and(|it| it.matches(&entry.key)) {
                continue;
            }
            let (id, text) = (format!("entry:{}", entry.key), self.value_of(&entry));
            let mut item = listed(id, ListedKind::WorkingMemory, text, entry.value_tokens);
            item.at = Some(entry.written_at);
            item.expires_at = entry.expires_at;
            item.source.origin = Some(entry.written_by.to_string());
            items.push(item);
            entries.push(Some((entry.key, entry.revision)));
        }
        if it.has_round_state {
            if is_limited(who) {
                return Err(Code::Forbidden);
            }
            if let Some((round, text)) = self.rounds.last_state() {
                let (id, tokens) = (format!("round:{round}"), approximate(&text));
                items.push(listed(id, ListedKind::TeamMemory, text, tokens));
                entries.push(None);
            }
        }
        let code = |error: Error| error.code();
        item::check_all(&items).map_err(code)?;
        assembly::check_ids(&items, &it.rules).map_err(code)?;
        Ok((items, entries))
    }

    /// Returns an envelope for `who`: without the texts of entries that it may not read now, and
    /// without the state of a round for a credential that is limited to some keys. For such a
    /// credential, an envelope with another entry does not exist.
    pub(super) fn envelope_for(&self, who: &str, id: KeptId) -> Result<Seen, Code> {
        let found = self.context.envelopes.iter().find(|it| it.number == id.number);
        let is_own = |it: &&KeptEnvelope| it.created_by == participant(who);
        let found = found.filter(|it| sees_all(name(who)) || is_own(it));
        let found = found.filter(|it| keys(it).iter().all(|it| is_granted(who, it)));
        let mut envelope = found.ok_or(Code::EnvelopeNotFound)?.clone();
        withhold(&mut envelope, |it| match (&it.entry, &it.item) {
            _ if who == "admin" => false,
            (Some((key, _)), _) => !self.entries.contains_key(key) || self.is_hidden(who, key),
            (None, Some(id)) => is_limited(who) && id.starts_with("round:"),
            (None, None) => false,
        });
        Ok(Seen { envelope, is_kept: true })
    }

    /// Redacts the kept texts that `is_secret` accepts, and returns how many.
    pub(super) fn redact_kept(
        &mut self,
        reason: &Line,
        is_secret: &dyn Fn(Option<&Part>, &str) -> bool,
    ) -> u32 {
        let kept = Rc::make_mut(&mut self.context);
        let mut count = 0;
        for part in kept.envelopes.iter_mut().flat_map(|it| &mut it.parts) {
            if matches!(&part.content, Content::Text(text) if is_secret(Some(part), text)) {
                part.content = Content::Redacted(reason.as_str().to_owned());
                count += 1;
            }
        }
        for it in &mut kept.missing {
            let answer = it.answer.as_mut().map(|it| &mut it.text);
            for text in answer.into_iter().chain([&mut it.text]).filter(|it| is_secret(None, it)) {
                *text = format!("[redacted: {}]", reason.as_str());
                count += 1;
            }
        }
        count
    }
}

/// Returns the part of an envelope that has this block.
fn part(block: &Block, task: &str, items: &[Item], entries: &[Option<(Key, Revision)>]) -> Part {
    let item = block.place.map(|it| &items[it]);
    let (digest, content) = match item.map(|it| &it.body) {
        None => (sha256(task.trim_end()), Content::Text(task.trim_end().to_owned())),
        Some(Body::Text(text)) => (sha256(text), Content::Text(text.clone())),
        Some(Body::Reference { digest }) => (digest.clone(), Content::Reference),
    };
    Part {
        item: item.map(|it| it.id.clone()),
        digest,
        before: block.before.clone(),
        content,
        after: block.after.clone(),
        entry: block.place.and_then(|it| entries[it].clone()),
        is_evidence: item.is_none_or(|it| it.visibility.has(Target::EvidenceExport)),
    }
}

/// Returns the part of an envelope that is this item of the result of a compaction.
fn result_part(item: &Item) -> Part {
    let (digest, content) = match &item.body {
        Body::Text(text) => (sha256(text), Content::Text(text.clone())),
        Body::Reference { digest } => (digest.clone(), Content::Reference),
    };
    Part {
        item: Some(item.id.clone()),
        digest,
        before: String::new(),
        content,
        after: String::new(),
        entry: None,
        is_evidence: item.visibility.has(Target::EvidenceExport),
    }
}

/// Leaves out the texts of the parts that `is_withheld` accepts.
fn withhold(envelope: &mut KeptEnvelope, is_withheld: impl Fn(&Part) -> bool) {
    for part in &mut envelope.parts {
        if matches!(part.content, Content::Text(_)) && is_withheld(part) {
            part.content = Content::Withheld;
        }
    }
}

/// Returns the bytes that an envelope takes in a document, at most.
pub(super) fn document_bytes(it: &KeptEnvelope) -> u64 {
    let string = |text: &str| serde_json::to_string(text).unwrap().len() as u64;
    let part = |it: &Part| {
        let content = match &it.content {
            Content::Text(text) | Content::Redacted(text) => string(text),
            Content::Reference | Content::Withheld => 0,
        };
        let item = it.item.as_deref().map_or(0, string);
        PART_BYTES + string(&it.before) + content + string(&it.after) + item
    };
    let frame = it.head.len() as u64 + string(&it.open) + string(&it.close);
    frame + it.parts.iter().map(part).sum::<u64>()
}
