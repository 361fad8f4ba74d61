//! Feedback on packets.

use std::rc::Rc;

use shared_context_core::{
    Code, PacketsReply,
    audit::AuditAction,
    packets::{Address, GiveFeedback, Use, kept::KeptFeedback},
};

use super::{
    super::state::{Model, name, participant, sees_all},
    Made, is_for,
};

impl Model {
    pub(super) fn give_feedback(&self, clock: u64, who: &str, it: &GiveFeedback) -> Made {
        match who {
            _ if self.about.is_archived => return Err(Code::SessionArchived),
            "admin" => return Err(Code::Forbidden),
            _ => {}
        }
        let (address, _) = self.packet_address(who, it.address.as_ref())?;
        if !is_for(address.as_str(), who) {
            return Err(Code::Forbidden);
        }
        let mut next = self.begin_change(clock);
        let mut reader = next.take_reader(who, &address);
        // Sent again after its own packet was removed, it is not for another one.
        let own = Address::Participant(participant(who));
        let is_again = || self.packets.feedback.iter().any(|it| it.address == own);
        let is_own = matches!(address, Address::Participant(_));
        if it.address.is_none() && !is_own && reader.version == 0 && is_again() {
            return Err(Code::FeedbackGiven);
        }
        let is_kept = |version: &u32| self.packet_version(&address, Some(*version)).is_ok();
        let version = it.version.or(Some(reader.version).filter(is_kept));
        let kept = self.packet_version(&address, version)?;
        let (packet, recipe) = (&kept.packet, &kept.recipe);
        if reader.given.contains(&kept.version) {
            return Err(Code::FeedbackGiven);
        }
        let at = next.about.changed_at;
        let packets = Rc::make_mut(&mut next.packets);
        packets.last_feedback += 1;
        let given = KeptFeedback {
            number: packets.last_feedback,
            address: address.clone(),
            version: kept.version,
            task_type: packet.task_type.clone().unwrap_or_else(|| "other".to_owned()),
            depth: packet.depth,
            tokens: packet.token_count.of(recipe.form),
            by: participant(who),
            at,
            layers: std::mem::take(&mut reader.layers),
            questions: std::mem::take(&mut reader.questions),
            feedback: it.feedback.clone(),
        };
        packets.feedback.push(given.clone());
        if packets.feedback.len() > 500 {
            packets.feedback.remove(0);
        }
        reader.given.push(kept.version);
        reader.given.retain(is_kept);
        if self.config().packet.track_efficiency {
            packets.statistics.add(&Use {
                task_type: given.task_type.clone(),
                depth: given.depth,
                tokens: given.tokens,
                layers_read: given.layers.clone(),
                questions: given.questions.clone(),
                feedback: given.feedback.clone(),
            });
        }
        if self.config().packet.auto_cleanup && is_own {
            packets.packets.retain(|it| it.address != address);
            next.record_packet(who, AuditAction::ClearPacket, &address);
        } else {
            next.packet_mut(&address).readers.push(reader);
        }
        next.record_packet(who, AuditAction::GivePacketFeedback, &address);
        Ok((PacketsReply::Feedback(Box::new(given)), Some(next)))
    }

    pub(super) fn statistics(&self, who: &str, task_type: Option<&str>) -> Made {
        if !sees_all(name(who)) {
            return Err(Code::Forbidden);
        }
        let mut all = self.packets.statistics.report();
        all.retain(|it| task_type.is_none() || it.task_type.as_deref() == task_type);
        Ok((PacketsReply::Statistics(all), None))
    }
}
