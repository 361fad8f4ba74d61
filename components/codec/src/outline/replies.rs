//! Replies about the outline and its owners (spec 20).

use serde::Serialize;
use shared_context_core::{
    OutlineReply, SessionId,
    key::Line,
    outline::{Advice, Finding, Owner, Shortcut},
    ownership::{Assignment, CoordinationState, Held, Lease, Resource, SectionRead},
};

use crate::json::{Time, to_vec};

macro_rules! reply {
    ($(#[$doc:meta])* $name:ident $(<$life:lifetime>)? $wire:literal
        { $($(#[$field_doc:meta])* $field:ident: $type:ty,)+ }) => {
        $(#[$doc])*
        #[derive(Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[cfg_attr(feature = "schema", schemars(rename = $wire))]
        pub(crate) struct $name $(<$life>)? { $($(#[$field_doc])* $field: $type,)+ }
    };
}

reply! {
    /// A participant of a session.
    OwnerForm<'a> "section_owner" {
        /// The participant.
        agent_id: &'a str,
        /// Its session; absent for the operator.
        #[serde(skip_serializing_if = "Option::is_none")]
        session_id: Option<&'a str>,
    }
}

reply! {
    /// Who owns a section.
    LeaseForm<'a> "lease" {
        /// The owner.
        owner: OwnerForm<'a>,
        /// `exclusive`, `shared-write` or `read-only`.
        ownership: &'static str,
        /// Since when, UTC.
        acquired_at: Time,
        /// The instant from which it does not hold, UTC.
        expires_at: Time,
        /// Who owned the section before.
        #[serde(skip_serializing_if = "Option::is_none")]
        previous_owner: Option<OwnerForm<'a>>,
        /// Why it is owned.
        #[serde(skip_serializing_if = "str::is_empty")]
        reason: &'a str,
    }
}

reply! {
    /// What is to be seen to.
    FindingForm<'a> "outline_finding" {
        /// The kind, such as `BROKEN_LINK`.
        code: &'static str,
        /// The section.
        marker: String,
        /// What is wrong, and what to do.
        message: &'a str,
    }
}

reply! {
    /// A section to look at after a change.
    AdviceForm<'a> "outline_advice" {
        /// The section.
        marker: String,
        /// When it should change.
        when: &'a str,
    }
}

reply! {
    /// A section that was written.
    PutReply<'a> "section_written" {
        /// Its marker.
        marker: String,
        /// Its version.
        version: u32,
        /// The tokens of its content.
        tokens: u32,
        /// Who owns it.
        #[serde(skip_serializing_if = "Option::is_none")]
        lease: Option<LeaseForm<'a>>,
        /// Warnings about it. They do not affect what is stored.
        warnings: Vec<FindingForm<'a>>,
        /// Which other sections to look at.
        advice: Vec<AdviceForm<'a>>,
        /// The project's revision.
        revision: u64,
    }
}

reply! {
    /// A shortcut of the index.
    ShortcutReply<'a> "shortcut" {
        /// What is needed.
        need: &'a str,
        /// The section that has it.
        marker: String,
        /// The name of the place.
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<&'a str>,
    }
}

reply! {
    /// A file that a section refers to.
    FileReply<'a> "file_reference" {
        /// Its path.
        path: &'a str,
        /// Its size in bytes.
        size: u64,
        /// What it is for.
        purpose: &'a str,
        /// When it was changed last.
        #[serde(skip_serializing_if = "Option::is_none")]
        modified_at: Option<Time>,
        /// The digest of its bytes.
        #[serde(skip_serializing_if = "Option::is_none")]
        digest: Option<&'a str>,
    }
}

reply! {
    /// What a redaction left of a section.
    RedactedForm<'a> "section_redacted_mark" {
        /// The digest of the content.
        digest: &'a str,
        /// Why it was redacted.
        reason: &'a str,
    }
}

reply! {
    /// A section.
    SectionForm<'a> "section" {
        /// Its marker.
        marker: String,
        /// Its level, 1 to 4.
        level: u8,
        /// Its title.
        title: &'a str,
        /// Its description in the index.
        #[serde(skip_serializing_if = "str::is_empty")]
        summary: &'a str,
        /// Its status in the index.
        #[serde(skip_serializing_if = "str::is_empty")]
        status: &'a str,
        /// How much of it is done, in percent.
        #[serde(skip_serializing_if = "Option::is_none")]
        progress: Option<u8>,
        /// Its content; absent if you may not read it, it is not loaded, or was redacted.
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<&'a str>,
        /// The tokens of its content.
        tokens: u32,
        /// True if you may not read the content: ask its owner.
        is_hidden: bool,
        /// Why it is not loaded, if its owner said so. Read it with its own level.
        #[serde(skip_serializing_if = "Option::is_none")]
        pruned: Option<&'a str>,
        /// Its shortcuts.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        shortcuts: Vec<ShortcutReply<'a>>,
        /// The file that it refers to.
        #[serde(skip_serializing_if = "Option::is_none")]
        file: Option<FileReply<'a>>,
        /// Who else may read it.
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        readers: &'a [String],
        /// Its version, which is also how often it was written.
        version: u32,
        /// When this version was written, UTC.
        changed_at: Time,
        /// Who wrote this version.
        changed_by: OwnerForm<'a>,
        /// Who owns it.
        #[serde(skip_serializing_if = "Option::is_none")]
        lease: Option<LeaseForm<'a>>,
        /// The versions that are kept; empty with a level.
        versions: &'a [u32],
        /// What a redaction left.
        #[serde(skip_serializing_if = "Option::is_none")]
        redacted: Option<RedactedForm<'a>>,
    }
}

reply! {
    /// Sections that were read.
    ReadReply<'a> "sections_read" {
        /// The sections.
        sections: Vec<SectionForm<'a>>,
        /// The sections that did not fit: read them one by one.
        more: Vec<String>,
        /// The project's revision.
        revision: u64,
    }
}

reply! {
    /// A section that was removed.
    DeleteReply "section_deleted" {
        /// Its marker.
        deleted_section: String,
        /// The version that was removed.
        version: u32,
        /// The project's revision.
        revision: u64,
    }
}

reply! {
    /// The navigation index.
    IndexReply<'a> "navigation_index" {
        /// The index.
        text: &'a str,
        /// Its tokens.
        tokens: u32,
        /// How many sections of levels 1 to 4 fell out.
        omitted: [u32; 4],
        /// How many shortcuts fell out.
        shortcuts_omitted: u32,
        /// The project's revision.
        revision: u64,
    }
}

reply! {
    /// The inconsistencies of an outline.
    CheckReply<'a> "outline_checked" {
        /// The inconsistencies, at most 500.
        findings: Vec<FindingForm<'a>>,
        /// The project's revision.
        revision: u64,
    }
}

reply! {
    /// A section that is owned.
    LeaseReply<'a> "section_leased" {
        /// Its marker.
        marker: String,
        /// Who owns it.
        lease: LeaseForm<'a>,
        /// The project's revision.
        revision: u64,
    }
}

reply! {
    /// A section that was given back.
    ReleaseReply "section_released" {
        /// Its marker.
        released_section: String,
        /// The project's revision.
        revision: u64,
    }
}

reply! {
    /// A section that is owned.
    HeldForm<'a> "section_held" {
        /// Its marker.
        marker: String,
        /// Who owns it.
        lease: LeaseForm<'a>,
    }
}

reply! {
    /// The tasks of a participant.
    AssignmentReply<'a> "assignment" {
        /// The participant.
        agent_id: &'a str,
        /// Its tasks.
        tasks: Vec<&'a str>,
    }
}

reply! {
    /// Something that the team shares.
    ResourceReply<'a> "shared_resource" {
        /// Its name.
        name: &'a str,
        /// Where it is, or what to know of it.
        value: &'a str,
    }
}

reply! {
    /// The coordination state of a project.
    CoordinationReply<'a> "coordination" {
        /// Who owns sections or has tasks.
        active_agents: Vec<&'a str>,
        /// Who owns what.
        section_ownership: Vec<HeldForm<'a>>,
        /// Who works on what.
        assignments: Vec<AssignmentReply<'a>>,
        /// What blocks everyone.
        global_blockers: Vec<&'a str>,
        /// What is shared.
        shared_resources: Vec<ResourceReply<'a>>,
        /// The version of the state, for the next change.
        sync_version: u64,
        /// When the state was read, UTC.
        last_sync: Time,
        /// The project's revision.
        revision: u64,
    }
}

reply! {
    /// A section that was redacted.
    RedactReply "section_redacted" {
        /// Its marker.
        redacted_section: String,
        /// The digests of its versions.
        digests: Vec<String>,
        /// The project's revision.
        revision: u64,
    }
}

/// Serializes a reply about the outline.
pub(crate) fn encode(reply: &OutlineReply, revision: u64) -> Vec<u8> {
    match reply {
        OutlineReply::Written(it) => to_vec(&PutReply {
            marker: it.marker.to_string(),
            version: it.version,
            tokens: it.tokens.0,
            lease: it.lease.as_ref().map(lease),
            warnings: it.warnings.iter().map(finding).collect(),
            advice: it.advice.iter().map(advice).collect(),
            revision,
        }),
        OutlineReply::Read { sections, more } => to_vec(&ReadReply {
            sections: sections.iter().map(section).collect(),
            more: more.iter().map(ToString::to_string).collect(),
            revision,
        }),
        OutlineReply::Deleted { marker, version } => to_vec(&DeleteReply {
            deleted_section: marker.to_string(),
            version: *version,
            revision,
        }),
        OutlineReply::Index(it) => to_vec(&IndexReply {
            text: &it.text,
            tokens: it.tokens.0,
            omitted: it.omitted,
            shortcuts_omitted: it.shortcuts_omitted,
            revision,
        }),
        OutlineReply::Checked(all) => {
            to_vec(&CheckReply { findings: all.iter().map(finding).collect(), revision })
        }
        OutlineReply::Leased(it) => {
            to_vec(&LeaseReply { marker: it.marker.to_string(), lease: lease(&it.lease), revision })
        }
        OutlineReply::Released(marker) => {
            to_vec(&ReleaseReply { released_section: marker.to_string(), revision })
        }
        OutlineReply::Coordination { state, leases, at } => {
            to_vec(&coordination(state, leases, Time(*at), revision))
        }
        OutlineReply::Redacted { marker, digests } => to_vec(&RedactReply {
            redacted_section: marker.to_string(),
            digests: digests.clone(),
            revision,
        }),
    }
}

fn owner(it: &Owner) -> OwnerForm<'_> {
    OwnerForm {
        agent_id: it.participant.as_str(),
        session_id: it.session.as_ref().map(SessionId::as_str),
    }
}

fn lease(it: &Lease) -> LeaseForm<'_> {
    LeaseForm {
        owner: owner(&it.owner),
        ownership: it.kind.as_str(),
        acquired_at: Time(it.acquired_at),
        expires_at: Time(it.expires_at),
        previous_owner: it.previous.as_ref().map(owner),
        reason: &it.reason,
    }
}

fn finding(it: &Finding) -> FindingForm<'_> {
    FindingForm { code: it.code.as_str(), marker: it.marker.to_string(), message: &it.message }
}

fn advice(it: &Advice) -> AdviceForm<'_> {
    AdviceForm { marker: it.marker.to_string(), when: &it.when }
}

fn section(read: &SectionRead) -> SectionForm<'_> {
    let it = &read.section;
    SectionForm {
        marker: it.marker.to_string(),
        level: it.marker.level(),
        title: &it.title,
        summary: &it.summary,
        status: &it.status,
        progress: it.progress,
        content: read.content.as_deref(),
        tokens: it.tokens.0,
        is_hidden: read.is_hidden,
        pruned: it.pruned.as_deref(),
        shortcuts: it.shortcuts.iter().map(shortcut_reply).collect(),
        file: it.file.as_ref().map(|it| FileReply {
            path: it.path.as_str(),
            size: it.size,
            purpose: it.purpose.as_str(),
            modified_at: it.modified_at.map(Time),
            digest: it.digest.as_deref(),
        }),
        readers: &it.readers,
        version: it.version,
        changed_at: Time(it.changed_at),
        changed_by: owner(&it.changed_by),
        lease: read.lease.as_ref().map(lease),
        versions: &read.versions,
        redacted: it
            .redacted
            .as_ref()
            .map(|it| RedactedForm { digest: &it.digest, reason: &it.reason }),
    }
}

fn shortcut_reply(it: &Shortcut) -> ShortcutReply<'_> {
    ShortcutReply {
        need: it.need.as_str(),
        marker: it.marker.to_string(),
        label: it.label.as_ref().map(Line::as_str),
    }
}

fn coordination<'a>(
    it: &'a CoordinationState,
    leases: &'a [Held],
    last_sync: Time,
    revision: u64,
) -> CoordinationReply<'a> {
    let owners = leases.iter().map(|it| it.lease.owner.participant.as_str());
    let assigned = it.assignments.iter().map(|it| it.participant.as_str());
    let mut active_agents: Vec<&str> = Vec::new();
    for agent in owners.chain(assigned) {
        if let Err(place) = active_agents.binary_search(&agent) {
            active_agents.insert(place, agent);
        }
    }
    let assignment = |it: &'a Assignment| AssignmentReply {
        agent_id: it.participant.as_str(),
        tasks: it.tasks.iter().map(Line::as_str).collect(),
    };
    let resource =
        |it: &'a Resource| ResourceReply { name: it.name.as_str(), value: it.value.as_str() };
    let held = |it: &'a Held| HeldForm { marker: it.marker.to_string(), lease: lease(&it.lease) };
    CoordinationReply {
        active_agents,
        section_ownership: leases.iter().map(held).collect(),
        assignments: it.assignments.iter().map(assignment).collect(),
        global_blockers: it.blockers.iter().map(Line::as_str).collect(),
        shared_resources: it.resources.iter().map(resource).collect(),
        sync_version: it.version,
        last_sync,
        revision,
    }
}
