//! Credentials: what was minted is known again until it expires, and nothing else
//! ever is: no other text, no minted one with a byte changed, none that another
//! algorithm or another key signed.

use arbitrary::{Arbitrary, Unstructured};
use jwt_compact::{
    AlgorithmExt, Claims, Header,
    alg::{Hs256, Hs256Key, Hs384, Hs384Key, Hs512, Hs512Key},
};
use serde_json::json;
use shared_context_codec::Credential;
use shared_context_core::{Scope, ScopeKind, time::Timestamp};
use shared_context_wire::credential::{CLOCK_SKEW, Grant, Identity, Keys};

use crate::{
    place::START_MS,
    rest::{ADMIN_KEY, SECRET},
};

/// A credential, and what is made of it.
#[derive(Debug, Arbitrary)]
struct Input<'i> {
    is_project: bool,
    id: &'i str,
    participant: &'i str,
    incarnation: u64,
    epoch: u64,
    keys: Vec<&'i str>,
    ttl_seconds: u32,
    later_ms: u64,
    forgery: Forgery<'i>,
}

/// What is shown instead of the credential.
#[derive(Debug, Arbitrary)]
enum Forgery<'i> {
    /// Any header.
    Anything(&'i str),
    /// Any token.
    Token(&'i str),
    /// One byte is another.
    Byte { at: u16, to: u8 },
    /// A part of it is gone.
    Cut { from: u16, length: u16 },
    /// Something stands in it.
    Insert { at: u16, text: &'i str },
    /// Another head, with the signature that was.
    Head(&'i str),
    /// Other claims, with the signature that was.
    Claims(&'i str),
    /// Another signature.
    Signature(&'i str),
    /// Signed by the server's secret, with another algorithm.
    Algorithm { is_longest: bool },
    /// Signed with another secret.
    Secret(&'i [u8]),
}

/// Mints as `input` says, and shows something else.
pub fn run(input: &[u8]) {
    let Ok(input) = Input::arbitrary_take_rest(Unstructured::new(input)) else { return };
    let keys = Keys::new(SECRET, ADMIN_KEY).expect("the keys are strong");
    let now = Timestamp(START_MS);
    let kind = if input.is_project { ScopeKind::Project } else { ScopeKind::Session };
    let Some(scope) = Scope::new(kind, input.id).or_else(|| Scope::new(kind, "main")) else {
        return;
    };
    let grant = Grant {
        scope,
        participant: input.participant.to_owned(),
        credential: Credential { incarnation: input.incarnation, epoch: input.epoch },
        keys: input.keys.iter().map(|it| (*it).to_owned()).collect(),
    };
    let ttl = u64::from(input.ttl_seconds);
    let Ok(minted) = keys.mint(&grant, now, ttl) else { return };
    let bearer = format!("Bearer {}", minted.credential);
    let is_long = minted.credential.len() > 4_096;
    for _ in 0..2 {
        let later = Timestamp(START_MS.saturating_add(input.later_ms));
        let seen = keys.identify(Some(&bearer), later);
        let skew_ms = u64::try_from(CLOCK_SKEW.as_millis()).expect("short");
        if is_long || input.later_ms > ttl * 1_000 + skew_ms {
            assert!(seen.is_err(), "too long, or expired: {input:?} {seen:?}");
        } else if input.later_ms < ttl * 1_000 {
            assert_eq!(seen, Ok(Identity::Participant(grant.clone())), "{input:?}");
        }
    }
    let Some(shown) = input.forgery.shown(&minted.credential) else { return };
    let is_minted = shown.split_once(' ').is_some_and(|(scheme, token)| {
        scheme.trim().eq_ignore_ascii_case("bearer")
            && [&minted.credential, ADMIN_KEY].contains(&token.trim())
    });
    // Shown before the true one is verified, and after it.
    let fresh = Keys::new(SECRET, ADMIN_KEY).expect("the keys are strong");
    for keys in [&keys, &fresh] {
        let seen = keys.identify(Some(&shown), now);
        assert!(is_minted || seen.is_err(), "{shown} is taken for {seen:?}: {input:?}");
        if let Err(refusal) = seen {
            assert_eq!(refusal.code, "UNAUTHENTICATED");
            assert!(!refusal.message.contains(&minted.credential), "it is repeated: {refusal}");
        }
    }
}

impl Forgery<'_> {
    /// Returns what is shown, if it is another than `minted`.
    fn shown(&self, minted: &str) -> Option<String> {
        let parts: Vec<&str> = minted.split('.').collect();
        let [head, claims, signature] = parts[..] else { panic!("three parts: {minted}") };
        let mut bytes = minted.as_bytes().to_vec();
        let place = |at: u16| usize::from(at) % minted.len();
        let token = match self {
            Self::Anything(text) => return Some((*text).to_owned()),
            Self::Token(text) => (*text).to_owned(),
            Self::Byte { at, to } => {
                bytes[place(*at)] = *to;
                String::from_utf8(bytes).ok()?
            }
            Self::Cut { from, length } => {
                let from = place(*from);
                bytes.drain(from..bytes.len().min(from + usize::from(*length)));
                String::from_utf8(bytes).ok()?
            }
            Self::Insert { at, text } => {
                let (before, behind) = minted.split_at(place(*at));
                format!("{before}{text}{behind}")
            }
            Self::Head(text) => format!("{}.{claims}.{signature}", encoded(text.as_bytes())),
            Self::Claims(text) => format!("{head}.{}.{signature}", encoded(text.as_bytes())),
            Self::Signature(text) => format!("{head}.{claims}.{text}"),
            Self::Algorithm { is_longest } => {
                let (header, claims) = (Header::empty().with_token_type("JWT"), all());
                if *is_longest {
                    Hs512.token(&header, &claims, &Hs512Key::new(SECRET)).ok()?
                } else {
                    Hs384.token(&header, &claims, &Hs384Key::new(SECRET)).ok()?
                }
            }
            Self::Secret(secret) if *secret == SECRET => return None,
            Self::Secret(secret) => {
                let header = Header::empty().with_token_type("JWT");
                Hs256.token(&header, &all(), &Hs256Key::new(secret)).ok()?
            }
        };
        Some(format!("Bearer {token}"))
    }
}

/// Claims that this server would take.
fn all() -> Claims<serde_json::Value> {
    let mut claims = Claims::new(json!({
        "aud": "shared-context", "ses": "main", "inc": 1, "epo": 0, "sub": "orchestrator",
    }));
    let expires = i64::try_from(START_MS).ok().and_then(|it| it.checked_add(3_600_000));
    claims.expiration = expires.and_then(chrono::DateTime::from_timestamp_millis);
    claims
}

fn encoded(bytes: &[u8]) -> String {
    use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// Bytes of which every forgery is made.
pub fn seeds() -> Vec<Vec<u8>> {
    let random = |nth: u8| (0..96).map(|at: u8| at.wrapping_mul(29) ^ nth).collect();
    (0..64).map(random).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minted() -> (Keys, String) {
        let keys = Keys::new(SECRET, ADMIN_KEY).unwrap();
        let grant = Grant {
            scope: Scope::new(ScopeKind::Session, "main").unwrap(),
            participant: "subagent:a".to_owned(),
            credential: Credential { incarnation: 1, epoch: 0 },
            keys: Vec::new(),
        };
        let minted = keys.mint(&grant, Timestamp(START_MS), 3_600).unwrap();
        (keys, minted.credential)
    }

    /// base64url has texts that say the same: bits at the end of each part mean
    /// nothing. Who is given one credential has no second text that is it.
    #[test]
    fn no_byte_of_a_credential_can_be_another() {
        let (keys, minted) = minted();
        let now = Timestamp(START_MS);
        for at in 0..minted.len() {
            for to in 0..128 {
                let mut other = minted.clone().into_bytes();
                other[at] = to;
                let other = String::from_utf8(other).unwrap();
                if other == minted || other.trim() != other {
                    continue;
                }
                let seen = keys.identify(Some(&format!("Bearer {other}")), now);
                assert!(seen.is_err(), "{other} at {at}");
            }
        }
    }

    #[test]
    fn only_one_algorithm_is_taken() {
        let (keys, minted) = minted();
        let now = Timestamp(START_MS);
        for is_longest in [false, true] {
            let shown = Forgery::Algorithm { is_longest }.shown(&minted).unwrap();
            assert!(keys.identify(Some(&shown), now).is_err());
        }
        let of_ours = Hs256.token(&Header::empty(), &all(), &Hs256Key::new(SECRET)).unwrap();
        assert!(keys.identify(Some(&format!("Bearer {of_ours}")), now).is_ok(), "the test forges");
    }
}
