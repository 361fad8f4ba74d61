//! Forged credentials: truncated, bit-flipped, re-encoded, signed with another algorithm or
//! an embedded key, duplicated, expired.
//!
//! The module `credentials` tests the responses to rejected callers.

use std::sync::atomic::Ordering;

use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE, BASE64_URL_SAFE_NO_PAD},
};
use jwt_compact::{
    Algorithm, AlgorithmSignature as _,
    alg::{Hs256, Hs256Key},
};
use proptest::prelude::*;
use serde_json::{Value, json};
use shared_context_codec::Credential;
use shared_context_core::{Scope, ScopeKind, time::Timestamp};
use shared_context_wire::credential::{Grant, Identity, Keys};

use crate::bench::{ADMIN_KEY, Bench, SECRET, START_MS};

const NOW: Timestamp = Timestamp(START_MS);

fn keys() -> Keys {
    Keys::new(SECRET, ADMIN_KEY).unwrap()
}

fn mint_valid(keys: &Keys) -> String {
    let grant = Grant {
        scope: Scope::new(ScopeKind::Session, "s").unwrap(),
        participant: "subagent:analysis".to_owned(),
        credential: Credential { incarnation: 1, epoch: 1 },
        keys: vec!["inv_*".to_owned()],
        project: None,
        tools: None,
    };
    keys.mint(&grant, NOW, 3_600).unwrap().credential
}

fn is_accepted(keys: &Keys, token: &str) -> bool {
    keys.identify(Some(&format!("Bearer {token}")), NOW).is_ok()
}

/// Checks that `token` is rejected, before and after the valid credential was accepted (and
/// cached).
#[track_caller]
fn check_rejected(what: &str, token: &str) {
    let keys = keys();
    assert!(!is_accepted(&keys, token), "{what}: {token}");
    assert!(is_accepted(&keys, &mint_valid(&keys)), "{what}");
    assert!(!is_accepted(&keys, token), "{what}, after the valid one was cached: {token}");
}

/// Returns header, claims and signature of the valid credential.
fn parts() -> (String, String, String) {
    let valid = mint_valid(&keys());
    let (header, rest) = valid.split_once('.').unwrap();
    let (claims, signature) = rest.split_once('.').unwrap();
    (header.to_owned(), claims.to_owned(), signature.to_owned())
}

/// Builds a token from `header` and the valid claims, signed with HS256 and `key`.
fn signed(header: &Value, key: &[u8]) -> String {
    let payload = format!("{}.{}", BASE64_URL_SAFE_NO_PAD.encode(header.to_string()), parts().1);
    let signature = Hs256.sign(&Hs256Key::new(key), payload.as_bytes());
    format!("{payload}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature.as_bytes()))
}

#[test]
fn a_truncated_credential_is_rejected() {
    let valid = mint_valid(&keys());
    for length in 0..valid.len() {
        check_rejected("its beginning", &valid[..length]);
        check_rejected("its end", &valid[valid.len() - length..]);
    }
}

#[test]
fn a_credential_with_any_bit_flipped_is_rejected() {
    let valid = mint_valid(&keys());
    let keys = keys();
    assert!(is_accepted(&keys, &valid));
    for at in 0..valid.len() {
        for bit in 0..8 {
            let mut bytes = valid.clone().into_bytes();
            bytes[at] ^= 1 << bit;
            let Ok(changed) = String::from_utf8(bytes) else { continue };
            assert!(!is_accepted(&keys, &changed), "bit {bit} of byte {at}: {changed}");
        }
    }
}

/// A different encoding of the same bytes is a different text, and is rejected.
#[test]
fn a_credential_has_exactly_one_encoding() {
    let (header, claims, signature) = parts();
    let decoded = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).unwrap();
    // Four bits of the last character are padding.
    for last in ["A", "B", "C", "D", "E", "Q", "g", "w"] {
        let other = format!("{}{last}", &signature[..signature.len() - 1]);
        if other != signature {
            check_rejected("bits beyond the signature", &format!("{header}.{claims}.{other}"));
        }
    }
    let padded = |part: &str| BASE64_URL_SAFE.encode(decoded(part));
    check_rejected("padding", &format!("{header}.{claims}.{}", padded(&signature)));
    let all = [&header, &claims, &signature].map(|it| padded(it)).join(".");
    check_rejected("padding everywhere", &all);
    let usual = BASE64_STANDARD.encode(decoded(&signature)).replace('=', "");
    if usual != signature {
        check_rejected("the usual alphabet", &format!("{header}.{claims}.{usual}"));
    }
    for space in [" ", "\t", "\n", "\r\n", "\u{a0}", "\0", "=", "%2e", "."] {
        check_rejected("a space within", &format!("{header}.{claims}{space}.{signature}"));
        check_rejected("a space inside", &format!("{header}.{claims}.{space}{signature}"));
        let (first, second) = claims.split_at(10);
        check_rejected(
            "a space in the claims",
            &format!("{header}.{first}{space}{second}.{signature}"),
        );
    }
    check_rejected("quotes", &format!("\"{header}.{claims}.{signature}\""));
    check_rejected("a comma and another", &format!("x, {header}.{claims}.{signature}"));
}

#[test]
fn the_header_cannot_select_a_key_or_algorithm() {
    let (_, claims, signature) = parts();
    let attackers = b"the key of an attacker, 32 bytes";
    let own = json!({"kty": "oct", "k": BASE64_URL_SAFE_NO_PAD.encode(attackers)});
    for header in [
        json!({"alg": "HS256", "jwk": own}),
        json!({"alg": "HS256", "jku": "http://127.0.0.1:1/keys"}),
        json!({"alg": "HS256", "x5u": "http://127.0.0.1:1/chain"}),
        json!({"alg": "HS256", "kid": "../../../../dev/null"}),
        json!({"alg": "HS256", "kid": "' UNION SELECT 'x"}),
        json!({"alg": "HS256", "b64": false, "crit": ["b64"]}),
    ] {
        // The empty key is the content of an empty file.
        for key in [attackers.as_slice(), b"", ADMIN_KEY.as_bytes()] {
            check_rejected("keys brought along", &signed(&header, key));
        }
    }
    for name in [
        "none", "None", "NONE", "", " ", "hs256", "Hs256", "HS256 ", "HS384", "HS512", "RS256",
        "PS256", "ES256", "EdDSA", "HS256\0",
    ] {
        let header = json!({"alg": name, "typ": "JWT"});
        check_rejected("with the right key and another name", &signed(&header, SECRET));
        let header = BASE64_URL_SAFE_NO_PAD.encode(header.to_string());
        for signature in ["", "AA", &signature] {
            check_rejected("with another name", &format!("{header}.{claims}.{signature}"));
        }
    }
    for header in [
        json!({}),
        json!({"typ": "JWT"}),
        json!({"alg": null}),
        json!({"alg": ["HS256"]}),
        json!({"alg": 256}),
        json!([]),
        json!("HS256"),
    ] {
        check_rejected("without a name", &signed(&header, SECRET));
    }
    check_rejected("two names", &{
        let header = BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256","alg":"none"}"#);
        format!("{header}.{claims}.{signature}")
    });
}

/// Two parsers of one token must not see two different sessions.
#[test]
fn a_duplicate_claim_is_rejected() {
    let payload = r#"{"aud":"shared-context","ses":"s","ses":"t","inc":1,"epo":1,"sub":"orchestrator","exp":1971597800}"#;
    let header = BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256"}"#);
    let payload = format!("{header}.{}", BASE64_URL_SAFE_NO_PAD.encode(payload));
    let signature = Hs256.sign(&Hs256Key::new(SECRET), payload.as_bytes());
    let token = format!("{payload}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature.as_bytes()));
    check_rejected("two sessions", &token);
}

#[test]
fn only_the_bearer_scheme_is_case_insensitive() {
    let keys = keys();
    let token = mint_valid(&keys);
    for header in
        [format!("Bearer {token}"), format!("bearer {token}"), format!("BEARER   {token} ")]
    {
        assert!(keys.identify(Some(&header), NOW).is_ok(), "{header}");
    }
    for header in [
        token.clone(),
        format!("Bearer{token}"),
        format!("Bearer\t{token}"),
        format!("Bearer: {token}"),
        format!("Bearer Bearer {token}"),
        format!("Bearer {token} {token}"),
        format!("Bearer {token},"),
        format!("Basic {}", BASE64_STANDARD.encode(format!("admin:{ADMIN_KEY}"))),
        format!("Basic {token}"),
        format!("Token {token}"),
        format!("Negotiate {token}"),
        format!("\u{feff}Bearer {token}"),
    ] {
        assert!(keys.identify(Some(&header), NOW).is_err(), "{header}");
    }
}

#[test]
fn a_cached_credential_still_expires() {
    let keys = keys();
    let token = format!("Bearer {}", mint_valid(&keys));
    let at = |after_ms: u64| keys.identify(Some(&token), Timestamp(START_MS + after_ms)).is_ok();
    for _ in 0..3 {
        assert!(at(0) && at(3_599_999) && at(3_629_999));
        assert!(!at(3_631_001) && !at(86_400_000) && !at(u64::MAX - START_MS));
    }
}

#[test]
fn guesses_close_to_the_admin_key_are_rejected() {
    for length in 0..ADMIN_KEY.len() {
        check_rejected("its beginning", &ADMIN_KEY[..length]);
    }
    for at in 0..ADMIN_KEY.len() {
        let mut bytes = ADMIN_KEY.as_bytes().to_vec();
        bytes[at] ^= 1;
        check_rejected("one bit off", &String::from_utf8(bytes).unwrap());
    }
    check_rejected("twice", &ADMIN_KEY.repeat(2));
    check_rejected("with a NUL", &format!("{ADMIN_KEY}\0"));
    check_rejected("what signs", std::str::from_utf8(SECRET).unwrap_or_default());
}

proptest! {
    /// Only minted credentials are accepted, and no random text is the admin key.
    #[test]
    fn random_text_is_no_credential(header in "\\PC*", parts in "[A-Za-z0-9_=-]{0,60}(\\.[A-Za-z0-9_=-]{0,60}){0,4}") {
        let keys = keys();
        prop_assert!(keys.identify(Some(&header), NOW).is_err());
        prop_assert!(!is_accepted(&keys, &parts));
    }
}

/// An orchestrator whose credential was valid for one more minute minted a credential for a
/// subagent that was valid for thirty days. A thief of that credential could do the same.
#[test]
fn a_minted_credential_never_outlives_its_minter() {
    const MINT: &str = "POST /v1/sessions/s/credentials";
    let bench = Bench::new();
    let body = r#"{"participant":"orchestrator","ttl_seconds":600}"#;
    let minted = bench.check_as(ADMIN_KEY, MINT, &[], body, 201, "2026-02-20T14:40:00Z").json();
    let short = minted["credential"].as_str().unwrap();
    for ttl in ["", r#","ttl_seconds":2592000"#, r#","ttl_seconds":601"#] {
        let body = format!(r#"{{"participant":"subagent:a"{ttl}}}"#);
        bench.check_as(short, MINT, &[], &body, 201, r#""expires_at":"2026-02-20T14:40:00Z""#);
    }
    let body = r#"{"participant":"subagent:a","ttl_seconds":60}"#;
    bench.check_as(short, MINT, &[], body, 201, r#""expires_at":"2026-02-20T14:31:00Z""#);
    // The credential has expired, but is within the leeway for clock skew.
    bench.engine.now_ms.store(START_MS + 620_000, Ordering::SeqCst);
    let late = bench.check_as(short, MINT, &[], r#"{"participant":"subagent:a"}"#, 201, "").json();
    let late = late["credential"].as_str().unwrap();
    bench.engine.now_ms.store(START_MS + 620_000 + 31_000, Ordering::SeqCst);
    bench.check_as(late, "GET /v1/sessions/s/entries", &[], "", 401, "expired");
}

/// Neither a limited credential nor one of a subagent can mint credentials.
#[test]
fn a_subagent_cannot_mint_a_credential() {
    let bench = Bench::new();
    let mint = "POST /v1/sessions/s/credentials";
    let body = r#"{"participant":"subagent:a","keys":["inv_*"]}"#;
    let minted = bench.check_as(&bench.orchestrator, mint, &[], body, 201, "").json();
    let limited = minted["credential"].as_str().unwrap();
    for token in [limited, &bench.agent] {
        for body in [
            r#"{"participant":"subagent:a"}"#,
            r#"{"participant":"subagent:a","keys":["*"]}"#,
            r#"{"participant":"subagent:a","keys":["inv_*"],"ttl_seconds":60}"#,
            r#"{"participant":"orchestrator"}"#,
        ] {
            bench.check_as(token, mint, &[], body, 403, "FORBIDDEN");
        }
    }
}

#[test]
fn only_the_admin_key_identifies_the_operator() {
    let keys = keys();
    let admin = keys.identify(Some(&format!("Bearer {ADMIN_KEY}")), NOW).unwrap();
    assert_eq!(admin, Identity::Admin);
    let participant = keys.identify(Some(&format!("Bearer {}", mint_valid(&keys))), NOW).unwrap();
    assert!(matches!(participant, Identity::Participant(_)));
}
