//! Who calls: credentials are signed here, and checked here (spec 8.3.1).
//!
//! A participant's credential is a JSON Web Token, signed with HS256 and the
//! server's secret. It names the database that has the session, where the host
//! tells one from another, the session or project, its incarnation and credential epoch,
//! the participant, the only keys it is for, if it is not for all, and when it expires. The operator's admin key is a second,
//! opaque secret. Not here: whether the session still has that incarnation and
//! epoch; only the core, which has the session, can tell.
//!
//! # Invariant
//!
//! No algorithm but HS256 is ever tried, whatever a token says of itself, and
//! secrets are compared in constant time. Neither secrets nor credentials appear
//! in `Debug` output or messages.

use std::{fmt, sync::Arc, time::Duration};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use chrono::{DateTime, TimeDelta, Utc};
use jwt_compact::{
    Algorithm, AlgorithmExt, AlgorithmSignature, Claims, Header, TimeOptions, UntrustedToken,
    ValidationError,
    alg::{Hs256, Hs256Key},
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use shared_context_codec::{Caller, Credential, Failure, Time};
use shared_context_core::{Scope, ScopeKind, time::Timestamp};
use subtle::ConstantTimeEq;

use crate::verified::Verified;

/// The shortest secret and the shortest admin key, in bytes.
pub const SECRET_BYTES_MIN: usize = 32;

/// How far the clocks of two servers may differ: a credential is accepted this
/// long after it expired.
pub const CLOCK_SKEW: Duration = Duration::from_secs(30);

/// The shortest and the longest life of a credential, in seconds: a minute and
/// 30 days.
pub const TTL_SECONDS: std::ops::RangeInclusive<u64> = 60..=30 * DAY_SECONDS;

/// The life of a subagent's credential when none is asked for, in seconds: a
/// task rarely runs longer than a day.
pub const AGENT_TTL_SECONDS: u64 = DAY_SECONDS;

/// The life of an orchestrator's credential when none is asked for, in seconds:
/// a session spans days, and an orchestrator cannot renew its own.
pub const ORCHESTRATOR_TTL_SECONDS: u64 = 30 * DAY_SECONDS;

/// A longer bearer token is none of ours: ours have less than 4,000 bytes, less
/// than 700 where they are for all keys.
const TOKEN_BYTES_MAX: usize = 4096;
const DAY_SECONDS: u64 = 86_400;
const AUDIENCE: &str = "shared-context";
const NO_CREDENTIAL: &str = "the token is signed with this server's secret but is no credential \
     of a session or project; use one that this server issued";

/// The secrets of a server: what credentials are signed with, and what proves
/// the operator.
pub struct Keys {
    signing: Hs256Key,
    admin_digest: [u8; 32],
    /// The only database whose credentials are good; `None` where the host has no
    /// identity for it.
    database: Option<String>,
    verified: Verified<Claims<GrantClaims>>,
}

/// Who a credential is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The session or project.
    pub scope: Scope,
    /// The participant.
    pub participant: String,
    /// Which of those that ever had its id, and which of its credentials.
    pub credential: Credential,
    /// The only keys it is for: patterns. Empty: all keys.
    pub keys: Vec<String>,
}

/// A credential, fresh from the mint.
pub struct Minted {
    /// What goes behind `Authorization: Bearer`.
    pub credential: String,
    /// The first instant at which it is no longer good, as RFC 3339.
    pub expires_at: String,
}

/// Who sent a request, as far as its credential tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// The operator: showed the admin key.
    Admin,
    /// A participant of one session or project.
    Participant(Grant),
}

/// Why secrets were refused. The text is for the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeakKeys {
    /// The secret has this many bytes.
    SecretTooShort(usize),
    /// The admin key has this many bytes.
    AdminKeyTooShort(usize),
    /// The admin key holds a character that no header carries.
    AdminKeyUnfit,
    /// One is the same as the other.
    Same,
}

/// The claims of a credential besides `exp` and `iat`, by their names in it.
#[derive(Serialize, Deserialize)]
struct GrantClaims {
    #[serde(default)]
    aud: String,
    /// Absent where the host has no identity for its database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dbi: Option<String>,
    /// The session, if it is for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ses: Option<String>,
    /// The project, if it is for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prj: Option<String>,
    inc: u64,
    epo: u64,
    sub: String,
    /// Absent from what is for all keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    keys: Vec<String>,
}

impl Keys {
    /// Takes the secret that credentials are signed with, and the admin key.
    ///
    /// # Errors
    ///
    /// [`WeakKeys`]: each has at least [`SECRET_BYTES_MIN`] bytes, the admin key is
    /// visible ASCII, and they differ.
    pub fn new(secret: &[u8], admin_key: &str) -> Result<Self, WeakKeys> {
        if secret.len() < SECRET_BYTES_MIN {
            return Err(WeakKeys::SecretTooShort(secret.len()));
        }
        if admin_key.len() < SECRET_BYTES_MIN {
            return Err(WeakKeys::AdminKeyTooShort(admin_key.len()));
        }
        if !admin_key.bytes().all(|it| it.is_ascii_graphic()) {
            return Err(WeakKeys::AdminKeyUnfit);
        }
        if secret.ct_eq(admin_key.as_bytes()).into() {
            return Err(WeakKeys::Same);
        }
        Ok(Self::of(secret, admin_key.as_bytes()))
    }

    /// Keys that nobody has, of 32 `random` bytes: for a server that is not set up,
    /// so that it can say so.
    pub fn of_nobody(random: &[u8; SECRET_BYTES_MIN]) -> Self {
        let digest: [u8; 32] = Sha256::digest(random).into();
        Self::of(random, &digest)
    }

    fn of(secret: &[u8], admin_key: &[u8]) -> Self {
        let admin_digest = Sha256::digest(admin_key).into();
        let verified = Verified::new();
        Self { signing: Hs256Key::new(secret), admin_digest, database: None, verified }
    }

    /// Binds credentials to the database `identity`, a short text that no other
    /// database has: they are void elsewhere, also where the secret is the same. A
    /// host gives a database a new identity when it may have lost a revocation.
    #[must_use]
    pub fn bound_to(self, identity: impl Into<String>) -> Self {
        Self { database: Some(identity.into()), verified: Verified::new(), ..self }
    }

    /// Signs a credential for `grant` that is good for `ttl_seconds` from `now`.
    ///
    /// # Errors
    ///
    /// `INTERNAL` when the clock is outside of what a date can say.
    pub fn mint(&self, grant: &Grant, now: Timestamp, ttl_seconds: u64) -> Result<Minted, Failure> {
        self.mint_until(grant, now, ttl_seconds, None)
    }

    /// Signs a credential as [`Keys::mint`] does that ends at `at_most`, if not before.
    pub(crate) fn mint_until(
        &self,
        grant: &Grant,
        now: Timestamp,
        ttl_seconds: u64,
        at_most: Option<Timestamp>,
    ) -> Result<Minted, Failure> {
        let unclear = || Failure::new("INTERNAL", "the server's clock is wrong; tell the operator");
        let issued_at = instant(now);
        let expires_at = i64::try_from(ttl_seconds)
            .ok()
            .and_then(TimeDelta::try_seconds)
            .and_then(|ttl| issued_at.checked_add_signed(ttl))
            .ok_or_else(unclear)?;
        let expires_at = at_most.map_or(expires_at, |it| expires_at.min(instant(it)));
        let of_kind = |kind| (grant.scope.kind() == kind).then(|| grant.scope.id().to_owned());
        let mut claims = Claims::new(GrantClaims {
            aud: AUDIENCE.to_owned(),
            dbi: self.database.clone(),
            ses: of_kind(ScopeKind::Session),
            prj: of_kind(ScopeKind::Project),
            inc: grant.credential.incarnation,
            epo: grant.credential.epoch,
            sub: grant.participant.clone(),
            keys: grant.keys.clone(),
        });
        claims.issued_at = Some(issued_at);
        claims.expiration = Some(expires_at);
        let header = Header::empty().with_token_type("JWT");
        let credential = Hs256.token(&header, &claims, &self.signing).map_err(|_| unclear())?;
        Ok(Minted { credential, expires_at: shown(expires_at) })
    }

    /// Tells who sent the `Authorization` header `authorization`.
    ///
    /// # Errors
    ///
    /// `UNAUTHENTICATED`, with a message of its own for a header that is
    /// missing or is no bearer token, a token that is damaged, is signed by
    /// another algorithm or another key, is for another service or another database,
    /// or has expired.
    pub fn identify(
        &self,
        authorization: Option<&str>,
        now: Timestamp,
    ) -> Result<Identity, Failure> {
        let Some(header) = authorization else {
            return Err(refused(
                "this request shows no credential: send it as the header \
                 Authorization: Bearer {credential}; the operator gets an orchestrator's \
                 by creating the session, the orchestrator a subagent's with \
                 POST /v1/sessions/{session}/credentials",
            ));
        };
        let Some(token) = bearer(header) else {
            return Err(refused("the Authorization header is not of the form Bearer {credential}"));
        };
        let claims = if let Some(claims) = self.verified.get(token) {
            claims
        } else {
            let claims = match self.verify(token) {
                Ok(claims) => Arc::new(claims),
                // Asked second: most requests are a participant's.
                Err(_) if self.is_admin_key(token) => return Ok(Identity::Admin),
                Err(refusal) => return Err(refusal),
            };
            self.verified.note(token, &claims);
            claims
        };
        unexpired(&claims, now).map(Identity::Participant)
    }

    /// Returns when the credential in the `Authorization` header `authorization` expires, which
    /// was identified before; `None` for the admin key, which does not.
    pub(crate) fn good_until(&self, authorization: &str) -> Option<Timestamp> {
        let token = bearer(authorization)?;
        let claims = match self.verified.get(token) {
            Some(claims) => claims,
            None => Arc::new(self.verify(token).ok()?),
        };
        let at = u64::try_from(claims.expiration?.timestamp_millis()).unwrap_or_default();
        Some(Timestamp(at))
    }

    /// Returns whether the `Authorization` header `authorization` shows the admin key.
    pub(crate) fn is_admin(&self, authorization: &str) -> bool {
        bearer(authorization).is_some_and(|token| self.is_admin_key(token))
    }

    fn is_admin_key(&self, token: &str) -> bool {
        let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        digest.ct_eq(&self.admin_digest).into()
    }

    /// Returns a text of 43 ASCII characters that only this server can make of `bytes`, a MAC
    /// of 256 bits. For another `purpose` it is another one, and it never is part of
    /// a credential.
    pub(crate) fn sign(&self, purpose: &str, bytes: &[u8]) -> String {
        // What is signed for a credential is text without a NUL.
        let signed = [purpose.as_bytes(), b"\0", bytes].concat();
        let mac = Hs256.sign(&self.signing, &signed);
        BASE64_URL_SAFE_NO_PAD.encode(mac.as_bytes())
    }

    /// Returns what `token` says, if this server signed it.
    fn verify(&self, token: &str) -> Result<Claims<GrantClaims>, Failure> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(refused(
                "the bearer token is longer than any credential; check what is sent",
            ));
        }
        let untrusted = UntrustedToken::new(token).map_err(|_| {
            refused(
                "the bearer token is neither the admin key nor a whole credential \
                 (three parts joined by dots): send it exactly as it was given",
            )
        })?;
        let token = Hs256.validator::<GrantClaims>(&self.signing).validate(&untrusted).map_err(
            |error| {
                refused(match error {
                    ValidationError::AlgorithmMismatch { .. } => {
                        "the credential is not signed with HS256, the only algorithm accepted; \
                         use one that this server issued"
                    }
                    ValidationError::MalformedClaims(_) => NO_CREDENTIAL,
                    _ => {
                        "this server did not sign this credential: it was changed on the way or \
                         issued by another server; send it exactly as it was given, or ask for a \
                         new one"
                    }
                })
            },
        )?;
        let claims = token.into_parts().1;
        if claims.custom.aud != AUDIENCE {
            return Err(refused(
                "the token is for another service (its aud is not shared-context); \
                 use a credential that this server issued",
            ));
        }
        if claims.custom.dbi != self.database {
            return Err(refused(
                "the credential is for another database: this server's was made anew since, lost \
                 some of its data, or is another server's; ask for a new one: the orchestrator \
                 mints a subagent's, the operator an orchestrator's",
            ));
        }
        Ok(claims)
    }
}

/// Returns what `claims` grant, unless that has expired.
fn unexpired(claims: &Claims<GrantClaims>, now: Timestamp) -> Result<Grant, Failure> {
    let skew = TimeDelta::from_std(CLOCK_SKEW).unwrap_or_default();
    let now = instant(now);
    if claims.validate_expiration(&TimeOptions::new(skew, || now)).is_err() {
        return Err(refused(match claims.expiration {
            Some(at) => format!(
                "the credential expired at {}; ask for a new one: the orchestrator mints a \
                 subagent's, the operator an orchestrator's",
                shown(at)
            ),
            None => "the credential never expires, which none of this server's does; \
                     use one that it issued"
                .to_owned(),
        }));
    }
    let GrantClaims { ses, prj, inc, epo, sub, keys, .. } = &claims.custom;
    let scope = match (ses, prj) {
        (Some(id), None) => Scope::new(ScopeKind::Session, id),
        (None, Some(id)) => Scope::new(ScopeKind::Project, id),
        _ => None,
    };
    Ok(Grant {
        scope: scope.ok_or_else(|| refused(NO_CREDENTIAL))?,
        participant: sub.clone(),
        credential: Credential { incarnation: *inc, epoch: *epo },
        keys: keys.clone(),
    })
}

/// Returns the token in the `Authorization` header `header`.
pub(crate) fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

impl Identity {
    /// Returns what it is for; `None` for the operator, who may reach everything.
    pub(crate) fn scope(&self) -> Option<&Scope> {
        match self {
            Self::Admin => None,
            Self::Participant(grant) => Some(&grant.scope),
        }
    }

    /// Returns the caller this identity is on the `kind` of scope that is called `id`.
    ///
    /// # Errors
    ///
    /// `UNAUTHENTICATED`: the credential is for another one.
    pub fn caller(&self, kind: ScopeKind, id: &str) -> Result<Caller, Failure> {
        match self {
            Self::Admin => Ok(Caller::trusted("admin")),
            Self::Participant(Grant { scope, .. }) if scope.kind() != kind => {
                Err(refused(format!(
                    "the credential is for {scope}, and this is about a {}; call \
                     /v1/{}s/{} with it",
                    kind.as_str(),
                    scope.kind().as_str(),
                    scope.id()
                )))
            }
            Self::Participant(grant) if grant.scope.id() == id => Ok(Caller {
                participant: grant.participant.clone(),
                credential: Some(grant.credential),
                keys: grant.keys.clone(),
            }),
            Self::Participant(Grant { scope, .. }) => Err(refused(format!(
                "the credential is for {scope}, not for the one in the path; \
                 call /v1/{kind}s/{} with it, or get a credential for the other {kind}",
                scope.id(),
                kind = kind.as_str()
            ))),
        }
    }
}

/// A clock beyond what a date can say makes every credential expired.
fn instant(now: Timestamp) -> DateTime<Utc> {
    i64::try_from(now.0)
        .ok()
        .and_then(DateTime::from_timestamp_millis)
        .unwrap_or(DateTime::<Utc>::MAX_UTC)
}

/// A credential tells its times in whole seconds.
fn shown(at: DateTime<Utc>) -> String {
    let milliseconds = u64::try_from(at.timestamp().saturating_mul(1000)).unwrap_or_default();
    Time(Timestamp(milliseconds)).to_string()
}

fn refused(message: impl Into<String>) -> Failure {
    Failure::new("UNAUTHENTICATED", message)
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").finish_non_exhaustive()
    }
}

impl fmt::Debug for Minted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Minted").field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}

impl fmt::Display for WeakKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, bytes) = match self {
            Self::SecretTooShort(bytes) => ("secret that signs credentials", bytes),
            Self::AdminKeyTooShort(bytes) => ("admin key", bytes),
            Self::AdminKeyUnfit => {
                return f.write_str(
                    "the admin key holds a space, a line break or something else that cannot be \
                     sent in a header; `openssl rand -hex 32` prints a good one",
                );
            }
            Self::Same => {
                return f.write_str(
                    "the admin key is the secret that signs credentials; use two different ones",
                );
            }
        };
        write!(
            f,
            "the {name} has {bytes} bytes and needs at least {SECRET_BYTES_MIN}; \
             `openssl rand -hex 32` prints a good one"
        )
    }
}

impl std::error::Error for WeakKeys {}
