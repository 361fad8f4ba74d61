//! An agent as a Spin app: it is sent reports on tickets, distils them, and keeps
//! what it learned in a session of shared-context for each ticket, where the next
//! agent finds it.
//!
//! | request | answer |
//! |---|---|
//! | `POST /tickets/{id}/report`, text | what was written, as JSON |
//! | `GET /tickets/{id}` | what is known of the ticket, as JSON |
//! | `GET /tickets/{id}/prompt` | what an agent must be told, as text |
//!
//! This file holds the routes; `report` understands, `ticket` remembers, `answer`
//! answers.

mod answer;
mod report;
mod ticket;

use answer::Refusal;
use serde_json::{Map, json};
use spin_sdk::{
    http::{Params, Request, Response, Router},
    http_component,
};

// shared-context's contract, and the part of it that this app uses.
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

/// The session of a ticket has the ticket's id; shared-context checks it.
fn ticket(params: &Params) -> &str {
    params.get("id").unwrap_or_default()
}

fn receive_report(request: Request, params: Params) -> Result<Response, Refusal> {
    let text = str::from_utf8(request.body())
        .map_err(|_| Refusal::new("MALFORMED_REQUEST", "a report is text in UTF-8: send it so"))?;
    let report = report::distil(text);
    if report.findings.is_empty() && report.open_questions.is_empty() {
        let message = "no line begins with `finding:` or `open:`: begin what is to be kept so";
        return Err(Refusal::new("NOTHING_TO_KEEP", message));
    }
    let written = ticket::record(ticket(&params), &report)?;
    let written = written.into_iter().flat_map(|batch| batch.written).map(|entry| {
        // Warnings never stopped a write; an agent does well to heed them.
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

fn show_ticket(_: Request, params: Params) -> Result<Response, Refusal> {
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

fn show_prompt(_: Request, params: Params) -> Result<Response, Refusal> {
    Ok(answer::text(ticket::prompt(ticket(&params))?))
}
