//! An agent as a Spin app. It receives reports on tickets, extracts their findings, and
//! stores them in a shared-context session for each ticket, where the next agent reads
//! them.
//!
//! | request | answer |
//! |---|---|
//! | `POST /tickets/{id}/report`, text | the entries written, as JSON |
//! | `GET /tickets/{id}` | the ticket's entries, as JSON |
//! | `GET /tickets/{id}/prompt` | the system prompt for an agent, as text |
//!
//! This file has the routes. `report` parses reports, `ticket` reads and writes the
//! session, and `answer` builds the responses.

mod answer;
mod report;
mod ticket;

use answer::Rejection;
use serde_json::{Map, json};
use spin_sdk::{
    http::{Params, Request, Response, Router},
    http_component,
};

// Bindings for the part of shared-context's contract that this app uses.
spin_sdk::wit_bindgen::generate!({
    path: ["../../wit", "wit"],
    world: "example:tickets/ticket-agent",
    runtime_path: "::spin_sdk::wit_bindgen::rt",
    generate_all,
});

#[http_component]
fn handle(request: Request) -> Response {
    let mut router = Router::new();
    router.post("/tickets/:id/report", receive_report);
    router.get("/tickets/:id", show_ticket);
    router.get("/tickets/:id/prompt", show_prompt);
    router.handle(request)
}

/// Returns the ticket's id, which is also the id of its session. shared-context validates
/// it.
fn ticket(params: &Params) -> &str {
    params.get("id").unwrap_or_default()
}

fn receive_report(request: Request, params: Params) -> Result<Response, Rejection> {
    let text = str::from_utf8(request.body()).map_err(|_| {
        Rejection::new("MALFORMED_REQUEST", "a report is text in UTF-8: send it so")
    })?;
    let report = report::summarize(text);
    if report.findings.is_empty() && report.open_questions.is_empty() {
        let message = "no line begins with `finding:` or `open:`: begin what is to be kept so";
        return Err(Rejection::new("NOTHING_TO_KEEP", message));
    }
    let written = ticket::record(ticket(&params), &report)?;
    let written = written.into_iter().flat_map(|batch| batch.written).map(|entry| {
        // Warnings do not stop a write, but an agent should consider them.
        let warnings =
            entry.warnings.iter().map(|it| json!({"code": it.code, "message": it.message}));
        json!({
            "key": entry.key,
            "version": entry.version,
            "tokens": entry.value_tokens,
            "warnings": warnings.collect::<Vec<_>>(),
        })
    });
    Ok(answer::json(200, &json!({ "written": written.collect::<Vec<_>>() })))
}

fn show_ticket(_: Request, params: Params) -> Result<Response, Rejection> {
    let mut entries = Map::new();
    for entry in ticket::entries(ticket(&params))? {
        let shown = json!({
            "value": entry.value,
            "version": entry.info.version,
            "written_by": entry.info.written_by,
        });
        entries.insert(entry.info.key, shown);
    }
    Ok(answer::json(200, &json!({ "ticket": ticket(&params), "entries": entries })))
}

fn show_prompt(_: Request, params: Params) -> Result<Response, Rejection> {
    Ok(answer::text(ticket::prompt(ticket(&params))?))
}
