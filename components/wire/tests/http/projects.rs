//! Projects over HTTP: life cycle and credentials.

use shared_context_codec::Credential;
use shared_context_core::{Scope, ScopeKind, time::Timestamp};
use shared_context_wire::credential::{Grant, Keys};

use crate::bench::{ADMIN_KEY, Bench, SECRET, START_MS};

/// Mints a credential for the first incarnation of the project or session `id`.
fn credential(kind: ScopeKind, id: &str) -> String {
    let grant = Grant {
        scope: Scope::new(kind, id).unwrap(),
        participant: "orchestrator".to_owned(),
        credential: Credential { incarnation: 1, epoch: START_MS },
        keys: Vec::new(),
        project: None,
        tools: None,
    };
    let keys = Keys::new(SECRET, ADMIN_KEY).unwrap();
    keys.mint(&grant, Timestamp(START_MS), 3600).unwrap().credential
}

#[test]
fn a_project_is_created_shown_listed_and_deleted() {
    let bench = Bench::new();
    let admin =
        |target, status, expected| bench.check_as(ADMIN_KEY, target, &[], "", status, expected);
    admin("GET /v1/projects/webshop", 404, "PROJECT_NOT_FOUND");
    let created = admin("PUT /v1/projects/webshop", 201, r#""project_id":"webshop""#);
    assert_eq!(created.headers["location"], "/v1/projects/webshop");
    assert_eq!(created.json()["incarnation"], 1);
    admin("PUT /v1/projects/webshop", 409, "PROJECT_EXISTS");
    admin("PUT /v1/projects/a%20b", 400, "project_id must be 1 to 128");
    let shown = admin("GET /v1/projects/webshop", 200, "");
    assert_eq!(shown.json(), created.json());

    admin("PUT /v1/projects/app", 201, "");
    let listed = admin("GET /v1/projects?limit=1", 200, r#""next_after":"app""#);
    assert_eq!(listed.json()["projects"].as_array().unwrap().len(), 1);
    let listed = admin("GET /v1/projects?prefix=web", 200, r#""next_after":null"#);
    assert_eq!(listed.json()["projects"][0], created.json());
    admin("GET /v1/sessions", 200, r#""session_id":"s""#);
    admin("GET /v1/projects?status=active", 400, "status");

    admin("DELETE /v1/projects/webshop", 200, r#"{"deleted_project":"webshop","revision":2}"#);
    admin("GET /v1/projects/webshop", 404, "PROJECT_NOT_FOUND");
    let again = admin("PUT /v1/projects/webshop", 201, "");
    assert_eq!(again.json()["incarnation"], 3, "an id may be used again; credentials are void");
}

#[test]
fn only_the_admin_creates_lists_and_deletes_projects() {
    let bench = Bench::new();
    bench.check_as(ADMIN_KEY, "PUT /v1/projects/p", &[], "", 201, "");
    let project = credential(ScopeKind::Project, "p");
    bench.check_as(&project, "GET /v1/projects/p", &[], "", 200, r#""project_id":"p""#);
    bench.check_as(&project, "DELETE /v1/projects/p", &[], "", 403, "only the operator");
    bench.check_as(&project, "PUT /v1/projects/p", &[], "", 403, "only the operator");
    bench.check_as(&project, "GET /v1/projects", &[], "", 403, "only the operator");
    bench.check_as(&bench.orchestrator, "PUT /v1/projects/q", &[], "", 403, "session s");
}

/// Session and project have the same id, incarnation and epoch. Only the scope of a credential
/// distinguishes them.
#[test]
fn a_credential_is_valid_for_one_scope_only() {
    let bench = Bench::new();
    bench.check_as(ADMIN_KEY, "PUT /v1/projects/s", &[], "", 201, "");
    let (session, project) =
        (credential(ScopeKind::Session, "s"), credential(ScopeKind::Project, "s"));
    bench.check_as(&session, "GET /v1/sessions/s/entries", &[], "", 200, "");
    bench.check_as(&project, "GET /v1/projects/s", &[], "", 200, "");
    for target in [
        "GET /v1/sessions/s",
        "GET /v1/sessions/s/entries",
        "GET /v1/sessions/s/entries/scope",
        "GET /v1/sessions/s/changes",
        "POST /v1/sessions/s/shared_context",
        "POST /v1/sessions/s/credentials",
        "DELETE /v1/sessions/s",
    ] {
        bench.check_as(&project, target, &[], "", 403, "the credential is for project s");
    }
    for target in ["GET /v1/projects/s", "DELETE /v1/projects/s", "PUT /v1/projects/s"] {
        bench.check_as(&session, target, &[], "", 403, "the credential is for session s");
    }
    let mcp = [("content-type", "application/json"), ("accept", "application/json")];
    bench.check_as(&project, "POST /mcp", &mcp, "{}", 403, "the tools here are about a session");

    bench.check_as(ADMIN_KEY, "DELETE /v1/projects/s", &[], "", 200, "");
    bench.check_as(ADMIN_KEY, "PUT /v1/projects/s", &[], "", 201, "");
    bench.check_as(&project, "GET /v1/projects/s", &[], "", 401, "earlier project of this name");
}

#[test]
fn an_action_of_the_other_scope_is_rejected() {
    let bench = Bench::new();
    for action in ["create_project", "show_project", "delete_project"] {
        let body = format!(r#"{{"action":"{action}"}}"#);
        let target = "POST /v1/sessions/s/shared_context";
        let expected = "ask for it at /v1/projects/{project}/shared_context";
        bench.check_as(ADMIN_KEY, target, &[], &body, 400, expected);
    }
}

#[test]
fn a_session_names_its_project_when_it_is_created() {
    let bench = Bench::new();
    let create = |id: &str, project: &str, status, expected| {
        let body = format!(r#"{{"session_id":"{id}","config":{{"project":"{project}"}}}}"#);
        bench.check_as(ADMIN_KEY, "POST /v1/sessions", &[], &body, status, expected)
    };
    let created = create("t", "webshop", 201, "").json();
    assert_eq!(created["config"]["project"], "webshop");
    create("u", "a/b", 400, "config.project must be 1 to 128");
    let shown = bench.check_as(ADMIN_KEY, "GET /v1/sessions/t", &[], "", 200, "").json();
    assert_eq!(shown["config"], created["config"]);
    let plain = bench.check("GET /v1/sessions/s", "", 200, "").json();
    assert_eq!(plain["config"].get("project"), None);

    // The document contains the name of the project.
    let document = bench.check_as(ADMIN_KEY, "GET /v1/sessions/t/export", &[], "", 200, "").body;
    let target = "POST /v1/sessions/import?session_id=v";
    let imported = bench.check_as(ADMIN_KEY, target, &[], &document, 201, "").json();
    assert_eq!(imported["config"], created["config"]);
    let again = bench.check_as(ADMIN_KEY, "GET /v1/sessions/v/export", &[], "", 200, "").json();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(again["digests"], document["digests"]);
}

/// The attack list of projects: no project of another credential, and no session by way of a project.
#[test]
fn a_session_credential_opens_its_own_project_only() {
    let bench = Bench::new();
    for project in ["webshop", "other"] {
        bench.check_as(ADMIN_KEY, &format!("PUT /v1/projects/{project}"), &[], "", 201, "");
    }
    let body = r#"{"session_id":"t","config":{"project":"webshop"}}"#;
    let created = bench.check_as(ADMIN_KEY, "POST /v1/sessions", &[], body, 201, "").json();
    let credential = created["credential"].as_str().unwrap();
    bench.check_as(credential, "GET /v1/projects/webshop", &[], "", 200, "");
    for target in [
        "GET /v1/projects/other",
        "GET /v1/projects/other/changes",
        "GET /v1/projects/other/decisions",
        "POST /v1/projects/other/shared_context",
        "DELETE /v1/projects/other",
        "GET /v1/sessions/s/entries",
        "POST /v1/sessions/s/shared_context",
    ] {
        bench.check_as(credential, target, &[], "", 403, "");
    }
    for target in ["GET /v1/projects/webshop", "GET /v1/projects/webshop/decisions"] {
        bench.check_as(&bench.orchestrator, target, &[], "", 403, "");
    }
    // The project's tool has no action of a session.
    let target = "POST /v1/projects/webshop/shared_context";
    bench.check_as(credential, target, &[], r#"{"action":"read","key":"scope"}"#, 400, "");
    // A project that is created anew under the name is another one.
    bench.check_as(ADMIN_KEY, "DELETE /v1/projects/webshop", &[], "", 200, "");
    bench.check_as(ADMIN_KEY, "PUT /v1/projects/webshop", &[], "", 201, "");
    bench.check_as(credential, "GET /v1/projects/webshop", &[], "", 401, "");
}
