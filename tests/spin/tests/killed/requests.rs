//! Every kind of request, and the sessions it is sent to.

use serde_json::{Value, json};
use shared_context_system::{Answer, Client};

/// The state before a request: the session `a` with entries, history and a snapshot.
pub(crate) struct InitialState {
    credential: String,
    document: Vec<u8>,
}

/// A kind of request.
pub(crate) struct Request {
    pub(crate) name: &'static str,
    /// True if it is the first request to an empty database.
    pub(crate) is_first: bool,
    /// True if it changes stored data.
    pub(crate) changes: bool,
    /// The expected status.
    pub(crate) status: u16,
    pub(crate) send: fn(&Client, &InitialState) -> Answer,
}

impl InitialState {
    pub(crate) fn make(admin: &Client) -> Self {
        let config = json!({"namespace": {"keys": []}});
        let orchestrator = admin.create_session("a", &config);
        for key in ["scope", "findings", "notes"] {
            orchestrator.write("a", key, "one").expect(200);
        }
        let snapshot = json!({"action": "snapshot", "label": "before"});
        orchestrator.tool("a", &snapshot).expect(200);
        orchestrator.write("a", "scope", "two").expect(200);
        orchestrator.write("a", "later", "one").expect(200);
        let document = admin.get("/v1/sessions/a/export").text.into_bytes();
        Self { credential: orchestrator.credential().to_owned(), document }
    }

    /// Returns the state of an empty database.
    pub(crate) fn empty() -> Self {
        Self { credential: String::new(), document: Vec::new() }
    }
}

const fn read_request(name: &'static str, send: fn(&Client, &InitialState) -> Answer) -> Request {
    Request { name, is_first: false, changes: false, status: 200, send }
}

const fn change_request(name: &'static str, send: fn(&Client, &InitialState) -> Answer) -> Request {
    Request { name, is_first: false, changes: true, status: 200, send }
}

pub(crate) static REQUESTS: [Request; 21] = [
    Request {
        name: "create the first session",
        is_first: true,
        changes: true,
        status: 201,
        send: |admin, _| create(admin),
    },
    Request {
        name: "list sessions, before there is any",
        is_first: true,
        changes: false,
        status: 200,
        send: |admin, _| send(admin, "GET", "/v1/sessions", None),
    },
    Request { status: 201, ..change_request("create a session", |admin, _| create(admin)) },
    change_request("write a new key", |it, session| tool(it, session, &write("new", "x"))),
    change_request("overwrite", |it, session| tool(it, session, &write("scope", "x"))),
    change_request("overwrite, under a request id", |it, session| {
        let mut write = write("scope", "x");
        write["request_id"] = json!("r-1");
        tool(it, session, &write)
    }),
    change_request("overwrite, under a condition", |it, session| {
        let mut write = write("scope", "x");
        write["if_version"] = json!(2);
        tool(it, session, &write)
    }),
    change_request("write_batch of 10", |it, session| {
        let writes: Vec<_> =
            (0..10).map(|nth| json!({"key": format!("batch_{nth}"), "value": "x"})).collect();
        tool(it, session, &json!({"action": "write_batch", "writes": writes}))
    }),
    change_request("delete", |it, session| {
        tool(it, session, &json!({"action": "delete", "key": "scope"}))
    }),
    change_request("snapshot", |it, session| {
        tool(it, session, &json!({"action": "snapshot", "label": "now"}))
    }),
    change_request("restore", |it, session| {
        tool(it, session, &json!({"action": "restore_snapshot", "label": "before"}))
    }),
    change_request("redact", |it, session| {
        tool(it, session, &json!({"action": "redact", "key": "scope", "reason": "x"}))
    }),
    change_request("archive", |it, _| send(it, "POST", "/v1/sessions/a/archive", None)),
    change_request("revoke credentials", |it, _| send(it, "POST", "/v1/sessions/a/revoke", None)),
    Request {
        status: 201,
        ..change_request("import", |it, session| {
            send(it, "POST", "/v1/sessions/import?session_id=imported", Some(&session.document))
        })
    },
    change_request("delete the session", |it, _| send(it, "DELETE", "/v1/sessions/a", None)),
    read_request("read", |it, session| {
        tool(it, session, &json!({"action": "read", "key": "scope"}))
    }),
    read_request("list_keys", |it, session| tool(it, session, &json!({"action": "list_keys"}))),
    read_request("changes", |it, session| {
        tool(it, session, &json!({"action": "changes", "since": 1}))
    }),
    read_request("export", |it, _| send(it, "GET", "/v1/sessions/a/export", None)),
    read_request("list sessions", |it, _| send(it, "GET", "/v1/sessions", None)),
];

fn create(admin: &Client) -> Answer {
    send(admin, "POST", "/v1/sessions", Some(br#"{"session_id":"new"}"#))
}

fn write(key: &str, value: &str) -> Value {
    json!({"action": "write", "key": key, "value": value})
}

/// Sends a JSON tool request for the prepared session, as its orchestrator.
fn tool(client: &Client, initial: &InitialState, request: &Value) -> Answer {
    client.with_credential(&initial.credential).tool("a", request)
}

fn send(client: &Client, method: &str, path: &str, body: Option<&[u8]>) -> Answer {
    let headers: &[_] = if body.is_some() { &[("content-type", "application/json")] } else { &[] };
    client.try_send(method, path, headers, body).unwrap()
}
