//! Assembled and compacted contexts: the evidence they hold, the prefix they reuse, and their cost.
//! The cost of packets.

mod compaction;
mod evidence;
mod locomo;
mod packets;
mod prefix;
mod reference;
mod speed;

use std::path::Path;

use anyhow::{Context as _, Result};
use shared_context_core::{
    context::assembly::{Assembly, Heading, Request},
    participant::Participant,
    scope::SessionId,
    time::Timestamp,
};

use crate::report::Report;

/// The time of all assemblies.
const NOW: Timestamp = Timestamp(1_771_597_800_000);

pub(crate) fn measure(report: &mut Report, data: Option<&Path>) -> Result<()> {
    match data {
        Some(file) => {
            let conversations = locomo::read(file)?;
            evidence::measure(report, &conversations)?;
            compaction::evidence(report, &conversations)?;
        }
        None => report.note("evidence within a budget: skipped, it needs --data FILE"),
    }
    prefix::measure(report)?;
    compaction::cost(report)?;
    packets::measure(report)?;
    speed::measure(report)
}

/// Returns the envelope of an assembly.
fn envelope(assembly: &Assembly, request: &Request<'_>) -> Result<String> {
    let session = SessionId::new("bench").context("an invalid id")?;
    let created_by = Participant::parse("orchestrator")?;
    let heading = Heading { id: None, owner: Some((&session, &created_by)), shows_hidden: true };
    Ok(assembly.envelope(request, &heading))
}
