//! Writing packets: new versions, refreshed ones, edited ones.

use super::{super::Draft, Decision, OpenSession, finish};
use crate::{
    Error,
    audit::AuditAction,
    budget::Reason,
    kv::Bucket,
    order::entry,
    packets::{
        self, Address, EditPacket, GeneratePacket, Generated, Packet, PacketWritten, Recipe, Reply,
        Report,
        kept::{PacketVersion, packet_id},
        rows::{self, Head},
    },
    participant::Role,
    reply,
};

impl<B: Bucket> OpenSession<'_, B> {
    pub(super) fn generate_packet(&self, it: &GeneratePacket) -> Result<Decision, Error> {
        if it.is_preview {
            self.require_packet_writer()?;
            if self.idempotency_key.is_some() {
                return Err(Error::malformed(
                    "request_id is for a packet that is kept; leave it out, or leave out preview",
                ));
            }
        } else {
            self.require_orchestrator()?;
            if let Some(first) = self.first_packet_reply()? {
                return Ok(first);
            }
        }
        let recipe = Recipe::new(it, &self.meta.packet, &self.caller.participant);
        let head = self.stored_packets().head()?;
        let previous = match head.newest(&recipe.address) {
            Some(_) => Some(self.newest(&head, &recipe.address)?.packet),
            None => None,
        };
        let is_kept = !it.is_preview;
        let (packet, report) = self.make_packet(&head, &recipe, previous.as_ref(), is_kept)?;
        if it.is_preview {
            let written = self.written(packet, &recipe, report)?;
            return Ok(self.of_packets(Reply::Written(Box::new(written))));
        }
        self.keep_packet(head, AuditAction::GeneratePacket, packet, recipe, report)
    }

    pub(super) fn refresh_packet(&self, address: &Address) -> Result<Decision, Error> {
        self.require_orchestrator()?;
        if let Some(first) = self.first_packet_reply()? {
            return Ok(first);
        }
        let head = self.stored_packets().head()?;
        let kept = self.newest(&head, address)?;
        let previous = Some(&kept.packet);
        let (packet, report) = self.make_packet(&head, &kept.recipe, previous, true)?;
        if self.is_current(&kept, &packet)? {
            let PacketVersion { packet, recipe, .. } = kept;
            let written = self.written(self.visible(packet, &recipe.keys)?, &recipe, report)?;
            return Ok(self.of_packets(Reply::Written(Box::new(written))));
        }
        self.keep_packet(head, AuditAction::GeneratePacket, packet, kept.recipe, report)
    }

    /// Returns true if a version has all that a refreshed packet has, from the same sources.
    fn is_current(&self, kept: &PacketVersion, made: &Packet) -> Result<bool, Error> {
        let Packet { statements, not_included, .. } = &kept.packet;
        if *statements != made.statements || *not_included != made.not_included {
            return Ok(false);
        }
        let entries = self.entries_of(&kept.packet, kept.revision)?;
        let stale = self.stale_sources(&kept.packet, &kept.recipe.keys, &entries)?;
        Ok(stale.is_empty())
    }

    pub(super) fn edit_packet(&self, it: &EditPacket) -> Result<Decision, Error> {
        self.require_orchestrator()?;
        if let Some(first) = self.first_packet_reply()? {
            return Ok(first);
        }
        let head = self.stored_packets().head()?;
        let PacketVersion { packet, recipe, .. } = self.newest(&head, &it.address)?;
        let about = self.packet_head(&head, &it.address, true);
        let edited = packets::edit(&packet, &it.patch, &recipe, &about, &|text| self.count(text))?;
        let recipe = Recipe {
            task: edited.target_task.clone(),
            task_type: edited.task_type.clone(),
            links: edited.links.clone(),
            ..recipe
        };
        self.keep_packet(head, AuditAction::EditPacket, edited, recipe, Report::default())
    }

    /// Rejects callers that may not write packets.
    fn require_packet_writer(&self) -> Result<(), Error> {
        match self.caller.participant.role() {
            Role::Orchestrator => Ok(()),
            Role::Agent => Err(Error::Forbidden {
                message: "only the orchestrator writes packets; report what you lack with \
                          report_missing",
            }),
            Role::Admin => Err(Error::Forbidden {
                message: "only the orchestrator writes packets; use a credential of the orchestrator, \
                          or read them with context_read",
            }),
        }
    }

    /// Returns what the next version of a packet says of itself.
    fn packet_head(&self, head: &Head, address: &Address, is_kept: bool) -> packets::Head {
        packets::Head {
            id: is_kept.then(|| packet_id(head.last_packet.saturating_add(1))),
            session: Some(self.session.to_string()),
            version: head.newest(address).unwrap_or(0).saturating_add(1),
            created: self.at.to_string(),
            creator: self.caller.participant.as_str().to_owned(),
        }
    }

    /// Makes the version of a packet that comes after `previous`.
    fn make_packet(
        &self,
        head: &Head,
        recipe: &Recipe,
        previous: Option<&Packet>,
        is_kept: bool,
    ) -> Result<(Packet, Report), Error> {
        let (sources, withheld) = self.packet_sources(recipe)?;
        let about = self.packet_head(head, &recipe.address, is_kept);
        let count = |text: &str| self.count(text);
        let made = packets::generate(recipe, &sources, &about, previous, &count)?;
        let report = Report { withheld, ..report(&made) };
        Ok((made.packet, report))
    }

    fn keep_packet(
        &self,
        mut head: Head,
        action: AuditAction,
        packet: Packet,
        recipe: Recipe,
        report: Report,
    ) -> Result<Decision, Error> {
        let address = packet.address.clone();
        head.last_packet = head.last_packet.saturating_add(1);
        let mut draft = Draft::new(self)?;
        let version = PacketVersion {
            number: head.last_packet,
            version: packet.version,
            revision: draft.revision,
            created_at: draft.at,
            created_by: self.caller.participant.clone(),
            packet,
            recipe,
        };
        head.add(&address, &version, &mut draft.changes)?;
        // An edited packet can have what the caller may no longer read.
        let PacketVersion { packet, recipe, .. } = version;
        let written = self.written(self.visible(packet, &recipe.keys)?, &recipe, report)?;
        finish(draft, &head, action, &address, Reply::Written(Box::new(written)))
    }

    fn written(
        &self,
        packet: Packet,
        recipe: &Recipe,
        report: Report,
    ) -> Result<PacketWritten, Error> {
        Ok(PacketWritten {
            text: packet.render(recipe.form),
            form: recipe.form,
            budget: recipe.budget,
            report,
            advice: self.stored_packets().statistics()?.advise(&packet),
            packet,
        })
    }

    /// Returns the stored reply if the same request was executed before. The packet is as it is kept
    /// now.
    pub(super) fn first_packet_reply(&self) -> Result<Option<Decision>, Error> {
        let Some(Decision::Answer(mut outcome)) = self.first_reply()? else { return Ok(None) };
        outcome.reply = match outcome.reply {
            reply::Reply::Packets(Reply::KeptWritten(address, version, number, report)) => {
                let head = self.stored_packets().head()?;
                let kept = self.kept_version(&head, &address, version)?;
                // After it was cleared, another packet can have its address and version.
                if kept.number != number {
                    return Err(Error::PacketNotFound { packet: packet_id(number) });
                }
                let PacketVersion { packet, recipe, .. } = kept;
                let written = self.written(self.visible(packet, &recipe.keys)?, &recipe, report)?;
                reply::Reply::Packets(Reply::Written(Box::new(written)))
            }
            reply::Reply::Packets(Reply::KeptFeedback(number)) => {
                let kept = self.stored_packets().one_feedback(number)?;
                let packet = format!("of feedback {number}");
                let kept = kept.ok_or(Error::PacketNotFound { packet })?;
                reply::Reply::Packets(Reply::Feedback(Box::new(kept)))
            }
            reply => reply,
        };
        Ok(Some(Decision::Answer(outcome)))
    }

    /// Returns a version of a packet, if it is kept.
    pub(super) fn kept_version(
        &self,
        head: &Head,
        address: &Address,
        version: u32,
    ) -> Result<PacketVersion, Error> {
        rows::decode_version(&self.kept_row(head, address, version)?)
    }

    /// Returns the row of a version of a packet, if it is kept.
    pub(super) fn kept_row(
        &self,
        head: &Head,
        address: &Address,
        version: u32,
    ) -> Result<Vec<u8>, Error> {
        if !head.has(address, version) {
            return Err(Error::PacketNotFound { packet: format!("{address}, version {version}") });
        }
        self.stored_packets().version_row(address, version)
    }
}

/// Counts what became of the candidates.
fn report(made: &Generated) -> Report {
    let mut omitted: Vec<(Reason, u32)> = Vec::new();
    for it in &made.omitted {
        entry(&mut omitted, it.reason, |count| *count = count.saturating_add(1));
    }
    let included = made.candidates.iter().filter(|it| it.is_included).count();
    Report {
        included: crate::count::narrow(included),
        omitted,
        before: made.before,
        withheld: Vec::new(),
    }
}
