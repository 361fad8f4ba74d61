//! Writing packets.

use std::{collections::BTreeMap, rc::Rc};

use shared_context_core::{
    Code, PacketsReply,
    audit::AuditAction,
    budget::Reason,
    packets::{
        self, Address, EditPacket, GeneratePacket, Head, Packet, PacketWritten, Recipe, Report,
        kept::{KeptPacket, PacketVersion},
    },
    port::Revision,
    time::Timestamp,
};

use super::{
    super::state::{Model, name, participant},
    Made, NOW, count,
};

impl Model {
    pub(super) fn generate_packet(&self, clock: u64, who: &str, it: &GeneratePacket) -> Made {
        match who {
            "orchestrator" if it.is_preview => {}
            _ if it.is_preview => return Err(Code::Forbidden),
            _ => self.check_orchestrator(who)?,
        }
        let recipe = Recipe::new(it, &self.config().packet, &participant(who));
        let (packet, report) = self.make_packet(clock, who, &recipe, !it.is_preview)?;
        if it.is_preview {
            let written = self.written(packet, &recipe, report);
            return Ok((PacketsReply::Written(Box::new(written)), None));
        }
        let action = AuditAction::GeneratePacket;
        Ok(self.keep_packet(clock, who, action, packet, &recipe, report))
    }

    pub(super) fn refresh_packet(&self, clock: u64, who: &str, address: &Address) -> Made {
        self.check_orchestrator(who)?;
        let kept = self.packet_version(address, None)?;
        let recipe = &kept.recipe;
        let (packet, report) = self.make_packet(clock, who, recipe, true)?;
        let view = self.at(clock);
        let is_same = kept.packet.statements == packet.statements
            && kept.packet.not_included == packet.not_included;
        if is_same && view.stale_sources(who, &kept.packet, recipe, kept).is_empty() {
            let packet = view.seen_packet(who, kept.packet.clone(), recipe, NOW);
            let written = self.written(packet, recipe, report);
            return Ok((PacketsReply::Written(Box::new(written)), None));
        }
        let action = AuditAction::GeneratePacket;
        Ok(self.keep_packet(clock, who, action, packet, recipe, report))
    }

    pub(super) fn edit_packet(&self, clock: u64, who: &str, it: &EditPacket) -> Made {
        self.check_orchestrator(who)?;
        let PacketVersion { packet, recipe, .. } = self.packet_version(&it.address, None)?;
        let about = self.packet_head(clock, who, &it.address, true);
        let edited = packets::edit(packet, &it.patch, recipe, &about, &count);
        let edited = edited.map_err(|error| error.code())?;
        let recipe = Recipe {
            task: edited.target_task.clone(),
            task_type: edited.task_type.clone(),
            links: edited.links.clone(),
            ..recipe.clone()
        };
        let (action, report) = (AuditAction::EditPacket, Report::default());
        Ok(self.keep_packet(clock, who, action, edited, &recipe, report))
    }

    fn packet_head(&self, clock: u64, who: &str, address: &Address, is_kept: bool) -> Head {
        let newest = self.packet_version(address, None).map_or(0, |it| it.version);
        Head {
            id: is_kept.then(|| format!("PKT-{}", self.packets.last_packet + 1)),
            session: Some(self.about.session.to_string()),
            version: newest + 1,
            created: Timestamp(self.now(clock)).to_string(),
            creator: name(who).to_owned(),
        }
    }

    fn make_packet(
        &self,
        clock: u64,
        who: &str,
        recipe: &Recipe,
        is_kept: bool,
    ) -> Result<(Packet, Report), Code> {
        let (sources, withheld) = self.at(clock).packet_sources(who, recipe);
        let previous = self.packet_version(&recipe.address, None).ok().map(|it| it.packet.clone());
        let about = self.packet_head(clock, who, &recipe.address, is_kept);
        let made = packets::generate(recipe, &sources, &about, previous.as_ref(), &count);
        let made = made.map_err(|error| error.code())?;
        let mut omitted: BTreeMap<Reason, u32> = BTreeMap::new();
        for it in &made.omitted {
            *omitted.entry(it.reason).or_default() += 1;
        }
        let report = Report {
            included: made.candidates.iter().filter(|it| it.is_included).count() as u32,
            omitted: omitted.into_iter().collect(),
            before: made.before,
            withheld,
        };
        Ok((made.packet, report))
    }

    fn keep_packet(
        &self,
        clock: u64,
        who: &str,
        action: AuditAction,
        packet: Packet,
        recipe: &Recipe,
        report: Report,
    ) -> (PacketsReply, Option<Self>) {
        let address = packet.address.clone();
        let mut next = self.begin_change(clock);
        let (revision, created_at) = (Revision(next.revision), next.about.changed_at);
        let kept = Rc::make_mut(&mut next.packets);
        kept.last_packet += 1;
        let version = PacketVersion {
            number: kept.last_packet,
            version: packet.version,
            revision,
            created_at,
            created_by: participant(who),
            packet: packet.clone(),
            recipe: recipe.clone(),
        };
        if !kept.packets.iter().any(|it| it.address == address) {
            let (versions, readers) = (Vec::new(), Vec::new());
            kept.packets.push(KeptPacket { address: address.clone(), versions, readers });
            kept.packets.sort_by(|a, b| a.address.cmp(&b.address));
        }
        let versions = &mut next.packet_mut(&address).versions;
        versions.push(version);
        if versions.len() > 10 {
            versions.remove(0);
        }
        next.record_packet(who, action, &address);
        let packet = self.at(clock).seen_packet(who, packet, recipe, NOW);
        let written = next.written(packet, recipe, report);
        (PacketsReply::Written(Box::new(written)), Some(next))
    }

    pub(super) fn written(&self, packet: Packet, recipe: &Recipe, report: Report) -> PacketWritten {
        PacketWritten {
            form: recipe.form,
            text: packet.render(recipe.form),
            budget: recipe.budget,
            report,
            advice: self.packets.statistics.advise(&packet),
            packet,
        }
    }
}
