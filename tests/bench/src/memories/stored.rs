//! Memories in `SQLite`: how long a search takes, and an addition beside the write of an entry.

use anyhow::Result;
use serde_json::json;
use shared_context_codec::Caller;
use shared_context_wasmtime::{SqliteKv, SqliteOptions};

use super::{add, fill, search};
use crate::{
    project::{Project, SCOPE},
    report::Report,
};

const SESSION: &str = "session/bench";
const SEARCHES: usize = 500;
const WRITES: usize = 60;

/// Measures a project of `count` memories.
pub(super) fn measure(report: &mut Report, count: usize) -> Result<()> {
    report.section(&format!("{count} memories in SQLite, fresh instance (elapsed, ms)"));
    let folder = tempfile::tempdir()?;
    let project = Project::over(SqliteKv::open(folder.path(), &SqliteOptions::default())?)?;
    project.send(SESSION, &Caller::trusted("admin"), &json!({"action": "create_session"}));
    fill(&project, count);
    let searches = project.times(SCOPE, SEARCHES, search);
    for (name, share, limit) in [("search, p50", 50, 5.0), ("search, p99", 99, 12.0)] {
        let figure = searches.get(SEARCHES * share / 100).copied().unwrap_or_default();
        report.goal(name, format!("{figure:7.2}"), &format!("under {limit}"), figure < limit);
    }
    let median = |times: &[f64]| times.get(times.len() / 2).copied().unwrap_or_default();
    let value = "Connection pool reduced from 200 to 20. ".repeat(5);
    let write = |nth| json!({"action": "write", "key": format!("k{nth}"), "value": value});
    let write = median(&project.times(SESSION, WRITES, write));
    let add = median(&project.times(SCOPE, WRITES, |nth| add(count + nth)));
    report.line("write an entry, on the disk", format!("{write:7.2}"));
    let goal = format!("under two writes: {:.2}", write * 2.0);
    report.goal("add one, on the disk", format!("{add:7.2}"), &goal, add < write * 2.0);
    project.ensure_none_rejected()
}
