//! The operations on packets of a session (spec 18).
//!
//! # Invariant
//!
//! A packet is read by its receiver, the orchestrator and the admin. It shows a reader nothing from
//! a source that the reader may not read, unless the orchestrator named its key.

mod feedback;
mod reading;
mod sources;
mod writing;

use super::{Decision, Draft, OpenSession, draft::EventDetails};
use crate::{
    Error,
    audit::AuditAction,
    kv::{Bucket, Change},
    packets::{
        Address, Command, PacketInfo, Reply,
        kept::{PacketVersion, Reader},
        rows::Head,
        stored::StoredPackets,
    },
    participant::Role,
    reply,
};

impl<B: Bucket> OpenSession<'_, B> {
    pub(super) fn packets(&self, command: &Command) -> Result<Decision, Error> {
        match command {
            Command::Generate(it) => self.generate_packet(it),
            Command::Refresh(address) => self.refresh_packet(address),
            Command::Edit(it) => self.edit_packet(it),
            Command::Read(it) => self.read_packet(it),
            Command::Feedback(it) => self.give_feedback(it),
            Command::Query(it) => self.query_packet(it),
            Command::Statistics(task_type) => self.packet_statistics(task_type.as_deref()),
            Command::Clear(address) => self.clear_packet(address),
            Command::List => self.list_packets(),
        }
    }

    fn list_packets(&self) -> Result<Decision, Error> {
        let head = self.stored_packets().head()?;
        let mut list = Vec::new();
        for address in head.addresses()? {
            if self.may_read_packet(&address) {
                list.push(self.packet_info(&head, address)?);
            }
        }
        Ok(self.of_packets(Reply::List(list)))
    }

    fn packet_info(&self, head: &Head, address: Address) -> Result<PacketInfo, Error> {
        let newest = self.newest(head, &address)?;
        let mut readers = self.stored_packets().readers(&address)?;
        if self.caller.participant.role() == Role::Agent {
            readers.retain(|it| it.participant == self.caller.participant);
        }
        let versions = head.kept(&address).map_or(0, |it| it.versions.len());
        Ok(PacketInfo {
            id: newest.id(),
            version: newest.version,
            versions: crate::count::narrow(versions),
            task: newest.packet.target_task,
            task_type: newest.packet.task_type,
            depth: newest.packet.depth,
            tokens: newest.packet.token_count.of(newest.recipe.form),
            created_at: newest.created_at,
            created_by: newest.created_by,
            readers,
            address,
        })
    }

    fn clear_packet(&self, address: &Address) -> Result<Decision, Error> {
        self.require_orchestrator()?;
        if let Some(first) = self.first_reply()? {
            return Ok(first);
        }
        let mut head = self.stored_packets().head()?;
        if head.newest(address).is_none() {
            return Err(not_found(address));
        }
        let mut draft = Draft::new(self)?;
        let versions = head.clear(address, &mut draft.changes);
        let reply = Reply::Cleared(address.clone(), versions);
        finish(draft, &head, AuditAction::ClearPacket, address, reply)
    }

    /// Returns true if the caller may read a packet at `address`.
    fn may_read_packet(&self, address: &Address) -> bool {
        let caller = &self.caller.participant;
        caller.role() != Role::Agent || address.is_for(caller)
    }

    /// Returns true if the caller receives the packet at `address`.
    fn receives(&self, address: &Address) -> bool {
        let caller = &self.caller.participant;
        caller.role() != Role::Admin && address.is_for(caller)
    }

    /// Returns the address that a request names or, without one, the first in the reading order of
    /// those that the caller receives; then the others of these.
    fn packet_address(
        &self,
        head: &Head,
        named: Option<&Address>,
    ) -> Result<(Address, Vec<Address>), Error> {
        let mut own = head.addresses()?;
        own.retain(|it| self.receives(it));
        let mut own = crate::order::sorted(own, Address::reading_order);
        let address = match named {
            Some(it) if head.newest(it).is_some() && self.may_read_packet(it) => it.clone(),
            Some(it) => return Err(not_found(it)),
            None => {
                let caller = self.caller.participant.as_str().to_owned();
                own.first().cloned().ok_or(Error::PacketNotFound { packet: caller })?
            }
        };
        own.retain(|it| *it != address);
        Ok((address, own))
    }

    /// Returns the newest version of a packet.
    fn newest(&self, head: &Head, address: &Address) -> Result<PacketVersion, Error> {
        let version = head.newest(address).ok_or_else(|| not_found(address))?;
        self.stored_packets().version(address, version)
    }

    /// Takes what is known of the caller out of the readers of a packet.
    fn take_reader(&self, readers: &mut Vec<Reader>) -> Reader {
        let caller = &self.caller.participant;
        let known = readers.iter().position(|it| it.participant == *caller);
        known.map_or_else(|| Reader::new(caller), |it| readers.remove(it))
    }

    pub(super) fn stored_packets(&self) -> StoredPackets<'_, B> {
        StoredPackets(self.bucket)
    }

    /// Creates the decision of a read.
    fn of_packets(&self, reply: Reply) -> Decision {
        self.answer(reply::Reply::Packets(reply))
    }
}

/// Creates the error for a packet that does not exist for the caller.
fn not_found(address: &Address) -> Error {
    Error::PacketNotFound { packet: address.to_string() }
}

/// Commits a change of what the session keeps of packets.
fn finish<B: Bucket>(
    mut draft: Draft<'_, B>,
    head: &Head,
    action: AuditAction,
    address: &Address,
    reply: Reply,
) -> Result<Decision, Error> {
    let change: Change = head.change()?;
    draft.changes.push(change);
    let address = Some(address.as_str());
    draft.add_event(action, EventDetails { address, ..EventDetails::default() });
    draft.commit(reply::Reply::Packets(reply), None)
}
