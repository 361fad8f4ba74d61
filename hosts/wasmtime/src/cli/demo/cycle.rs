//! The interaction cycle of spec 10: an orchestrator, an analysis and a remediation, with a
//! night in between.

use serde_json::json;

use super::transcript::Transcript;
use crate::cli::{output::Output, problem::Problem};

const FINDINGS: &str = "Connection pool size reduced from 200 to 20 in Feb 18 config change. \
    Thread starvation under load. Staging test confirmed: restoring to 200 resolves throughput.";

/// Plays the story.
pub(super) fn play(output: Output) -> Result<(), Problem> {
    let names = ["orchestrator", "subagent:analysis", "subagent:remediation"];
    let (mut t, orchestrator) = Transcript::begin(output, "incident-0218", &json!({}), &names)?;

    t.scene("The orchestrator states the problem")?;
    t.write(&orchestrator, "current_phase", "analysis")?;
    let problem = "Throughput dropped 30% after config change on Feb 18.";
    t.write(&orchestrator, "problem_summary", problem)?;
    let scope = "Identify which config parameter caused degradation. Do not modify production.";
    t.write(&orchestrator, "scope", scope)?;
    let constraints = "Read-only access to prod. Staging available for experiments.";
    t.write(&orchestrator, "constraints", constraints)?;

    t.scene("A subagent looks for the cause")?;
    let analysis = t.launch(&orchestrator, "subagent:analysis")?;
    let seen = t.list(&analysis)?;
    let keys: Vec<&str> = seen.keys.iter().map(|it| it.key.as_str()).collect();
    let is_all = keys == ["constraints", "current_phase", "problem_summary", "scope"];
    t.claim("the subagent sees the four keys of the orchestrator", is_all)?;
    let read = t.read(&analysis, "problem_summary")?;
    t.read(&analysis, "scope")?;
    t.read(&analysis, "constraints")?;
    let is_known = read.value == problem && read.entry.written_by == "orchestrator";
    t.claim("the problem arrived as it was stated, by whom it was stated", is_known)?;
    t.note("it investigates with its own tools and finds the cause")?;
    t.write(&analysis, "findings_summary", FINDINGS)?;
    let question = "Was the pool size change intentional? Need user confirmation before \
        recommending revert.";
    let written = t.write(&analysis, "open_questions", question)?;
    let is_its_own = written.entry.written_by == "subagent:analysis";
    t.claim("the server says who wrote, from the credential", is_its_own)?;
    t.note("subagent:analysis completes; nothing of it remains but what it wrote")?;

    t.scene("Overnight")?;
    t.restart()?;

    t.scene("The orchestrator asks the user")?;
    t.list(&orchestrator)?;
    t.read(&orchestrator, "open_questions")?;
    t.note("the user answers: “No, that was accidental.”")?;
    let decision = "Config change was accidental. User approves revert recommendation.";
    t.write(&orchestrator, "decisions_made", decision)?;
    t.delete(&orchestrator, "open_questions")?;

    t.scene("Another subagent, which has never seen the problem")?;
    let remediation = t.launch(&orchestrator, "subagent:remediation")?;
    let seen = t.list(&remediation)?;
    let is_settled = seen.keys.iter().all(|it| it.key != "open_questions");
    t.claim("the question is settled and gone", is_settled)?;
    let findings = t.read(&remediation, "findings_summary")?;
    let decided = t.read(&remediation, "decisions_made")?;
    let knows = findings.value == FINDINGS && decided.value == decision;
    t.claim("it knows cause and decision without investigating", knows)?;
    let plan = "Plan: restore pool size 200 in config, deploy to staging, verify throughput for \
        1 h, then request production change. Record: change request draft.";
    t.write(&remediation, "deliverables_status", plan)?;
    t.write(&orchestrator, "current_phase", "remediation")?;

    t.scene("Was all of it true?")?;
    let listing = t.check_ledger()?;
    let tokens = findings.entry.value_size_tokens.saturating_add(decided.entry.value_size_tokens);
    let fact = format!(
        "subagent:remediation read 2 of {} keys, {tokens} tokens, and investigated nothing",
        seen.keys.len(),
    );
    t.end(&listing, &[fact])
}
