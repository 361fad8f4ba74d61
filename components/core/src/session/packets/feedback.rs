//! Feedback on packets, and their statistics.

use super::{
    super::{Draft, draft::EventDetails},
    Decision, OpenSession, finish,
};
use crate::{
    Error,
    audit::AuditAction,
    kv::Bucket,
    packets::{
        Address, GiveFeedback, OTHER, Reply, Use,
        kept::{KeptFeedback, PacketVersion},
        stored::statistics_change,
    },
    participant::Role,
};

impl<B: Bucket> OpenSession<'_, B> {
    pub(super) fn give_feedback(&self, it: &GiveFeedback) -> Result<Decision, Error> {
        self.require_participant()?;
        if let Some(first) = self.first_packet_reply()? {
            return Ok(first);
        }
        let mut head = self.stored_packets().head()?;
        let (address, _) = self.packet_address(&head, it.address.as_ref())?;
        if !self.receives(&address) {
            return Err(Error::Forbidden {
                message: "feedback on a packet is given by its receiver; list_packets shows who \
                          read it",
            });
        }
        let mut readers = self.stored_packets().readers(&address)?;
        let mut reader = self.take_reader(&mut readers);
        let is_own = matches!(address, Address::Participant(_));
        if it.address.is_none() && !is_own && reader.version == 0 {
            self.check_not_given()?;
        }
        let last_read = Some(reader.version).filter(|it| head.has(&address, *it));
        let version = it.version.or(last_read).or_else(|| head.newest(&address)).unwrap_or(0);
        let PacketVersion { packet, recipe, .. } = self.kept_version(&head, &address, version)?;
        if reader.given.contains(&version) {
            return Err(Error::FeedbackGiven { version });
        }
        let mut draft = Draft::new(self)?;
        head.last_feedback = head.last_feedback.saturating_add(1);
        let kept = KeptFeedback {
            number: head.last_feedback,
            address: address.clone(),
            version,
            task_type: packet.task_type.unwrap_or_else(|| OTHER.to_owned()),
            depth: packet.depth,
            tokens: packet.token_count.of(recipe.form),
            by: self.caller.participant.clone(),
            at: draft.at,
            layers: std::mem::take(&mut reader.layers),
            questions: std::mem::take(&mut reader.questions),
            feedback: it.feedback.clone(),
        };
        reader.given.push(version);
        reader.given.retain(|it| head.has(&address, *it));
        readers.push(reader);
        // Other workers may still need the packet of a pattern, or the shared one.
        let is_done = self.meta.packet.auto_cleanup && is_own;
        if is_done {
            head.clear(&address, &mut draft.changes);
            let details =
                EventDetails { address: Some(address.as_str()), ..EventDetails::default() };
            draft.add_event(AuditAction::ClearPacket, details);
        } else {
            head.put_readers(&address, &mut readers, &mut draft.changes)?;
        }
        head.add_feedback(&kept, &mut draft.changes)?;
        if self.meta.packet.track_efficiency {
            let mut statistics = self.stored_packets().statistics()?;
            statistics.add(&use_of(&kept));
            draft.changes.push(statistics_change(&statistics)?);
        }
        let reply = Reply::Feedback(Box::new(kept));
        finish(draft, &head, AuditAction::GivePacketFeedback, &address, reply)
    }

    /// Rejects feedback without an address from who gave it on its own packet, which is gone, and did
    /// not read another one: it is sent again.
    fn check_not_given(&self) -> Result<(), Error> {
        let own = Address::Participant(self.caller.participant.clone());
        let all = self.stored_packets().feedback()?;
        let given = all.iter().rev().find(|it| it.address == own);
        given.map_or(Ok(()), |it| Err(Error::FeedbackGiven { version: it.version }))
    }

    pub(super) fn packet_statistics(&self, task_type: Option<&str>) -> Result<Decision, Error> {
        if self.caller.participant.role() == Role::Agent {
            return Err(Error::Forbidden {
                message: "only the orchestrator and the operator read statistics of packets; say \
                          what you lack with context_feedback",
            });
        }
        let mut reports = self.stored_packets().statistics()?.report();
        if task_type.is_some() {
            reports.retain(|it| it.task_type.as_deref() == task_type);
        }
        Ok(self.of_packets(Reply::Statistics(reports)))
    }
}

/// Returns what statistics count of feedback.
fn use_of(it: &KeptFeedback) -> Use {
    Use {
        task_type: it.task_type.clone(),
        depth: it.depth,
        tokens: it.tokens,
        layers_read: it.layers.clone(),
        questions: it.questions.clone(),
        feedback: it.feedback.clone(),
    }
}
