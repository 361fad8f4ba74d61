//! Packets: their possible sources, their versions, their readers, and the effect of feedback. The
//! rules of a packet are the core's own: which statements it has, how it is written and counted,
//! and how it differs from another.

mod conceal;
mod feedback;
pub(super) mod redaction;
mod sources;
mod writing;

use std::{cmp::Reverse, rc::Rc};

use shared_context_core::{
    Code, Command, Error, Key, PacketsCommand, PacketsReply, Reply,
    audit::{AuditAction, Subject},
    packets::{
        self, Address, Head, Packet, PacketAnswer, PacketInfo, PacketRead, QueryPacket, ReadPacket,
        Recipe, Source, SourceState, Stale,
        kept::{KeptPacket, PacketVersion, Reader},
    },
    port::Revision,
    store::access::Access,
    time::Timestamp,
    tokens::{Tokens, approximate},
};

use super::{
    changes::Transition,
    state::{Answer, Model, is_like, is_limited, name, participant, sees_all},
};

/// The reply to a command, and the next session if it changes it.
type Made = Result<(PacketsReply, Option<Model>), Code>;

/// A packet that was just made, or is as if it were.
const NOW: Revision = Revision(u64::MAX);

/// Counts the tokens of a text.
#[expect(clippy::unnecessary_wraps, reason = "as the core counts")]
fn count(text: &str) -> Result<Tokens, Error> {
    Ok(approximate(text))
}

/// Returns true if a packet at `address` is for `who`.
pub(super) fn is_for(address: &str, who: &str) -> bool {
    address == "shared" || is_like(address, name(who))
}

impl Model {
    /// Returns the expected answer to a command about packets, and the next session.
    pub fn change_packets(&self, clock: u64, who: &str, command: &Command) -> Option<Transition> {
        let Command::Packets(request) = command else { return None };
        let made = match request {
            PacketsCommand::Generate(it) => self.generate_packet(clock, who, it),
            PacketsCommand::Refresh(address) => self.refresh_packet(clock, who, address),
            PacketsCommand::Edit(it) => self.edit_packet(clock, who, it),
            PacketsCommand::Read(it) => self.read_packet(clock, who, it),
            PacketsCommand::Feedback(it) => self.give_feedback(clock, who, it),
            PacketsCommand::Query(it) => self.query_packet(clock, who, it),
            PacketsCommand::Statistics(task_type) => self.statistics(who, task_type.as_deref()),
            PacketsCommand::Clear(address) => self.clear_packet(clock, who, address),
            PacketsCommand::List => Ok((PacketsReply::List(self.list_packets(who)), None)),
        };
        Some(match made {
            Err(code) => (Err(code), None),
            Ok((reply, next)) => {
                let revision = next.as_ref().map_or(self.revision, |it| it.revision);
                (Ok((Revision(revision), Reply::Packets(reply))), next)
            }
        })
    }

    /// Returns the answer to a repeated request about packets whose first reply was `first`.
    pub(super) fn repeated_packets(
        &self,
        who: &str,
        revision: Revision,
        first: &PacketsReply,
    ) -> Answer {
        let reply = match first {
            PacketsReply::Written(it) => {
                let version = self.packet_version(&it.packet.address, Some(it.packet.version))?;
                if Some(version.id()) != it.packet.id {
                    return Err(Code::PacketNotFound);
                }
                let packet = self.seen_packet(who, version.packet.clone(), &version.recipe, NOW);
                let report = it.report.clone();
                PacketsReply::Written(Box::new(self.written(packet, &version.recipe, report)))
            }
            PacketsReply::Feedback(it) => {
                let mut kept = self.packets.feedback.iter();
                let now = kept.find(|one| one.number == it.number).ok_or(Code::PacketNotFound)?;
                PacketsReply::Feedback(Box::new(now.clone()))
            }
            other => other.clone(),
        };
        Ok((revision, Reply::Packets(reply)))
    }

    fn list_packets(&self, who: &str) -> Vec<PacketInfo> {
        let readable = self.packets.packets.iter();
        let readable =
            readable.filter(|it| sees_all(name(who)) || is_for(it.address.as_str(), who));
        let info = |it: &KeptPacket| {
            let newest = it.versions.last().unwrap();
            let packet = newest.packet.clone();
            let is_known = |it: &&Reader| sees_all(name(who)) || it.participant == participant(who);
            PacketInfo {
                address: it.address.clone(),
                id: format!("PKT-{}", newest.number),
                version: newest.version,
                versions: it.versions.len() as u32,
                task: packet.target_task,
                task_type: packet.task_type,
                depth: packet.depth,
                tokens: packet.token_count.of(newest.recipe.form),
                created_at: newest.created_at,
                created_by: newest.created_by.clone(),
                readers: it.readers.iter().filter(is_known).cloned().collect(),
            }
        };
        readable.map(info).collect()
    }

    fn clear_packet(&self, clock: u64, who: &str, address: &Address) -> Made {
        self.check_orchestrator(who)?;
        let versions = self.packet(address)?.versions.len() as u32;
        let mut next = self.begin_change(clock);
        Rc::make_mut(&mut next.packets).packets.retain(|it| it.address != *address);
        next.record_packet(who, AuditAction::ClearPacket, address);
        Ok((PacketsReply::Cleared(address.clone(), versions), Some(next)))
    }

    fn read_packet(&self, clock: u64, who: &str, it: &ReadPacket) -> Made {
        let view = self.at(clock);
        let (address, others) = self.packet_address(who, it.address.as_ref())?;
        let kept = self.packet_version(&address, it.version)?;
        let newest = self.packet(&address)?.versions.last().map_or(0, |it| it.version);
        let recipe = &kept.recipe;
        let mut packet = view.seen_packet(who, kept.packet.clone(), recipe, kept.revision);
        let had = packet.layers.clone();
        let mut gaps = Vec::new();
        if let Some(depth) = it.depth.filter(|it| *it != packet.depth) {
            packet = view.packet_of_depth(who, &packet, recipe, depth)?;
            gaps.extend(packet.layers.iter().filter(|it| !had.contains(it)).copied());
        }
        let verification = it.compared.as_ref().map(|it| packets::verify(it, &packet).unwrap());
        let mut stale = view.stale_sources(who, &packet, recipe, kept);
        let is_hidden = |it: &packets::Statement| {
            matches!(it.source.origin, packets::Origin::Entry { .. })
                && !view.sees_source(who, &it.source, recipe, kept.revision)
        };
        stale.extend(kept.packet.statements.iter().any(is_hidden).then(Stale::hidden));
        let mut text = packet.render(it.form);
        let mut layer = None;
        if let Some(asked) = it.layer {
            if had.contains(&asked) {
                packet = conceal::only(packet, asked);
                text = packet.render(it.form);
            } else {
                let sources = view.packet_sources(who, recipe).0;
                let by = kept.created_by.as_str();
                let read = packets::layer(recipe, &sources, asked, by, &count);
                let read = read.map_err(|error| error.code())?;
                text.clone_from(&read.text);
                gaps.push(asked);
                layer = Some(read);
            }
        }
        let reply =
            PacketRead { packet, form: it.form, text, newest, layer, stale, verification, others };
        let version = kept.version;
        let next = self.marked(clock, who, &address, |reader, now| {
            let before = reader.clone();
            if reader.version < version {
                reader.version = version;
                reader.read_at = now;
            }
            for gap in gaps {
                if !reader.layers.contains(&gap) {
                    reader.layers.push(gap);
                }
            }
            *reader != before
        });
        Ok((PacketsReply::Read(Box::new(reply)), next))
    }

    fn query_packet(&self, clock: u64, who: &str, it: &QueryPacket) -> Made {
        let view = self.at(clock);
        let (address, _) = self.packet_address(who, it.address.as_ref())?;
        let recipe = &self.packet_version(&address, None)?.recipe;
        let sources = view.packet_sources(who, recipe).0;
        let answer = packets::query(&it.question, recipe, &sources, &count);
        let answer = answer.map_err(|error| error.code())?;
        let gap: String = it.question.trim().chars().take(200).collect();
        let is_gap = answer.findings.is_empty();
        let next = self.marked(clock, who, &address, |reader, _| {
            let is_new = is_gap && reader.questions.len() < 20 && !reader.questions.contains(&gap);
            if is_new {
                reader.questions.push(gap);
            }
            is_new
        });
        Ok((PacketsReply::Answer(Box::new(PacketAnswer { address, answer })), next))
    }

    /// Returns the next session if the receiver of a packet did something that `mark` records.
    fn marked(
        &self,
        clock: u64,
        who: &str,
        address: &Address,
        mark: impl FnOnce(&mut Reader, Timestamp) -> bool,
    ) -> Option<Self> {
        if self.about.is_archived || who == "admin" || !is_for(address.as_str(), who) {
            return None;
        }
        let mut next = self.begin_change(clock);
        let now = next.about.changed_at;
        let mut reader = next.take_reader(who, address);
        if !mark(&mut reader, now) {
            return None;
        }
        next.packet_mut(address).readers.push(reader);
        next.record_packet(who, AuditAction::ReadPacket, address);
        Some(next)
    }

    /// Takes what is known of a reader out of a packet.
    fn take_reader(&mut self, who: &str, address: &Address) -> Reader {
        let readers = &mut self.packet_mut(address).readers;
        match readers.iter().position(|it| it.participant == participant(who)) {
            Some(nth) => readers.remove(nth),
            None => Reader {
                participant: participant(who),
                version: 0,
                read_at: Timestamp(0),
                layers: Vec::new(),
                questions: Vec::new(),
                given: Vec::new(),
            },
        }
    }

    fn packet(&self, address: &Address) -> Result<&KeptPacket, Code> {
        let found = self.packets.packets.iter().find(|it| it.address == *address);
        found.ok_or(Code::PacketNotFound)
    }

    fn packet_mut(&mut self, address: &Address) -> &mut KeptPacket {
        let packets = &mut Rc::make_mut(&mut self.packets).packets;
        packets.iter_mut().find(|it| it.address == *address).unwrap()
    }

    /// Returns a version; the newest when `None`.
    fn packet_version(
        &self,
        address: &Address,
        version: Option<u32>,
    ) -> Result<&PacketVersion, Code> {
        let versions = &self.packet(address)?.versions;
        let found = match version {
            Some(version) => versions.iter().find(|it| it.version == version),
            None => versions.last(),
        };
        found.ok_or(Code::PacketNotFound)
    }

    /// Returns the address that a request is about, and those of the other packets for `who`.
    fn packet_address(
        &self,
        who: &str,
        named: Option<&Address>,
    ) -> Result<(Address, Vec<Address>), Code> {
        let all = self.packets.packets.iter().map(|it| it.address.clone());
        let mut own: Vec<Address> =
            all.filter(|it| who != "admin" && is_for(it.as_str(), who)).collect();
        own.sort_by_key(|it| {
            let text = it.as_str();
            let stars = text.matches('*').count();
            let (rank, literal) = match text {
                "shared" => (2, 0),
                _ if stars > 0 => (1, text.len() - stars),
                _ => (0, 0),
            };
            (rank, Reverse(literal), text.to_owned())
        });
        let address = match named {
            Some(it) if sees_all(name(who)) || is_for(it.as_str(), who) => {
                self.packet(it)?.address.clone()
            }
            Some(_) => return Err(Code::PacketNotFound),
            None => own.first().cloned().ok_or(Code::PacketNotFound)?,
        };
        own.retain(|it| *it != address);
        Ok((address, own))
    }

    /// Returns a packet as `who` sees it, which was made from what the session held at a revision.
    fn seen_packet(&self, who: &str, packet: Packet, recipe: &Recipe, written: Revision) -> Packet {
        let is_visible = |it: &Source| self.sees_source(who, it, recipe, written);
        let is_whole = packet.statements.iter().all(|it| is_visible(&it.source));
        if is_whole && !is_limited(who) {
            return packet;
        }
        conceal::concealed(packet, &is_visible)
    }

    /// Returns a packet as it would be at another depth.
    fn packet_of_depth(
        &self,
        who: &str,
        packet: &Packet,
        recipe: &Recipe,
        depth: packets::Depth,
    ) -> Result<Packet, Code> {
        let budget = self.config().packet.budgets.of(depth).max(recipe.budget);
        let recipe = Recipe { depth, budget, ..recipe.clone() };
        let about = Head {
            id: packet.id.clone(),
            session: packet.session.clone(),
            version: packet.version,
            created: packet.created.clone(),
            creator: packet.creator.clone(),
        };
        let sources = self.packet_sources(who, &recipe).0;
        let made = packets::generate(&recipe, &sources, &about, None, &count);
        made.map(|it| it.packet).map_err(|error| error.code())
    }

    /// Returns true if `who` may see what comes from a source.
    fn sees_source(&self, who: &str, source: &Source, recipe: &Recipe, written: Revision) -> bool {
        use packets::Origin;
        match &source.origin {
            Origin::Given | Origin::File { .. } | Origin::Item { .. } => true,
            Origin::Entry { key, .. } => {
                recipe.keys.contains(key) || self.sees_entry(who, key, written)
            }
            Origin::State { .. } => !is_limited(who),
            Origin::Missing { .. } => !is_limited(who) || source.by.as_deref() == Some(name(who)),
        }
    }

    /// Returns true if `who` may read the entry of a key, and the one that had it at `written`.
    fn sees_entry(&self, who: &str, key: &Key, written: Revision) -> bool {
        let current = self.entries.get(key).map(|it| &it.entry);
        if current.is_some_and(|it| !self.may_read(who, key, &it.access)) {
            return false;
        }
        if current.is_some_and(|it| it.created <= written) {
            return true;
        }
        let mut past = self.history.get(key).into_iter().flatten().map(|it| &it.stored.entry);
        match past.rfind(|it| it.created <= written) {
            Some(last) => self.may_read(who, key, &last.access),
            None => sees_all(name(who)) && self.may_read(who, key, &Access::default()),
        }
    }

    fn stale_sources(
        &self,
        who: &str,
        packet: &Packet,
        recipe: &Recipe,
        kept: &PacketVersion,
    ) -> Vec<Stale> {
        let state = |key: &_| match self.entries.get(key) {
            Some(it)
                if !recipe.keys.contains(key) && !self.may_read(who, key, &it.entry.access) =>
            {
                SourceState::Gone
            }
            None => SourceState::Gone,
            Some(it) if it.entry.is_redacted => SourceState::Redacted,
            Some(it) if it.entry.created > kept.revision => SourceState::Gone,
            Some(it) => SourceState::Version(it.entry.version),
        };
        packets::stale(packet, &state, self.rounds.last_state().map(|it| it.0))
    }

    /// Records a change of a packet.
    fn record_packet(&mut self, who: &str, action: AuditAction, address: &Address) {
        self.record(who, action, None);
        let last = Rc::make_mut(self.changes.last_mut().unwrap());
        last.record.label = Some(Subject::parse(address.as_str()).unwrap());
    }
}
