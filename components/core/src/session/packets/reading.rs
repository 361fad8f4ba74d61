//! Reading packets: whole, by layers, deeper, and by questions.

use super::{super::Draft, Decision, OpenSession, finish};
use crate::{
    Error,
    audit::AuditAction,
    key::Key,
    kv::{Bucket, Revision},
    packets::{
        self, Address, Head, Layer, Origin, Packet, PacketAnswer, PacketRead, QueryPacket,
        ReadPacket, Recipe, Reply, Source, SourceState, Stale, Statement,
        conceal::{conceal, only, seal},
        kept::Reader,
        rows,
    },
    rounds::stored::StoredRounds,
    store::{Entry, access::Access},
};

/// The entries that a packet was made from, by key.
pub(super) type Entries = Vec<SourceEntry>;

/// An entry that a packet was made from.
pub(super) struct SourceEntry {
    key: Key,
    /// The entry that has the key now, if one has.
    current: Option<Entry>,
    /// True if the entry that the packet was made from was deleted.
    is_deleted: bool,
    /// Its last version then, if it is still kept.
    last: Option<Entry>,
}

impl<B: Bucket> OpenSession<'_, B> {
    pub(super) fn read_packet(&self, it: &ReadPacket) -> Result<Decision, Error> {
        let head = self.stored_packets().head()?;
        let (address, others) = self.packet_address(&head, it.address.as_ref())?;
        let newest = head.newest(&address).unwrap_or(0);
        let version = it.version.unwrap_or(newest);
        let row = self.kept_row(&head, &address, version)?;
        let (packet, created_by, revision) = rows::decode_packet(&row)?;
        let mut entries = self.entries_of(&packet, revision)?;
        let (mut packet, mut hides) = (packet, false);
        let has_layers = packet.layers.clone();
        let depth = it.depth.filter(|it| *it != packet.depth);
        let is_missing = it.layer.is_some_and(|it| !has_layers.contains(&it));
        let sees_all = !self.is_limited() && entries.iter().all(|it| self.sees(it));
        // It can have a hundred times the size of the packet, and most readers do not need it.
        let recipe = if sees_all && depth.is_none() && !is_missing {
            None
        } else {
            Some(rows::decode_recipe(&row)?)
        };
        let named = recipe.as_ref().map_or(&[][..], |it| it.keys.as_slice());
        if !sees_all {
            let is_hidden = |it: &Statement| {
                matches!(it.source.origin, Origin::Entry { .. })
                    && !self.sees_source(&it.source, named, &entries)
            };
            hides = packet.statements.iter().any(is_hidden);
            packet = self.visible_of(packet, named, &entries)?;
        }
        let mut layers: Vec<Layer> = Vec::new();
        let mut layer = None;
        if let Some((depth, recipe)) = depth.zip(recipe.as_ref()) {
            packet = self.packet_of_depth(&packet, recipe, depth)?;
            entries = self.entries_of(&packet, revision)?;
            layers.extend(packet.layers.iter().filter(|it| !has_layers.contains(it)));
        }
        let verification = match &it.compared {
            Some(document) => Some(packets::verify(document, &packet)?),
            None => None,
        };
        let mut stale = self.stale_sources(&packet, named, &entries)?;
        stale.extend(hides.then(Stale::hidden));
        let mut text = packet.render(it.form);
        if let Some((asked, recipe)) = it.layer.zip(recipe.as_ref()).filter(|_| is_missing) {
            let (sources, _) = self.packet_sources(recipe)?;
            let count = |text: &str| self.count(text);
            let read = packets::layer(recipe, &sources, asked, created_by.as_str(), &count)?;
            text.clone_from(&read.text);
            layers.push(asked);
            layer = Some(read);
        } else if let Some(asked) = it.layer {
            // Tokens and checksum of the reply are those of its text.
            only(&mut packet, asked);
            seal(&mut packet, &|text| self.count(text))?;
            text = packet.render(it.form);
        }
        let read =
            PacketRead { packet, form: it.form, text, newest, layer, stale, verification, others };
        let reply = Reply::Read(Box::new(read));
        let mark = |reader: &mut Reader| {
            let is_first = reader.version < version;
            if is_first {
                reader.version = version;
                reader.read_at = self.at;
            }
            layers.iter().fold(is_first, |is_new, it| reader.add_layer(*it) || is_new)
        };
        self.mark_read(head, &address, reply, mark)
    }

    pub(super) fn query_packet(&self, it: &QueryPacket) -> Result<Decision, Error> {
        let head = self.stored_packets().head()?;
        let (address, _) = self.packet_address(&head, it.address.as_ref())?;
        let recipe = self.newest(&head, &address)?.recipe;
        let (sources, _) = self.packet_sources(&recipe)?;
        let count = |text: &str| self.count(text);
        let answer = packets::query(&it.question, &recipe, &sources, &count)?;
        let is_gap = answer.findings.is_empty();
        let reply = Reply::Answer(Box::new(PacketAnswer { address: address.clone(), answer }));
        let mark = |reader: &mut Reader| is_gap && reader.add_question(&it.question);
        self.mark_read(head, &address, reply, mark)
    }

    /// Records what the receiver of a packet did, if `mark` returns that it changed something. In an
    /// archived session, and where there is no room, nothing is recorded.
    fn mark_read(
        &self,
        mut head: rows::Head,
        address: &Address,
        reply: Reply,
        mark: impl FnOnce(&mut Reader) -> bool,
    ) -> Result<Decision, Error> {
        if self.meta.is_archived || !self.receives(address) {
            return Ok(self.of_packets(reply));
        }
        let mut readers = self.stored_packets().readers(address)?;
        let mut reader = self.take_reader(&mut readers);
        if !mark(&mut reader) {
            return Ok(self.of_packets(reply));
        }
        readers.push(reader);
        let mut draft = Draft::new(self)?;
        match head.put_readers(address, &mut readers, &mut draft.changes) {
            Err(Error::PacketLimit { .. }) => Ok(self.of_packets(reply)),
            Err(error) => Err(error),
            Ok(()) => finish(draft, &head, AuditAction::ReadPacket, address, reply),
        }
    }

    /// Returns a packet as the caller may see it, made from what the session holds now. `named` are
    /// the keys that it may use in any case.
    pub(super) fn visible(&self, packet: Packet, named: &[Key]) -> Result<Packet, Error> {
        let entries = self.entries_of(&packet, self.revision())?;
        self.visible_of(packet, named, &entries)
    }

    fn visible_of(
        &self,
        mut packet: Packet,
        named: &[Key],
        entries: &Entries,
    ) -> Result<Packet, Error> {
        let is_visible = |it: &Source| self.sees_source(it, named, entries);
        if self.is_limited() || !packet.statements.iter().all(|it| is_visible(&it.source)) {
            conceal(&mut packet, &is_visible);
            seal(&mut packet, &|text| self.count(text))?;
        }
        Ok(packet)
    }

    /// Returns a packet as it would be at another depth.
    fn packet_of_depth(
        &self,
        packet: &Packet,
        recipe: &Recipe,
        depth: packets::Depth,
    ) -> Result<Packet, Error> {
        let budget = self.meta.packet.budgets.of(depth).max(recipe.budget);
        let recipe = Recipe { depth, budget, ..recipe.clone() };
        let (sources, _) = self.packet_sources(&recipe)?;
        let about = Head {
            id: packet.id.clone(),
            session: packet.session.clone(),
            version: packet.version,
            created: packet.created.clone(),
            creator: packet.creator.clone(),
        };
        let count = |text: &str| self.count(text);
        Ok(packets::generate(&recipe, &sources, &about, None, &count)?.packet)
    }

    /// Returns the entries that a packet of revision `written` was made from.
    pub(super) fn entries_of(&self, packet: &Packet, written: Revision) -> Result<Entries, Error> {
        let mut entries = Vec::new();
        for key in packets::keys(packet) {
            let current = self.entry(&key)?;
            let is_deleted = current.as_ref().is_none_or(|it| it.created > written);
            let mut past = if is_deleted { self.history(&key)? } else { Vec::new() };
            past.retain(|it| it.entry.created <= written);
            let last = past.pop().map(|it| it.entry);
            entries.push(SourceEntry { key, current, is_deleted, last });
        }
        Ok(entries)
    }

    /// Returns true if the caller may see what comes from a source.
    fn sees_source(&self, source: &Source, named: &[Key], entries: &Entries) -> bool {
        match &source.origin {
            Origin::Given | Origin::File { .. } | Origin::Item { .. } => true,
            Origin::Entry { key, .. } => {
                named.contains(key) || entry(key, entries).is_some_and(|it| self.sees(it))
            }
            Origin::State { .. } => !self.is_limited(),
            Origin::Missing { .. } => {
                !self.is_limited() || source.by.as_deref() == Some(self.caller.participant.as_str())
            }
        }
    }

    /// Returns true if the caller may read an entry that a packet was made from, and the one that
    /// has its key now.
    fn sees(&self, it: &SourceEntry) -> bool {
        let saw_last = || match &it.last {
            Some(last) => self.may_read(last),
            // Nobody knows its lists any more.
            None => {
                self.authorizer.sees_all() && self.authorizer.may_read(&it.key, &Access::default())
            }
        };
        it.current.as_ref().is_none_or(|it| self.may_read(it)) && (!it.is_deleted || saw_last())
    }

    /// Returns what changed in the sources of a packet since it was written.
    pub(super) fn stale_sources(
        &self,
        packet: &Packet,
        named: &[Key],
        entries: &Entries,
    ) -> Result<Vec<Stale>, Error> {
        let state = |key: &Key| {
            let found = entry(key, entries).filter(|it| !it.is_deleted);
            match found.and_then(|it| it.current.as_ref()) {
                Some(it) if named.contains(key) || self.may_read(it) => {
                    if it.is_redacted {
                        SourceState::Redacted
                    } else {
                        SourceState::Version(it.version)
                    }
                }
                _ => SourceState::Gone,
            }
        };
        let is_state = |it: &Statement| matches!(it.source.origin, Origin::State { .. });
        let round = if packet.statements.iter().any(is_state) {
            Some(StoredRounds(self.bucket).rounds()?.last).filter(|it| *it > 0)
        } else {
            None
        };
        Ok(packets::stale(packet, &state, round))
    }
}

/// Returns the entry of a key.
fn entry<'a>(key: &Key, entries: &'a Entries) -> Option<&'a SourceEntry> {
    let place = entries.binary_search_by(|it| it.key.cmp(key)).ok()?;
    entries.get(place)
}
