//! Credentials: a minted credential is accepted until it expires, and every other text is
//! rejected, including altered credentials and those signed with another algorithm or
//! another key.

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
    host::START_MS,
    rest::{ADMIN_KEY, SECRET},
};

/// A credential and a forgery of it.
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

/// A text presented instead of the credential.
#[derive(Debug, Arbitrary)]
enum Forgery<'i> {
    /// Any header.
    Anything(&'i str),
    /// Any token.
    Token(&'i str),
    /// One byte is changed.
    Byte { at: u16, to: u8 },
    /// A part is removed.
    Cut { from: u16, length: u16 },
    /// A text is inserted.
    Insert { at: u16, text: &'i str },
    /// Another head with the original signature.
    Head(&'i str),
    /// Other claims with the original signature.
    Claims(&'i str),
    /// Another signature.
    Signature(&'i str),
    /// Signed with the server's secret and another algorithm.
    Algorithm { is_longest: bool },
    /// Signed with another secret.
    Secret(&'i [u8]),
}

/// Mints a credential and presents it and a forgery.
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
        project: None,
        tools: None,
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
    let Some(forged) = input.forgery.header(&minted.credential) else { return };
    let is_valid = forged.split_once(' ').is_some_and(|(scheme, token)| {
        scheme.trim().eq_ignore_ascii_case("bearer")
            && [&minted.credential, ADMIN_KEY].contains(&token.trim())
    });
    // The forgery is checked with keys that have verified the real credential, and with
    // fresh ones.
    let fresh = Keys::new(SECRET, ADMIN_KEY).expect("the keys are strong");
    for keys in [&keys, &fresh] {
        let seen = keys.identify(Some(&forged), now);
        assert!(is_valid || seen.is_err(), "{forged} is accepted as {seen:?}: {input:?}");
        if let Err(failure) = seen {
            assert_eq!(failure.code, "UNAUTHENTICATED");
            assert!(!failure.message.contains(&minted.credential), "it is repeated: {failure}");
        }
    }
}

impl Forgery<'_> {
    /// Returns the forged header, or `None` if it cannot differ from `minted`.
    fn header(&self, minted: &str) -> Option<String> {
        let parts: Vec<&str> = minted.split('.').collect();
        let [head, claims, signature] = parts[..] else { panic!("three parts: {minted}") };
        let mut bytes = minted.as_bytes().to_vec();
        let index = |at: u16| usize::from(at) % minted.len();
        let token = match self {
            Self::Anything(text) => return Some((*text).to_owned()),
            Self::Token(text) => (*text).to_owned(),
            Self::Byte { at, to } => {
                bytes[index(*at)] = *to;
                String::from_utf8(bytes).ok()?
            }
            Self::Cut { from, length } => {
                let from = index(*from);
                bytes.drain(from..bytes.len().min(from + usize::from(*length)));
                String::from_utf8(bytes).ok()?
            }
            Self::Insert { at, text } => {
                let (before, behind) = minted.split_at(index(*at));
                format!("{before}{text}{behind}")
            }
            Self::Head(text) => format!("{}.{claims}.{signature}", encoded(text.as_bytes())),
            Self::Claims(text) => format!("{head}.{}.{signature}", encoded(text.as_bytes())),
            Self::Signature(text) => format!("{head}.{claims}.{text}"),
            Self::Algorithm { is_longest } => {
                let (header, claims) = (Header::empty().with_token_type("JWT"), valid_claims());
                if *is_longest {
                    Hs512.token(&header, &claims, &Hs512Key::new(SECRET)).ok()?
                } else {
                    Hs384.token(&header, &claims, &Hs384Key::new(SECRET)).ok()?
                }
            }
            Self::Secret(secret) if *secret == SECRET => return None,
            Self::Secret(secret) => {
                let header = Header::empty().with_token_type("JWT");
                Hs256.token(&header, &valid_claims(), &Hs256Key::new(secret)).ok()?
            }
        };
        Some(format!("Bearer {token}"))
    }
}

/// Returns claims that this server accepts.
fn valid_claims() -> Claims<serde_json::Value> {
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

/// Returns bytes from which all kinds of forgeries are built.
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
            project: None,
            tools: None,
        };
        let minted = keys.mint(&grant, Timestamp(START_MS), 3_600).unwrap();
        (keys, minted.credential)
    }

    /// In base64url, different texts can decode to the same bytes, because the last bits of
    /// each part are unused. A credential must still have only one valid text.
    #[test]
    fn no_byte_of_a_credential_can_be_changed() {
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
    fn only_one_algorithm_is_accepted() {
        let (keys, minted) = minted();
        let now = Timestamp(START_MS);
        for is_longest in [false, true] {
            let forged = Forgery::Algorithm { is_longest }.header(&minted).unwrap();
            assert!(keys.identify(Some(&forged), now).is_err());
        }
        // The claims themselves are valid, so only the algorithm was rejected.
        let key = Hs256Key::new(SECRET);
        let valid = Hs256.token(&Header::empty(), &valid_claims(), &key).unwrap();
        assert!(keys.identify(Some(&format!("Bearer {valid}")), now).is_ok());
    }
}
