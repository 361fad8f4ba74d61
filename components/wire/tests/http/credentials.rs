//! Tests which callers are accepted, and the responses to all others.

use std::sync::atomic::Ordering;

use jwt_compact::{
    AlgorithmExt, Claims, Header,
    alg::{Hs256, Hs256Key, Hs384, Hs384Key, Hs512, Hs512Key},
};
use serde_json::{Value, json};
use shared_context_codec::Credential;
use shared_context_core::{
    Scope, ScopeKind, key::KEY_BYTES_MAX, participant::PARTICIPANT_PART_BYTES_MAX,
    pattern::PATTERNS_MAX, scope::ID_BYTES_MAX, time::Timestamp,
};
use shared_context_wire::{
    credential::{Grant, Identity, Keys, TTL_SECONDS, WeakKeys},
    http::Options,
};

use crate::bench::{ADMIN_KEY, Bench, SECRET, START_MS};

const TARGET: &str = "GET /v1/sessions/s/entries";

fn grant(session: &str, participant: &str) -> Grant {
    Grant {
        scope: Scope::new(ScopeKind::Session, session).unwrap(),
        participant: participant.to_owned(),
        credential: Credential { incarnation: 1, epoch: 1 },
        keys: Vec::new(),
        project: None,
        tools: None,
    }
}

/// Returns the claims of a valid credential for the session `s`. Tests alter them.
fn claims() -> Value {
    let Value::Object(mut claims) = payload(&Bench::new().agent) else { unreachable!() };
    claims.remove("exp");
    claims.remove("iat");
    Value::Object(claims)
}

/// Returns the claims of a token without verifying it.
fn payload(token: &str) -> Value {
    let untrusted = jwt_compact::UntrustedToken::new(token).unwrap();
    let claims: Claims<Value> = untrusted.deserialize_claims_unchecked().unwrap();
    let mut all = claims.custom;
    all["exp"] = json!(claims.expiration.map(|it| it.timestamp()));
    all["iat"] = json!(claims.issued_at.map(|it| it.timestamp()));
    all
}

fn signed(custom: Value, expires_in_seconds: Option<i64>) -> String {
    let mut claims = Claims::new(custom);
    let at = i64::try_from(START_MS / 1000).unwrap();
    claims.expiration =
        expires_in_seconds.and_then(|it| chrono::DateTime::from_timestamp(at + it, 0));
    Hs256.token(&Header::empty(), &claims, &Hs256Key::new(SECRET)).unwrap()
}

#[test]
fn a_valid_credential_is_accepted() {
    let bench = Bench::new();
    bench.check_as(&bench.agent, TARGET, &[], "", 200, "keys");
    bench.check_as(&bench.orchestrator, TARGET, &[], "", 200, "keys");
    bench.check_as(ADMIN_KEY, TARGET, &[], "", 200, "keys");
    bench.check_as(&signed(claims(), Some(60)), TARGET, &[], "", 200, "keys");
    let header = format!("bEaReR   {}  ", bench.agent);
    bench.check_as("", TARGET, &[("authorization", &header)], "", 200, "keys");
}

#[test]
fn a_credential_names_its_session_and_participant() {
    let bench = Bench::new();
    assert_eq!(
        payload(&bench.agent),
        json!({
            "aud": "shared-context", "ses": "s", "sub": "subagent:analysis",
            "inc": 1, "epo": claims()["epo"], "iat": START_MS / 1000,
            "exp": START_MS / 1000 + 86_400,
        })
    );
    let life = |token: &str| {
        let claims = payload(token);
        claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap()
    };
    assert_eq!(life(&bench.orchestrator), 30 * 86_400);
}

/// A set of tools could once be named twice, which the configuration of a session does not allow.
#[test]
fn a_credential_names_each_set_of_tools_once() {
    let bench = Bench::new();
    let mint = |tools: &str, status: u16, expected: &str| {
        let body = format!(r#"{{"participant":"subagent:b","tools":{tools}}}"#);
        bench.check_as(ADMIN_KEY, "POST /v1/sessions/s/credentials", &[], &body, status, expected);
    };
    mint(r#"["delta_rounds","outline","delta_rounds"]"#, 400, "name each once");
    mint(r#"["delta_rounds","outline"]"#, 201, "credential");
}

/// The server rejects a token that exceeds the maximum length without parsing it. The longest
/// possible credential must not exceed it.
#[test]
fn the_longest_credential_is_accepted() {
    let keys = Keys::new(SECRET, ADMIN_KEY).unwrap().bound_to("d".repeat(32));
    let pattern = format!("{}:{}", "p".repeat(KEY_BYTES_MAX), "k".repeat(KEY_BYTES_MAX));
    let part = "t".repeat(PARTICIPANT_PART_BYTES_MAX);
    let longest = Grant {
        scope: Scope::new(ScopeKind::Session, &"s".repeat(ID_BYTES_MAX)).unwrap(),
        participant: format!("subagent:{part}:{part}"),
        credential: Credential { incarnation: u64::MAX, epoch: u64::MAX },
        keys: vec![pattern; PATTERNS_MAX],
        project: None,
        tools: None,
    };
    // The latest date that can be written, with the longest TTL.
    let late = Timestamp(253_402_300_799_000);
    let minted = keys.mint(&longest, late, *TTL_SECONDS.end()).unwrap();
    let header = format!("Bearer {}", minted.credential);
    let seen = keys.identify(Some(&header), late);
    assert_eq!(seen, Ok(Identity::Participant(longest.clone())), "{}", minted.credential.len());
    assert!((3_000..4_000).contains(&minted.credential.len()), "{}", minted.credential.len());
    let caller = Identity::Participant(longest.clone())
        .caller(ScopeKind::Session, longest.scope.id())
        .unwrap();
    assert_eq!(caller.keys, longest.keys);
    assert!(caller.check().is_ok(), "what the rules take");
    let whole = Grant { keys: Vec::new(), ..longest };
    let minted = keys.mint(&whole, late, *TTL_SECONDS.end()).unwrap();
    assert!(minted.credential.len() < 700, "{}", minted.credential.len());
}

#[test]
fn a_credential_without_a_keys_claim_is_not_limited() {
    let bench = Bench::new();
    bench.write("scope");
    assert!(claims().get("keys").is_none());
    bench.check_as(&signed(claims(), Some(60)), TARGET, &[], "", 200, r#""key":"scope""#);
    let mut limited = claims();
    limited["keys"] = json!(["inv_*"]);
    bench.check_as(&signed(limited, Some(60)), TARGET, &[], "", 200, r#""keys":[]"#);
}

#[test]
fn a_rejected_credential_gets_an_error_with_a_remedy() {
    let bench = Bench::new();
    let check = |header: &str, expected: &str| {
        let seen = bench.check_as("", TARGET, &[("authorization", header)], "", 401, expected);
        assert_eq!(seen.json()["error"]["code"], "UNAUTHENTICATED");
        let challenge = seen.header("www-authenticate");
        assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
        assert!(challenge.starts_with("Bearer realm=\"shared-context\""), "{challenge}");
        if let Some((_, token)) = header.split_once(' ')
            && token.len() > 20
        {
            assert!(!seen.body.contains(token) && !challenge.contains(token), "{seen:?}");
        }
    };
    let valid = &bench.agent;
    let (head, rest) = valid.split_once('.').unwrap();
    let (body, signature) = rest.split_once('.').unwrap();
    let bearer = |token: &str| format!("Bearer {token}");
    let forged = "this server did not sign this credential";
    let damaged = "neither the admin key nor a whole credential";
    let algorithm = "not signed with HS256";

    check("", "not of the form Bearer");
    check("Bearer", "not of the form Bearer");
    check("Bearer ", "not of the form Bearer");
    check("Basic YWRtaW46YWRtaW4=", "not of the form Bearer");
    check(valid, "not of the form Bearer");
    check("Bearer garbage", damaged);
    check("Bearer admin", damaged);
    check("Bearer ..", damaged);
    check("Bearer a.b.c", damaged);
    check(&bearer(&ADMIN_KEY[1..]), damaged);
    check(&bearer(&ADMIN_KEY.to_uppercase()), damaged);
    check(&bearer(&valid[..valid.len() / 2]), damaged);
    check(&bearer(&format!("{head}.{body}")), damaged);
    check(&bearer(&format!("{valid}.{signature}")), damaged);
    check(&bearer(&format!("{head}.{body}.")), forged);
    // The rest of the signature still decodes to whole bytes.
    check(&bearer(&valid[..valid.len() - 3]), forged);
    check(&bearer(&"x".repeat(4097)), "longer than any credential");
    check(&bearer(&format!("{head}.{body}.{}", "A".repeat(43))), forged);

    // Changed claims with the old signature.
    let raised = signed(
        json!({"aud": "shared-context", "ses": "s", "inc": 1, "epo": 1,
        "sub": "orchestrator"}),
        Some(60),
    );
    let raised_body = raised.split('.').nth(1).unwrap();
    check(&bearer(&format!("{head}.{raised_body}.{signature}")), forged);
    // Another key.
    let other = Keys::new(b"ffffffffffffffffffffffffffffffff", ADMIN_KEY).unwrap();
    let minted = other.mint(&grant("s", "orchestrator"), Timestamp(START_MS), 60).unwrap();
    check(&bearer(&minted.credential), forged);

    // {"alg":"none"}, {"alg":"None","typ":"JWT"}, {"alg":"RS256"}, {}
    check(&bearer(&format!("eyJhbGciOiJub25lIn0.{body}.")), algorithm);
    check(&bearer(&format!("eyJhbGciOiJub25lIn0.{body}.{signature}")), algorithm);
    check(&bearer(&format!("eyJhbGciOiJOb25lIiwidHlwIjoiSldUIn0.{body}.")), algorithm);
    check(&bearer(&format!("eyJhbGciOiJSUzI1NiJ9.{body}.{signature}")), algorithm);
    check(&bearer(&format!("e30.{body}.{signature}")), damaged);
    let mut claims_384 = Claims::new(claims());
    claims_384.expiration = chrono::DateTime::from_timestamp(4_000_000_000, 0);
    let empty = Header::empty();
    let by_384 = Hs384.token(&empty, &claims_384, &Hs384Key::new(SECRET)).unwrap();
    let by_512 = Hs512.token(&empty, &claims_384, &Hs512Key::new(SECRET)).unwrap();
    check(&bearer(&by_384), algorithm);
    check(&bearer(&by_512), algorithm);

    // Signed by this server, but for something else.
    let spoiled = |name: &str, value: Value| {
        let mut claims = claims();
        claims[name] = value;
        bearer(&signed(claims, Some(60)))
    };
    check(&spoiled("aud", json!("another-service")), "for another service");
    check(&spoiled("aud", Value::Null), "no credential of a session");
    check(&spoiled("inc", json!("1")), "no credential of a session");
    check(&spoiled("inc", json!(-1)), "no credential of a session");
    check(&spoiled("keys", json!("scope")), "no credential of a session");
    check(&spoiled("keys", Value::Null), "no credential of a session");
    check(&bearer(&signed(json!({}), Some(60))), "no credential of a session");
    check(&bearer(&signed(claims(), None)), "never expires");
    check(&bearer(&signed(claims(), Some(-31))), "expired at 2026-02-20T14:29:29Z");
}

#[test]
fn a_request_without_a_credential_gets_no_error_parameter() {
    let bench = Bench::new();
    for target in [
        TARGET,
        "GET /v1/sessions",
        "POST /v1/sessions",
        "POST /v1/sessions/s/shared_context",
        "DELETE /v1/sessions/s",
        "PUT /v1/sessions/s/entries/a",
        "GET /v1/sessions/none/prompt",
    ] {
        let seen = bench.check_as("", target, &[], "", 401, "Authorization: Bearer {credential}");
        assert_eq!(seen.header("www-authenticate"), "Bearer realm=\"shared-context\"");
        assert_eq!(seen.header("cache-control"), "no-store");
    }
    assert!(bench.engine.requests.lock().unwrap().is_empty(), "nothing reached the rules");
    let twice = [("authorization", bench.agent.as_str()), ("authorization", "Bearer x")];
    bench.check_as("", TARGET, &twice, "", 401, "authorization is given twice");
}

#[test]
fn a_credential_is_valid_for_30_s_after_its_expiry() {
    let bench = Bench::new();
    let day_ms = 86_400_000;
    let check = |after_ms: u64, status: u16, expected: &str| {
        bench.engine.now_ms.store(START_MS + after_ms, Ordering::SeqCst);
        bench.check_as(&bench.agent, TARGET, &[], "", status, expected);
    };
    check(0, 200, "keys");
    check(day_ms + 30_000, 200, "keys");
    check(day_ms + 30_001, 401, "expired at 2026-02-21T14:30:00Z; ask for a new one");
    check(u64::MAX - START_MS, 401, "expired");
    bench.engine.now_ms.store(0, Ordering::SeqCst);
    bench.check_as(&bench.agent, TARGET, &[], "", 200, "keys");
}

#[test]
fn a_credential_of_an_earlier_session_or_epoch_is_void() {
    let bench = Bench::new();
    bench.check_as(ADMIN_KEY, "POST /v1/sessions/s/revoke", &[], "", 200, "credential_epoch");
    let seen = bench.check_as(&bench.agent, TARGET, &[], "", 401, "UNAUTHENTICATED");
    assert!(seen.header("www-authenticate").contains("invalid_token"), "{seen:?}");
    let fresh = bench.mint("s", "subagent:analysis");
    bench.check_as(&fresh, TARGET, &[], "", 200, "keys");

    bench.check_as(ADMIN_KEY, "DELETE /v1/sessions/s", &[], "", 200, "deleted_session");
    bench.check_as(&fresh, TARGET, &[], "", 404, "SESSION_NOT_FOUND");
    let orchestrator = bench.create("s");
    bench.check_as(&fresh, TARGET, &[], "", 401, "UNAUTHENTICATED");
    bench.check_as(&orchestrator, TARGET, &[], "", 200, "keys");
}

/// A data folder was recreated under the same secret, and revoked credentials opened a new
/// session with the old name. Each credential is now bound to one database.
#[test]
fn a_credential_of_another_database_is_void() {
    let of = |database: &str| {
        Bench::with(|it| Options { keys: it.keys.bound_to(database.to_owned()), ..it })
    };
    let (first, again, none) = (of("database-1"), of("database-2"), Bench::new());
    assert_eq!(payload(&first.agent)["dbi"], "database-1");
    assert_eq!(payload(&none.agent).get("dbi"), None);
    for (bench, foreign) in [(&again, &first), (&none, &first), (&first, &none)] {
        for token in [&foreign.agent, &foreign.orchestrator] {
            bench.check_as(token, TARGET, &[], "", 401, "for another database");
        }
        bench.check_as(&bench.agent, TARGET, &[], "", 200, "keys");
        bench.check_as(ADMIN_KEY, TARGET, &[], "", 200, "keys");
    }
}

/// An orchestrator used an expired credential within the clock leeway to mint a longer one,
/// again and again. A minted credential now expires no later than its minter's.
#[test]
fn minting_within_the_leeway_does_not_extend_the_expiry() {
    let bench = Bench::new();
    let (mint, body) = ("POST /v1/sessions/s/credentials", r#"{"participant":"subagent:a"}"#);
    let expires_at = payload(&bench.orchestrator)["exp"].as_u64().unwrap();
    for after_ms in [0, 999, 29_999] {
        bench.engine.now_ms.store(expires_at * 1_000 + after_ms, Ordering::SeqCst);
        let seen = bench.check_as(&bench.orchestrator, mint, &[], body, 201, "");
        let minted = seen.json()["credential"].as_str().unwrap().to_owned();
        assert_eq!(payload(&minted)["exp"], expires_at, "{seen:?}");
    }
}

/// Writes by `subagent:orchestrator` look like the orchestrator's own. No one can mint a credential
/// for such a name, not even the operator.
#[test]
fn a_subagent_cannot_be_named_like_a_role() {
    let bench = Bench::new();
    let mint = "POST /v1/sessions/s/credentials";
    for name in ["orchestrator", "Orchestrator", "orchestrator:1", "ADMIN", "review:admin"] {
        let body = format!(r#"{{"participant":"subagent:{name}"}}"#);
        for token in [ADMIN_KEY, &bench.orchestrator] {
            bench.check_as(token, mint, &[], &body, 400, "could be taken for the");
        }
    }
}

#[test]
fn a_void_credential_cannot_mint() {
    let bench = Bench::new();
    bench.check_as(ADMIN_KEY, "POST /v1/sessions/s/revoke", &[], "", 200, "");
    let mint = "POST /v1/sessions/s/credentials";
    let body = r#"{"participant":"subagent:a"}"#;
    bench.check_as(&bench.orchestrator, mint, &[], body, 401, "UNAUTHENTICATED");
}

#[test]
fn a_credential_opens_its_own_session_only() {
    let bench = Bench::new();
    let other = bench.create("t");
    for path in ["", "/entries", "/entries/a", "/prompt", "/audit"] {
        let expected = "the credential is for session t";
        bench.check_as(&other, &format!("GET /v1/sessions/s{path}"), &[], "", 403, expected);
    }
    let mint = "POST /v1/sessions/s/credentials";
    bench.check_as(&other, mint, &[], "{", 403, "FORBIDDEN");
    let absent = "GET /v1/sessions/no_such";
    bench.check_as(&other, absent, &[], "", 403, "FORBIDDEN");
    bench.check_as(&other, "GET /v1/sessions/T", &[], "", 403, "for session t");
    bench.check_as(&other, "GET /v1/sessions/%74", &[], "", 200, "\"session_id\":\"t\"");
}

#[test]
fn weak_secrets_are_rejected_with_a_command_for_good_ones() {
    #[track_caller]
    fn check(secret: &str, admin_key: &str, error: WeakKeys, expected: &str) {
        let seen = Keys::new(secret.as_bytes(), admin_key).unwrap_err();
        assert_eq!(seen, error);
        assert!(seen.to_string().contains(expected), "{seen}");
    }
    let (long, longer) = ("a".repeat(32), "b".repeat(33));
    check("", &long, WeakKeys::SecretTooShort(0), "the secret that signs credentials has 0 bytes");
    check(&long[1..], &longer, WeakKeys::SecretTooShort(31), "openssl rand -hex 32");
    check(&long, "short", WeakKeys::AdminKeyTooShort(5), "the admin key has 5 bytes");
    for unfit in ["\n", " ", "ä", "\t"] {
        check(&long, &format!("{longer}{unfit}"), WeakKeys::AdminKeyUnfit, "a line break");
    }
    check(&long, &long, WeakKeys::Same, "use two different ones");
    assert!(Keys::new(long.as_bytes(), &longer).is_ok());
}

/// An operator may choose a key that has the form of a credential.
#[test]
fn the_admin_key_may_have_the_form_of_a_credential() {
    let forms = [
        ADMIN_KEY.to_owned(),
        "a".repeat(5_000),
        format!("{0}.{0}.{0}", "a".repeat(20)),
        Bench::new().agent,
        Keys::new(&[7; 32], ADMIN_KEY)
            .unwrap()
            .mint(&grant("s", "orchestrator"), Timestamp(START_MS), 60)
            .unwrap()
            .credential,
    ];
    for admin_key in forms {
        let keys = Keys::new(&[9; 32], &admin_key).unwrap();
        let bearer = |it: &str| keys.identify(Some(&format!("Bearer {it}")), Timestamp(START_MS));
        for _ in 0..2 {
            assert_eq!(bearer(&admin_key), Ok(Identity::Admin), "{admin_key}");
            assert!(bearer(&format!("{admin_key}a")).is_err());
        }
    }
}

#[test]
fn debug_output_contains_no_secrets() {
    let bench = Bench::new();
    let keys = Keys::new(SECRET, ADMIN_KEY).unwrap();
    let minted = keys.mint(&grant("s", "orchestrator"), Timestamp(START_MS), 60).unwrap();
    let shown = format!("{:?} {keys:?} {minted:?}", bench.http);
    assert!(shown.contains("2026-02-20T14:31:00Z"));
    for secret in [ADMIN_KEY, std::str::from_utf8(SECRET).unwrap(), &minted.credential] {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert!(!shown.contains("48, 49, 50"), "not as bytes either: {shown}");
}

#[test]
fn minting_fails_if_the_expiry_is_out_of_range() {
    let keys = Keys::new(SECRET, ADMIN_KEY).unwrap();
    for (now, ttl) in [(u64::MAX, 60), (START_MS, u64::MAX), (START_MS, 1 << 60)] {
        let failure = keys.mint(&grant("s", "orchestrator"), Timestamp(now), ttl).unwrap_err();
        assert_eq!(failure.code, "INTERNAL");
    }
}
