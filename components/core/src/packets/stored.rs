//! Reads the packets that a session keeps from its bucket (spec 18.6).
//!
//! The decisions and the commits are in `session`.

use super::{
    ADDRESSES_MAX, Address, FEEDBACKS_MAX, Feedback, PACKETS_BYTES_MAX, Statistics,
    conceal::{Secrets, seal},
    kept::{
        KeptFeedback, KeptPacket, KeptPackets, PacketVersion, READERS_MAX, Reader, readers_bytes,
        versions_kept,
    },
    rows::{self, Head, Kept},
};
use crate::{
    Error,
    count::widen,
    kv::{Bucket, Change},
    row::{damaged, decode, encode},
    tokens::{Tokens, approximate},
};

/// The packets in a bucket, read row by row.
#[derive(Debug)]
pub(crate) struct StoredPackets<'a, B>(pub(crate) &'a B);

impl<B: Bucket> StoredPackets<'_, B> {
    /// Returns the numbers that were given, and what is kept.
    pub(crate) fn head(&self) -> Result<Head, Error> {
        self.0.get(rows::HEAD)?.map_or_else(|| Ok(Head::default()), |it| decode(&it))
    }

    /// Returns a version that the head lists.
    pub(crate) fn version(&self, address: &Address, version: u32) -> Result<PacketVersion, Error> {
        rows::decode_version(&self.version_row(address, version)?)
    }

    /// Returns the row of a version that the head lists.
    pub(crate) fn version_row(&self, address: &Address, version: u32) -> Result<Vec<u8>, Error> {
        let row = rows::version_row(address, version);
        self.0.get(&row)?.ok_or_else(|| damaged(format!("{row} is missing")))
    }

    /// Returns the readers of a packet.
    pub(crate) fn readers(&self, address: &Address) -> Result<Vec<Reader>, Error> {
        let bytes = self.0.get(&rows::readers_row(address))?;
        bytes.map_or_else(|| Ok(Vec::new()), |it| rows::decode_readers(&it))
    }

    /// Returns a packet with all its versions.
    fn packet(&self, head: &Head, address: &Address) -> Result<KeptPacket, Error> {
        let mut versions = Vec::new();
        for (version, _, _) in head.kept(address).into_iter().flat_map(|it| &it.versions) {
            versions.push(self.version(address, *version)?);
        }
        Ok(KeptPacket { address: address.clone(), versions, readers: self.readers(address)? })
    }

    /// Returns the packets, by address.
    pub(crate) fn packets(&self, head: &Head) -> Result<Vec<KeptPacket>, Error> {
        let mut packets = Vec::new();
        for it in head.addresses()? {
            packets.push(self.packet(head, &it)?);
        }
        Ok(packets)
    }

    /// Returns a feedback; `None` if it is no longer kept.
    pub(crate) fn one_feedback(&self, number: u64) -> Result<Option<KeptFeedback>, Error> {
        let bytes = self.0.get(&rows::feedback_row(number))?;
        bytes.map(|it| rows::decode_feedback(&it)).transpose()
    }

    /// Returns the feedback, oldest first.
    pub(crate) fn feedback(&self) -> Result<Vec<KeptFeedback>, Error> {
        let mut feedback = Vec::new();
        for (_, bytes) in self.0.scan(rows::FEEDBACK, None, u32::MAX)? {
            feedback.push(rows::decode_feedback(&bytes)?);
        }
        Ok(feedback)
    }

    /// Returns the statistics.
    pub(crate) fn statistics(&self) -> Result<Statistics, Error> {
        let bytes = self.0.get(rows::STATISTICS)?;
        bytes.map_or_else(|| Ok(Statistics::default()), |it| rows::decode_statistics(&it))
    }

    /// Returns everything that is kept.
    pub(crate) fn all(&self) -> Result<KeptPackets, Error> {
        let head = self.head()?;
        Ok(KeptPackets {
            last_packet: head.last_packet,
            last_feedback: head.last_feedback,
            packets: self.packets(&head)?,
            feedback: self.feedback()?,
            statistics: self.statistics()?,
        })
    }
}

impl<B: Bucket> StoredPackets<'_, B> {
    /// Returns how many texts of everything that is kept have a secret, and the changes that redact
    /// them. `count` counts the tokens of a text.
    pub(crate) fn redacted(
        &self,
        secrets: &Secrets<'_>,
        count: &dyn Fn(&str) -> Result<Tokens, Error>,
    ) -> Result<(u32, Vec<Change>), Error> {
        let (mut redacted, mut changes) = (0_u32, Vec::new());
        let mut head = self.head()?;
        for mut packet in self.packets(&head)? {
            let mut own = 0_u32;
            for version in &mut packet.versions {
                own = own.saturating_add(redact_version(version, secrets, count)?);
            }
            for reader in &mut packet.readers {
                own = own.saturating_add(secrets.list(&mut reader.questions));
            }
            if own > 0 {
                redacted = redacted.saturating_add(own);
                head.replace(&packet, &mut changes)?;
            }
        }
        for mut it in self.feedback()? {
            let Feedback { gaps, unused, note, .. } = &mut it.feedback;
            let lists = [gaps, unused, &mut it.questions].map(|it| secrets.list(it));
            let mut own = lists.into_iter().fold(0, u32::saturating_add);
            let is_note = note.as_mut().is_some_and(|it| secrets.redact(it));
            own = own.saturating_add(is_note.into());
            if own > 0 {
                redacted = redacted.saturating_add(own);
                let known = head.feedback.iter_mut().find(|(number, _)| *number == it.number);
                if let Some(known) = known {
                    known.1 = it.bytes();
                }
                changes
                    .push(Change::put(rows::feedback_row(it.number), rows::encode_feedback(&it)?));
            }
        }
        let mut statistics = self.statistics()?;
        let own = statistics.types.iter_mut().fold(0_u32, |sum, (_, it)| {
            let gaps = secrets.mentions(&mut it.gaps);
            sum.saturating_add(gaps).saturating_add(secrets.mentions(&mut it.unused))
        });
        if own > 0 {
            redacted = redacted.saturating_add(own);
            changes.push(statistics_change(&statistics)?);
        }
        if redacted > 0 {
            // A mark can be longer than what it replaces. The secret is removed in any case.
            match head.shrink(&mut changes) {
                Ok(()) | Err(Error::PacketLimit { .. }) => changes.push(head.change()?),
                Err(error) => return Err(error),
            }
        }
        Ok((redacted, changes))
    }
}

/// Redacts a version. Returns how many texts were redacted.
fn redact_version(
    it: &mut PacketVersion,
    secrets: &Secrets<'_>,
    count: &dyn Fn(&str) -> Result<Tokens, Error>,
) -> Result<u32, Error> {
    let in_packet = secrets.packet(&mut it.packet);
    if in_packet > 0 {
        // The secret is removed even if its tokens cannot be counted exactly.
        match seal(&mut it.packet, count) {
            Err(Error::TokenizerUnavailable { .. }) => {
                seal(&mut it.packet, &|text| Ok(approximate(text)))?;
            }
            sealed => sealed?,
        }
    }
    Ok(in_packet.saturating_add(secrets.recipe(&mut it.recipe)))
}

impl Head {
    /// Stores a packet over its previous form, which had the same versions.
    fn replace(&mut self, packet: &KeptPacket, changes: &mut Vec<Change>) -> Result<(), Error> {
        let Some(kept) = self.kept_mut(&packet.address) else { return Ok(()) };
        kept.readers = readers_bytes(&packet.readers);
        kept.versions.clear();
        for it in &packet.versions {
            let (row, bytes) = rows::encode_version(it)?;
            kept.versions.push((it.version, it.number, bytes));
            changes.push(Change::put(rows::version_row(&packet.address, it.version), row));
        }
        put_readers(&packet.address, &packet.readers, changes)
    }

    /// Returns what is kept of a packet.
    pub(crate) fn kept(&self, address: &Address) -> Option<&Kept> {
        self.packets.iter().find(|it| it.address == address.as_str())
    }

    fn kept_mut(&mut self, address: &Address) -> Option<&mut Kept> {
        self.packets.iter_mut().find(|it| it.address == address.as_str())
    }

    /// Returns the addresses with a packet, in order.
    pub(crate) fn addresses(&self) -> Result<Vec<Address>, Error> {
        let mut addresses = Vec::new();
        for it in &self.packets {
            addresses.push(Address::parse(&it.address).map_err(damaged)?);
        }
        Ok(addresses)
    }

    /// Returns the newest version of a packet, if there is one.
    pub(crate) fn newest(&self, address: &Address) -> Option<u32> {
        self.kept(address)?.versions.last().map(|it| it.0)
    }

    /// Returns true if a version is kept.
    pub(crate) fn has(&self, address: &Address, version: u32) -> bool {
        self.kept(address).is_some_and(|it| it.versions.iter().any(|it| it.0 == version))
    }

    /// Returns the bytes of everything that is kept, in a document.
    fn bytes(&self) -> u64 {
        let mut bytes: u64 = 0;
        for it in &self.packets {
            let versions = it.versions.iter().map(|it| it.2);
            bytes = versions.fold(bytes.saturating_add(it.readers), u64::saturating_add);
        }
        self.feedback.iter().map(|it| it.1).fold(bytes, u64::saturating_add)
    }

    /// Adds a version, and removes the oldest beyond the limits.
    ///
    /// # Errors
    ///
    /// [`Error::PacketLimit`] if there are packets for as many addresses as there may be, or the
    /// version exceeds the bytes of all packets alone.
    pub(crate) fn add(
        &mut self,
        address: &Address,
        version: &PacketVersion,
        changes: &mut Vec<Change>,
    ) -> Result<(), Error> {
        let is_new = self.kept(address).is_none();
        if is_new && self.packets.len() >= widen(ADDRESSES_MAX) {
            return Err(Error::PacketLimit {
                message: format!(
                    "the session keeps packets for {ADDRESSES_MAX} addresses, at most \
                     {ADDRESSES_MAX} may be; clear one that is no longer needed"
                ),
            });
        }
        if is_new {
            let place = self.addresses()?.iter().filter(|it| *it < address).count();
            let kept = Kept { address: address.as_str().to_owned(), ..Kept::default() };
            self.packets.insert(place, kept);
        }
        let (row, bytes) = rows::encode_version(version)?;
        changes.push(Change::put(rows::version_row(address, version.version), row));
        if let Some(kept) = self.kept_mut(address) {
            kept.versions.push((version.version, version.number, bytes));
            while kept.versions.len() > versions_kept() {
                let (oldest, _, _) = kept.versions.remove(0);
                changes.push(Change::Delete(rows::version_row(address, oldest)));
            }
        }
        self.shrink(changes)
    }

    /// Removes the oldest versions that are not the newest of their address, and then the oldest
    /// feedback, until everything fits.
    ///
    /// # Errors
    ///
    /// [`Error::PacketLimit`] if the newest versions alone do not fit.
    pub(crate) fn shrink(&mut self, changes: &mut Vec<Change>) -> Result<(), Error> {
        while self.bytes() > PACKETS_BYTES_MAX {
            let past = self.packets.iter_mut().filter(|it| it.versions.len() > 1);
            let oldest = past.min_by_key(|it| it.versions.first().map(|it| it.1));
            if let Some(kept) = oldest {
                let (version, _, _) = kept.versions.remove(0);
                let address = Address::parse(&kept.address).map_err(damaged)?;
                changes.push(Change::Delete(rows::version_row(&address, version)));
            } else if self.feedback.is_empty() {
                return Err(Error::PacketLimit {
                    message: format!(
                        "the packets and their readers take {} bytes, at most {PACKETS_BYTES_MAX} \
                         are kept; clear packets that are no longer needed, or send shorter files",
                        self.bytes()
                    ),
                });
            } else {
                let (number, _) = self.feedback.remove(0);
                changes.push(Change::Delete(rows::feedback_row(number)));
            }
        }
        Ok(())
    }

    /// Stores the readers of a packet, without the oldest beyond the limit.
    ///
    /// # Errors
    ///
    /// As [`Head::shrink`].
    pub(crate) fn put_readers(
        &mut self,
        address: &Address,
        readers: &mut Vec<Reader>,
        changes: &mut Vec<Change>,
    ) -> Result<(), Error> {
        let over = readers.len().saturating_sub(READERS_MAX);
        readers.drain(..over);
        if let Some(kept) = self.kept_mut(address) {
            kept.readers = readers_bytes(readers);
        }
        put_readers(address, readers, changes)?;
        self.shrink(changes)
    }

    /// Adds feedback, and removes the oldest beyond the limits.
    ///
    /// # Errors
    ///
    /// As [`Head::shrink`].
    pub(crate) fn add_feedback(
        &mut self,
        it: &KeptFeedback,
        changes: &mut Vec<Change>,
    ) -> Result<(), Error> {
        self.feedback.push((it.number, it.bytes()));
        while self.feedback.len() > widen(FEEDBACKS_MAX) {
            let (oldest, _) = self.feedback.remove(0);
            changes.push(Change::Delete(rows::feedback_row(oldest)));
        }
        changes.push(Change::put(rows::feedback_row(it.number), rows::encode_feedback(it)?));
        self.shrink(changes)
    }

    /// Removes a packet. Returns how many versions it had.
    pub(crate) fn clear(&mut self, address: &Address, changes: &mut Vec<Change>) -> u32 {
        let versions = self.kept(address).map_or_else(Vec::new, |it| it.versions.clone());
        self.packets.retain(|it| it.address != address.as_str());
        for (version, _, _) in &versions {
            changes.push(Change::Delete(rows::version_row(address, *version)));
        }
        changes.push(Change::Delete(rows::readers_row(address)));
        crate::count::narrow(versions.len())
    }

    /// Encodes the row of the head.
    pub(crate) fn change(&self) -> Result<Change, Error> {
        Ok(Change::put(rows::HEAD, encode(self)?))
    }
}

/// Stores the readers of a packet. A packet without readers has no such row.
fn put_readers(
    address: &Address,
    readers: &[Reader],
    changes: &mut Vec<Change>,
) -> Result<(), Error> {
    if !readers.is_empty() {
        changes.push(Change::put(rows::readers_row(address), rows::encode_readers(readers)?));
    }
    Ok(())
}

/// Encodes the row of the statistics.
pub(crate) fn statistics_change(it: &Statistics) -> Result<Change, Error> {
    Ok(Change::put(rows::STATISTICS, rows::encode_statistics(it)?))
}

/// Stores `kept` in a session that has nothing yet.
pub(crate) fn store(kept: &KeptPackets, changes: &mut Vec<Change>) -> Result<(), Error> {
    if kept.is_empty() {
        return Ok(());
    }
    let mut head = Head {
        last_packet: kept.last_packet,
        last_feedback: kept.last_feedback,
        ..Head::default()
    };
    for packet in &kept.packets {
        for version in &packet.versions {
            head.add(&packet.address, version, changes)?;
        }
        head.put_readers(&packet.address, &mut packet.readers.clone(), changes)?;
    }
    for it in &kept.feedback {
        head.add_feedback(it, changes)?;
    }
    if kept.statistics != Statistics::default() {
        changes.push(statistics_change(&kept.statistics)?);
    }
    changes.push(head.change()?);
    Ok(())
}
