//! Credentials made to get in: cut, altered bit by bit, written otherwise, signed by
//! another algorithm or with keys they bring along, repeated, outlived.
//!
//! What is said to those who are not let in is told in `credentials`.

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

fn good(keys: &Keys) -> String {
    let grant = Grant {
        scope: Scope::new(ScopeKind::Session, "s").unwrap(),
        participant: "subagent:analysis".to_owned(),
        credential: Credential { incarnation: 1, epoch: 1 },
        keys: vec!["inv_*".to_owned()],
    };
    keys.mint(&grant, NOW, 3_600).unwrap().credential
}

fn is_let_in(keys: &Keys, token: &str) -> bool {
    keys.identify(Some(&format!("Bearer {token}")), NOW).is_ok()
}

/// Shows `token` before and after the good one was, which is then known to be.
#[track_caller]
fn check_refused(what: &str, token: &str) {
    let keys = keys();
    assert!(!is_let_in(&keys, token), "{what}: {token}");
    assert!(is_let_in(&keys, &good(&keys)), "{what}");
    assert!(!is_let_in(&keys, token), "{what}, when the good one is known: {token}");
}

/// Returns the parts of the good credential.
fn parts() -> (String, String, String) {
    let good = good(&keys());
    let (header, rest) = good.split_once('.').unwrap();
    let (claims, signature) = rest.split_once('.').unwrap();
    (header.to_owned(), claims.to_owned(), signature.to_owned())
}

/// Returns a token of this header and the good claims, signed with HS256 and `key`.
fn signed(header: &Value, key: &[u8]) -> String {
    let said = format!("{}.{}", BASE64_URL_SAFE_NO_PAD.encode(header.to_string()), parts().1);
    let signature = Hs256.sign(&Hs256Key::new(key), said.as_bytes());
    format!("{said}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature.as_bytes()))
}

#[test]
fn a_credential_cut_anywhere_is_none() {
    let good = good(&keys());
    for length in 0..good.len() {
        check_refused("its beginning", &good[..length]);
        check_refused("its end", &good[good.len() - length..]);
    }
}

#[test]
fn a_credential_with_any_bit_changed_is_none() {
    let good = good(&keys());
    let keys = keys();
    assert!(is_let_in(&keys, &good));
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut bytes = good.clone().into_bytes();
            bytes[at] ^= 1 << bit;
            let Ok(changed) = String::from_utf8(bytes) else { continue };
            assert!(!is_let_in(&keys, &changed), "bit {bit} of byte {at}: {changed}");
        }
    }
}

/// The same bytes written in another way are another text, and no credential.
#[test]
fn a_credential_has_one_form() {
    let (header, claims, signature) = parts();
    let decoded = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).unwrap();
    // Four of the bits of the last character say nothing.
    for last in ["A", "B", "C", "D", "E", "Q", "g", "w"] {
        let other = format!("{}{last}", &signature[..signature.len() - 1]);
        if other != signature {
            check_refused("bits beyond the signature", &format!("{header}.{claims}.{other}"));
        }
    }
    let padded = |part: &str| BASE64_URL_SAFE.encode(decoded(part));
    check_refused("padding", &format!("{header}.{claims}.{}", padded(&signature)));
    let all = [&header, &claims, &signature].map(|it| padded(it)).join(".");
    check_refused("padding everywhere", &all);
    let usual = BASE64_STANDARD.encode(decoded(&signature)).replace('=', "");
    if usual != signature {
        check_refused("the usual alphabet", &format!("{header}.{claims}.{usual}"));
    }
    for space in [" ", "\t", "\n", "\r\n", "\u{a0}", "\0", "=", "%2e", "."] {
        check_refused("a space within", &format!("{header}.{claims}{space}.{signature}"));
        check_refused("a space inside", &format!("{header}.{claims}.{space}{signature}"));
        let (first, second) = claims.split_at(10);
        check_refused(
            "a space in the claims",
            &format!("{header}.{first}{space}{second}.{signature}"),
        );
    }
    check_refused("quotes", &format!("\"{header}.{claims}.{signature}\""));
    check_refused("a comma and another", &format!("x, {header}.{claims}.{signature}"));
}

#[test]
fn no_header_makes_another_key_or_algorithm_count() {
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
        // Also with the empty key that a file of no bytes would be.
        for key in [attackers.as_slice(), b"", ADMIN_KEY.as_bytes()] {
            check_refused("keys brought along", &signed(&header, key));
        }
    }
    for name in [
        "none", "None", "NONE", "", " ", "hs256", "Hs256", "HS256 ", "HS384", "HS512", "RS256",
        "PS256", "ES256", "EdDSA", "HS256\0",
    ] {
        let header = json!({"alg": name, "typ": "JWT"});
        check_refused("with the right key and another name", &signed(&header, SECRET));
        let header = BASE64_URL_SAFE_NO_PAD.encode(header.to_string());
        for signature in ["", "AA", &signature] {
            check_refused("with another name", &format!("{header}.{claims}.{signature}"));
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
        check_refused("without a name", &signed(&header, SECRET));
    }
    check_refused("two names", &{
        let header = BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256","alg":"none"}"#);
        format!("{header}.{claims}.{signature}")
    });
}

/// Two readers of one token must not read two sessions.
#[test]
fn a_claim_given_twice_makes_it_none() {
    let said = r#"{"aud":"shared-context","ses":"s","ses":"t","inc":1,"epo":1,"sub":"orchestrator","exp":1971597800}"#;
    let header = BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256"}"#);
    let said = format!("{header}.{}", BASE64_URL_SAFE_NO_PAD.encode(said));
    let signature = Hs256.sign(&Hs256Key::new(SECRET), said.as_bytes());
    let token = format!("{said}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature.as_bytes()));
    check_refused("two sessions", &token);
}

#[test]
fn the_scheme_may_be_written_in_any_case_and_nothing_else_may_be() {
    let keys = keys();
    let token = good(&keys);
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
fn whatever_is_known_of_a_credential_it_expires() {
    let keys = keys();
    let token = format!("Bearer {}", good(&keys));
    let at = |after_ms: u64| keys.identify(Some(&token), Timestamp(START_MS + after_ms)).is_ok();
    for _ in 0..3 {
        assert!(at(0) && at(3_599_999) && at(3_629_999));
        assert!(!at(3_631_001) && !at(86_400_000) && !at(u64::MAX - START_MS));
    }
}

#[test]
fn guesses_at_the_admin_key_are_guesses() {
    for length in 0..ADMIN_KEY.len() {
        check_refused("its beginning", &ADMIN_KEY[..length]);
    }
    for at in 0..ADMIN_KEY.len() {
        let mut bytes = ADMIN_KEY.as_bytes().to_vec();
        bytes[at] ^= 1;
        check_refused("one bit off", &String::from_utf8(bytes).unwrap());
    }
    check_refused("twice", &ADMIN_KEY.repeat(2));
    check_refused("with a NUL", &format!("{ADMIN_KEY}\0"));
    check_refused("what signs", std::str::from_utf8(SECRET).unwrap_or_default());
}

proptest! {
    /// Nothing but what was minted is ever let in, least of all as the operator.
    #[test]
    fn no_text_is_a_credential(header in "\\PC*", parts in "[A-Za-z0-9_=-]{0,60}(\\.[A-Za-z0-9_=-]{0,60}){0,4}") {
        let keys = keys();
        prop_assert!(keys.identify(Some(&header), NOW).is_err());
        prop_assert!(!is_let_in(&keys, &parts));
    }
}

/// An orchestrator whose credential was good for another minute let a subagent take
/// part for thirty days: who had stolen it had as long.
#[test]
fn no_credential_begets_one_that_outlives_it() {
    const MINT: &str = "POST /v1/sessions/s/credentials";
    let bench = Bench::new();
    let asked = r#"{"participant":"orchestrator","ttl_seconds":600}"#;
    let minted = bench.check_as(ADMIN_KEY, MINT, &[], asked, 201, "2026-02-20T14:40:00Z").json();
    let short = minted["credential"].as_str().unwrap();
    for ttl in ["", r#","ttl_seconds":2592000"#, r#","ttl_seconds":601"#] {
        let asked = format!(r#"{{"participant":"subagent:a"{ttl}}}"#);
        bench.check_as(short, MINT, &[], &asked, 201, r#""expires_at":"2026-02-20T14:40:00Z""#);
    }
    let asked = r#"{"participant":"subagent:a","ttl_seconds":60}"#;
    bench.check_as(short, MINT, &[], asked, 201, r#""expires_at":"2026-02-20T14:31:00Z""#);
    // It has expired, and clocks may differ.
    bench.engine.now_ms.store(START_MS + 620_000, Ordering::SeqCst);
    let late = bench.check_as(short, MINT, &[], r#"{"participant":"subagent:a"}"#, 201, "").json();
    let late = late["credential"].as_str().unwrap();
    bench.engine.now_ms.store(START_MS + 620_000 + 31_000, Ordering::SeqCst);
    bench.check_as(late, "GET /v1/sessions/s/entries", &[], "", 401, "expired");
}

/// What is limited to keys, or is a subagent's, lets nobody take part.
#[test]
fn no_subagent_begets_a_credential() {
    let bench = Bench::new();
    let mint = "POST /v1/sessions/s/credentials";
    let asked = r#"{"participant":"subagent:a","keys":["inv_*"]}"#;
    let minted = bench.check_as(&bench.orchestrator, mint, &[], asked, 201, "").json();
    let limited = minted["credential"].as_str().unwrap();
    for token in [limited, &bench.agent] {
        for asked in [
            r#"{"participant":"subagent:a"}"#,
            r#"{"participant":"subagent:a","keys":["*"]}"#,
            r#"{"participant":"subagent:a","keys":["inv_*"],"ttl_seconds":60}"#,
            r#"{"participant":"orchestrator"}"#,
        ] {
            bench.check_as(token, mint, &[], asked, 403, "FORBIDDEN");
        }
    }
}

#[test]
fn the_operator_is_whoever_shows_the_admin_key_and_nobody_else() {
    let keys = keys();
    let admin = keys.identify(Some(&format!("Bearer {ADMIN_KEY}")), NOW).unwrap();
    assert_eq!(admin, Identity::Admin);
    let who = keys.identify(Some(&format!("Bearer {}", good(&keys))), NOW).unwrap();
    assert!(matches!(who, Identity::Participant(_)));
}
