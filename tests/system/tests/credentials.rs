//! Tests a started server with credentials that are invalid, expired, revoked or not valid yet, and
//! that no secret and no stored value ever reaches its log.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use rusqlite::Connection;
use serde_json::json;
use shared_context_codec::Credential;
use shared_context_core::{Scope, ScopeKind, time::Timestamp};
use shared_context_system::{Client, Server, Setup};
use shared_context_wire::credential::{Grant, Keys};
use tempfile::{TempDir, tempdir};

/// A server with the sessions `a` and `b`, both with an entry.
struct Place {
    server: Server,
    admin: Client,
    keys: Keys,
    orchestrator: Client,
    _folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempdir().unwrap();
        let server = Server::start(folder.path());
        let admin = server.admin();
        let (secret, admin_key) = server.secrets();
        let keys = Keys::new(secret.as_bytes(), &admin_key).unwrap();
        let keys = keys.bound_to(identity(folder.path()));
        let orchestrator = admin.create_session("a", &json!({}));
        orchestrator.write("a", "scope", "treasure").expect(200);
        admin.create_session("b", &json!({})).write("b", "scope", "other").expect(200);
        Self { server, admin, keys, orchestrator, _folder: folder }
    }

    /// Signs a credential of `a` with `keys`, as the server does at that time.
    fn mint(keys: &Keys, incarnation: u64, epoch: u64, ago: Duration) -> String {
        let grant = Grant {
            scope: Scope::new(ScopeKind::Session, "a").unwrap(),
            participant: "orchestrator".to_owned(),
            credential: Credential { incarnation, epoch },
            keys: Vec::new(),
            project: None,
            tools: None,
        };
        let at = (SystemTime::now() - ago).duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let at = Timestamp(u64::try_from(at.as_millis()).unwrap());
        keys.mint(&grant, at, 60).unwrap().credential
    }

    /// Returns the incarnation and epoch of `a`.
    fn state(&self) -> (u64, u64) {
        let session = self.admin.get("/v1/sessions/a").expect(200);
        let number = |name: &str| session[name].as_u64().unwrap();
        (number("incarnation"), number("credential_epoch"))
    }

    /// Checks that `credential` opens nothing of session `a`, and that the
    /// error says why without repeating it.
    #[track_caller]
    fn check_refused(&self, what: &str, credential: &str, why: &str) {
        self.check_refused_with(401, "UNAUTHENTICATED", what, credential, why);
    }

    /// Checks the same, with the status and the code of the error.
    #[track_caller]
    fn check_refused_with(&self, status: u16, code: &str, what: &str, credential: &str, why: &str) {
        let client = self.admin.with_credential(credential);
        let before = self.admin.get("/v1/sessions/a").expect(200);
        for (method, path, body) in [
            ("POST", "/v1/sessions/a/shared_context", Some(json!({"action": "list_keys"}))),
            (
                "POST",
                "/v1/sessions/a/shared_context",
                Some(json!({"action": "write", "key": "scope", "value": "stolen"})),
            ),
            ("GET", "/v1/sessions/a/entries", None),
            ("GET", "/v1/sessions/a/entries/scope", None),
            ("PUT", "/v1/sessions/a/entries/scope", Some(json!({"value": "stolen"}))),
            ("DELETE", "/v1/sessions/a/entries/scope", None),
            ("GET", "/v1/sessions/a/prompt", None),
            ("GET", "/v1/sessions/a/audit", None),
            ("GET", "/v1/sessions/a", None),
            ("DELETE", "/v1/sessions/a", None),
            ("POST", "/v1/sessions/a/archive", Some(json!({}))),
            ("POST", "/v1/sessions/a/credentials", Some(json!({"participant": "subagent:x"}))),
        ] {
            let answer = client.send(method, path, body.as_ref());
            let message = answer.refused(status, code);
            assert!(message.contains(why), "{what}, {method} {path}: {message}");
            assert!(!answer.text.contains("treasure"), "{}", answer.text);
            assert!(credential.len() < 20 || !answer.text.contains(credential), "{}", answer.text);
            let is_asked = answer.headers.contains_key("www-authenticate");
            assert_eq!(is_asked, status == 401, "{what}");
        }
        assert_eq!(self.admin.get("/v1/sessions/a").expect(200), before, "{what}");
    }

    #[track_caller]
    fn check_accepted(&self, what: &str, credential: &str) {
        let client = self.admin.with_credential(credential);
        assert_eq!(client.read("a", "scope").expect(200)["value"], "treasure", "{what}");
    }
}

/// Returns the identity of the database in `folder`.
fn identity(folder: &Path) -> String {
    let database = Connection::open(folder.join("shared-context.db")).unwrap();
    database.query_row("SELECT lower(hex(id)) FROM state", [], |row| row.get(0)).unwrap()
}

#[test]
fn an_expired_credential_opens_nothing() {
    let place = Place::new();
    let (incarnation, epoch) = place.state();
    let mint = |ago| Place::mint(&place.keys, incarnation, epoch, Duration::from_secs(ago));
    place.check_accepted("a fresh one", &mint(0));
    place.check_accepted("within the skew of clocks", &mint(60 + 20));
    place.check_refused("half a minute late", &mint(60 + 35), "expired at");
    place.check_refused("a year late", &mint(365 * 86_400), "expired at");
}

#[test]
fn a_credential_this_server_did_not_sign_opens_nothing() {
    let place = Place::new();
    let (incarnation, epoch) = place.state();
    let forger = Keys::new(&[b'f'; 64], &"a".repeat(64)).unwrap();
    let forged = Place::mint(&forger, incarnation, epoch, Duration::ZERO);
    place.check_refused("forged", &forged, "did not sign");
    // The admin key is no secret to sign with.
    let (_, admin_key) = place.server.secrets();
    let forger = Keys::new(admin_key.as_bytes(), &"a".repeat(64)).unwrap();
    let forged = Place::mint(&forger, incarnation, epoch, Duration::ZERO);
    place.check_refused("signed with the admin key", &forged, "did not sign");

    let good = place.orchestrator.credential().to_owned();
    let parts: Vec<&str> = good.split('.').collect();
    let [header, claims, signature] = parts[..] else { panic!("{good}") };
    // {"alg":"none"}, {"alg":"none","typ":"JWT"}, {"alg":"HS512","typ":"JWT"}, {"alg":"RS256"}
    for header in [
        "eyJhbGciOiJub25lIn0",
        "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0",
        "eyJhbGciOiJIUzUxMiIsInR5cCI6IkpXVCJ9",
        "eyJhbGciOiJSUzI1NiJ9",
    ] {
        for signature in [signature, "", "AAAA"] {
            let token = format!("{header}.{claims}.{signature}");
            place.check_refused("another algorithm", &token, "");
        }
    }
    let agent = place.orchestrator.mint("a", "subagent:x");
    let agent: Vec<&str> = agent.credential().split('.').collect();
    let mixed = format!("{header}.{}.{signature}", agent[1]);
    place.check_refused("claims of one, signature of another", &mixed, "did not sign");
}

#[test]
fn a_credential_that_is_not_whole_opens_nothing() {
    let place = Place::new();
    let good = place.orchestrator.credential().to_owned();
    for end in [1, 10, good.len() / 2, good.len() - 10, good.len() - 1] {
        place.check_refused("truncated", &good[..end], "");
    }
    place.check_refused("none", "", "");
    place.check_refused("with more at its end", &format!("{good}A"), "");
    place.check_refused("twice", &format!("{good}.{good}"), "");
    place.check_refused("a very long one", &good.repeat(20), "");
    let (secret, admin_key) = place.server.secrets();
    place.check_refused("the secret itself", &secret, "");
    place.check_refused("most of the admin key", &admin_key[..admin_key.len() - 1], "");
    let client = place.server.stranger();
    for header in ["Basic YTpi", "Bearer", "bearer", "Token x", "Bearer a b", "\u{a0}"] {
        let sent = client.try_send("GET", "/v1/sessions/a", &[("authorization", header)], None);
        let Ok(answer) = sent else { continue };
        answer.refused(401, "UNAUTHENTICATED");
    }
    let two = [("authorization", "Bearer x"), ("authorization", &*format!("Bearer {good}"))];
    client.try_send("GET", "/v1/sessions/a", &two, None).unwrap().refused(401, "UNAUTHENTICATED");
    let path = format!("/v1/sessions/a?access_token={good}");
    client.get(&path).refused(401, "UNAUTHENTICATED");
}

#[test]
fn a_credential_of_another_session_opens_nothing() {
    let place = Place::new();
    let other = place.admin.mint("b", "orchestrator");
    other.read("b", "scope").expect(200);
    let credential = other.credential();
    place.check_refused_with(403, "FORBIDDEN", "another session's", credential, "for session b");
}

/// A session that was deleted and created again under its id is another one.
#[test]
fn a_credential_of_an_earlier_incarnation_opens_nothing() {
    let place = Place::new();
    let old = place.orchestrator.credential().to_owned();
    let (incarnation, epoch) = place.state();
    place.admin.send("DELETE", "/v1/sessions/a", None).expect(200);
    let gone = place.orchestrator.read("a", "scope");
    assert!(gone.status == 404 || gone.status == 401, "{}", gone.text);
    let new = place.admin.create_session("a", &json!({}));
    new.write("a", "scope", "treasure").expect(200);
    place.check_refused("of the earlier one", &old, "");
    let (newer, _) = place.state();
    assert!(newer > incarnation);
    for wrong in [0, incarnation, newer - 1, newer + 1, u64::MAX] {
        let token = Place::mint(&place.keys, wrong, epoch, Duration::ZERO);
        place.check_refused("of an incarnation that is not", &token, "");
    }
    place.check_accepted("of this one", new.credential());
}

#[test]
fn a_revoked_credential_opens_nothing_also_after_a_restart() {
    let mut place = Place::new();
    let agent = place.orchestrator.mint("a", "subagent:x");
    place.admin.post("/v1/sessions/a/revoke", &json!({})).expect(200);
    place.check_refused("revoked", place.orchestrator.credential(), "");
    place.check_refused("a revoked agent's", agent.credential(), "");
    let new = place.admin.mint("a", "orchestrator").credential().to_owned();
    place.check_accepted("a new one", &new);
    let Place { server, _folder: folder, .. } = place;
    server.kill();
    let server = Server::start(folder.path());
    place = Place { admin: server.admin(), server, _folder: folder, ..Place::new() };
    place.check_refused("revoked before the restart", agent.credential(), "");
    place.check_accepted("minted before the restart", &new);
}

/// In a container the secret is in the environment and the data in a volume. With a new
/// volume, what had been revoked opened the new session of the same name.
#[test]
fn a_new_data_folder_voids_every_credential() {
    let Place { server, admin, orchestrator: revoked, _folder: old, .. } = Place::new();
    admin.post("/v1/sessions/a/revoke", &json!({})).expect(200);
    let good = admin.mint("a", "orchestrator");
    server.stop();
    let new = tempdir().unwrap();
    fs::copy(old.path().join("keys.json"), new.path().join("keys.json")).unwrap();
    let server = Server::start(new.path());
    let admin = server.admin();
    let orchestrator = admin.create_session("a", &json!({}));
    orchestrator.write("a", "scope", "treasure").expect(200);
    let place = Place { server, admin, orchestrator, _folder: new, ..Place::new() };
    for credential in [revoked.credential(), good.credential()] {
        place.check_refused("of the folder before", credential, "for another database");
    }
    place.check_accepted("of this folder", place.orchestrator.credential());
}

/// A revocation that was lost with the last commits left the revoked credential valid. It is
/// unknown which credentials a lost commit revoked, so none stays valid.
#[test]
fn an_accepted_loss_voids_every_credential() {
    let Place { server, orchestrator: revoked, _folder: folder, .. } = Place::new();
    server.stop();
    let database = folder.path().join("shared-context.db");
    let older = fs::read(&database).unwrap();
    let server = Server::start(folder.path());
    server.admin().post("/v1/sessions/a/revoke", &json!({})).expect(200);
    let good = server.admin().mint("a", "orchestrator");
    server.stop();
    fs::write(&database, older).unwrap();
    let server = Setup::new(folder.path()).arguments(&["--accept-loss"]).start();
    let said = "every credential from before is void, mint new ones";
    assert!(server.log().contains(said), "{}", server.log());
    let place = Place { admin: server.admin(), server, _folder: folder, ..Place::new() };
    for credential in [revoked.credential(), good.credential()] {
        place.check_refused("from before the loss", credential, "for another database");
    }
    let new = place.admin.mint("a", "orchestrator").credential().to_owned();
    place.check_accepted("minted after it", &new);
    // The new identity stays.
    let Place { server, _folder: folder, .. } = place;
    server.stop();
    let server = Server::start(folder.path());
    let place = Place { admin: server.admin(), server, _folder: folder, ..Place::new() };
    place.check_accepted("after a restart", &new);
}

#[test]
fn nobody_gets_more_than_its_role() {
    let place = Place::new();
    let agent = place.orchestrator.mint("a", "subagent:x");
    let credentials = "/v1/sessions/a/credentials";
    let mint = |client: &Client, participant: &str| {
        client.post(credentials, &json!({"participant": participant}))
    };
    mint(&agent, "subagent:y").refused(403, "FORBIDDEN");
    mint(&agent, "orchestrator").refused(403, "FORBIDDEN");
    mint(&place.orchestrator, "orchestrator").refused(403, "FORBIDDEN");
    mint(&place.orchestrator, "admin").refused(403, "FORBIDDEN");
    mint(&place.admin, "admin").refused(403, "FORBIDDEN");
    for client in [&agent, &place.orchestrator] {
        client.get("/v1/sessions").refused(403, "FORBIDDEN");
        client.post("/v1/sessions", &json!({"session_id": "c"})).refused(403, "FORBIDDEN");
        client.send("DELETE", "/v1/sessions/a", None).refused(403, "FORBIDDEN");
        client.post("/v1/sessions/a/archive", &json!({})).refused(403, "FORBIDDEN");
        client.post("/v1/sessions/a/revoke", &json!({})).refused(403, "FORBIDDEN");
        client.get("/v1/sessions/a/audit").refused(403, "FORBIDDEN");
    }
    place.admin.write("a", "scope", "x").refused(403, "FORBIDDEN");
    place.check_accepted("still", agent.credential());
}

/// Logs are read by more people than the data. Everything that happens to
/// values, credentials and keys happens here, with every log line there is.
#[test]
fn no_value_and_no_secret_is_ever_logged() {
    const VALUE: &str = "the-value-nobody-may-log";
    for format in ["text", "json"] {
        let folder = tempdir().unwrap();
        let setup = Setup::new(folder.path())
            .arguments(&["--log-format", format])
            .environment("SHARED_CONTEXT_LOG", "trace");
        let server = setup.start();
        let admin = server.admin();
        let orchestrator = admin.create_session("a", &json!({}));
        let agent = orchestrator.mint("a", "subagent:x");
        for client in [&agent, &orchestrator, &admin] {
            client.write("a", "scope", VALUE);
            client.read("a", "scope").expect(200);
            let headers = [("content-type", "text/plain")];
            let path = "/v1/sessions/a/entries/other";
            client.try_send("PUT", path, &headers, Some(VALUE.as_bytes())).unwrap();
            client.write("a", VALUE, VALUE).refused(400, "INVALID_KEY");
            client.write("a", "scope", &VALUE.repeat(1000));
            client.tool("a", &json!({"action": VALUE})).refused(400, "MALFORMED_REQUEST");
            client.tool("a", &json!({"action": "write", "key": "k", "value": {VALUE: VALUE}}));
            let body = format!(r#"{{"action":"write","key":"k","value":"{VALUE}"#);
            let headers = [("content-type", "application/json")];
            let path = "/v1/sessions/a/shared_context";
            client.try_send("POST", path, &headers, Some(body.as_bytes())).unwrap();
            client.tool("a", &json!({"action": "delete", "key": "other"}));
            client.get("/v1/sessions/a/prompt");
        }
        let forged = format!("{}x", orchestrator.credential());
        admin.with_credential(&forged).read("a", "scope").refused(401, "UNAUTHENTICATED");
        admin.with_credential(VALUE).read("a", "scope").refused(401, "UNAUTHENTICATED");
        let metrics = server.stranger().get("/metrics").text;
        assert!(!metrics.contains(VALUE));
        let greeting = server.greeting();
        let (secret, admin_key) = server.secrets();
        let credentials = [agent.credential(), orchestrator.credential()].map(str::to_owned);
        let log = server.stop();
        assert!(log.contains("shared_context::audit") || log.contains("audit"), "{log}");
        assert!(log.contains("subagent:x"), "the audit log is not there: {log}");
        for text in [&log, &greeting] {
            assert!(!text.contains(VALUE), "a value is logged: {text}");
            assert!(!text.contains(&secret), "the secret is logged");
            assert!(!text.contains(&admin_key), "the admin key is logged");
            for credential in &credentials {
                let (signed, signature) = credential.rsplit_once('.').unwrap();
                assert!(!text.contains(signed) && !text.contains(signature), "a credential is");
            }
        }
        for file in ["server.json", "lock"] {
            let text = fs::read_to_string(folder.path().join(file)).unwrap_or_default();
            assert!(!text.contains(&secret) && !text.contains(&admin_key), "{file}");
        }
    }
}
