//! The outline of a project with as many sections as there may be, and a handoff with the largest
//! package, through a fresh component.

#![expect(clippy::indexing_slicing, reason = "a member of JSON that is missing is null")]

use anyhow::Result;
use serde_json::{Value, json};

use crate::{project::Project, report::Report};

/// As many sections as a project may have.
const SECTIONS: usize = 500;

/// Measures reads, checks, leases and packages.
pub(crate) fn measure(report: &mut Report) -> Result<()> {
    let heading = format!("{SECTIONS} sections, fresh instance, storage in memory (CPU, ms)");
    report.section(&heading);
    let project = Project::new()?;
    for nth in 0..SECTIONS {
        let section = section(nth);
        project.ask(&section);
        // The writer of details becomes their owner, and no participant can own more than 64
        // sections.
        if is_detail(nth) {
            project.ask(&json!({"action": "release", "marker": section["marker"]}));
        }
    }
    let goal = |report: &mut Report, name: &str, figure: f64, limit: f64| {
        report.goal(name, format!("{figure:7.2}"), &format!("under {limit}"), figure < limit);
    };
    goal(report, "index", project.median(|_| json!({"action": "read_index"})), 3.0);
    goal(report, "check", project.median(|_| json!({"action": "check_outline"})), 20.0);
    let write =
        project.median(|_| json!({"action": "put_section", "marker": "2.1", "progress": 5}));
    let acquire = project.median(|_| json!({"action": "acquire", "marker": "3.1"}));
    report.line("write a section", format!("{write:7.2}"));
    let acquire_goal = format!("at most a write and a tenth: {:.2}", write * 1.1);
    report.goal("acquire", format!("{acquire:7.2}"), &acquire_goal, acquire <= write * 1.1);
    for nth in 0..300 {
        project.ask(&json!({"action": "add_memories", "memories": [decision(nth)]}));
    }
    let items = items();
    let package = project.median(|_| {
        json!({
            "action": "offer_handoff", "to_agent": "subagent:next", "handoff_type": "emergency",
            "summary": "Payments move to a queue.", "items": items,
        })
    });
    goal(report, "a package of a conversation of 200 KB and 300 decisions", package, 80.0);
    project.ensure_none_rejected()
}

fn is_detail(nth: usize) -> bool {
    !nth.is_multiple_of(20)
}

/// Returns a request to write the section with this number: one of each twenty is a part, the others
/// are its details.
fn section(nth: usize) -> Value {
    let (level, place) = if is_detail(nth) { (3, nth) } else { (2, nth / 20) };
    let words: Vec<String> =
        (0..120).map(|it| format!("word{}", (nth * 7 + it * it) % 900)).collect();
    let content = format!("**Overview**: {}", words.join(" "));
    json!({
        "action": "put_section", "marker": format!("{level}.{place}"),
        "title": format!("Part {nth}"), "content": content,
    })
}

fn decision(nth: usize) -> Value {
    json!({
        "memory_type": "decision", "title": format!("Decision {nth}"), "importance": 7 + nth % 4,
        "content": {"decision": format!("Order {nth} goes to queue {}.", nth * nth % 97)},
    })
}

/// Returns a conversation of about 200 KB.
fn items() -> Vec<Value> {
    let item = |nth: usize| {
        let kind = if nth.is_multiple_of(2) { "user_message" } else { "assistant_message" };
        let text = format!("Step {nth}: order {} is paid late. ", nth * 31 % 1_009).repeat(12);
        json!({"id": format!("m{nth}"), "kind": kind, "text": text})
    };
    (0..420).map(item).collect()
}
