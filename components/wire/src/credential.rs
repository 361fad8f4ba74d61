//! Signs and verifies credentials (spec 8.3.1).
//!
//! A participant's credential is a JSON Web Token, signed with HS256 and the server's secret. Its
//! claims are the participant, the session or project with its incarnation and credential epoch,
//! and the expiry. It also names the database if the host distinguishes databases, and the keys if
//! it is limited to some. The operator's admin key is a second, opaque secret. Whether the session
//! still has that incarnation and epoch is checked by the core, which has the session.
//!
//! # Invariant
//!
//! HS256 is the only algorithm ever tried, whatever a token declares, and secrets are compared in
//! constant time. Neither secrets nor credentials appear in `Debug` output or messages.

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

use crate::verified::VerifiedTokens;

/// Shortest secret and shortest admin key, in bytes.
pub const SECRET_BYTES_MIN: usize = 32;

/// Allowed clock difference between two servers: a credential is accepted this long after it
/// expired.
pub const CLOCK_SKEW: Duration = Duration::from_secs(30);

/// Range of a credential's lifetime in seconds: a minute to 30 days.
pub const TTL_SECONDS: std::ops::RangeInclusive<u64> = 60..=30 * DAY_SECONDS;

/// Default lifetime of a subagent's credential in seconds: a task rarely runs longer than a day.
pub const AGENT_TTL_SECONDS: u64 = DAY_SECONDS;

/// Default lifetime of an orchestrator's credential in seconds: a session spans days, and an
/// orchestrator cannot renew its own.
pub const ORCHESTRATOR_TTL_SECONDS: u64 = 30 * DAY_SECONDS;

/// Longest accepted bearer token in bytes. Our credentials have less than 4,000 bytes, and less
/// than 700 without a list of keys.
const TOKEN_BYTES_MAX: usize = 4096;
const DAY_SECONDS: u64 = 86_400;
const AUDIENCE: &str = "shared-context";
const NO_CREDENTIAL: &str = "the token is signed with this server's secret but is no credential \
     of a session or project; use one that this server issued";

/// Secrets of a server: the signing secret of credentials, and the operator's admin key.
pub struct Keys {
    signing: Hs256Key,
    admin_digest: [u8; 32],
    /// The only database whose credentials are valid; `None` if the host has no identity for it.
    database: Option<String>,
    verified: VerifiedTokens<Claims<GrantClaims>>,
}

/// Holder and scope of a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Session or project.
    pub scope: Scope,
    /// Participant.
    pub participant: String,
    /// Incarnation and credential epoch of the scope.
    pub credential: Credential,
    /// The project of the session, if it is for that as well.
    pub project: Option<ProjectGrant>,
    /// Patterns of the only keys it is valid for. Empty: all keys.
    pub keys: Vec<String>,
    /// The only sets of tools besides the working memory that it is for in MCP. `None`: those that
    /// its session uses.
    pub tools: Option<Vec<String>>,
}

/// The project that a session's credential is for as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectGrant {
    /// Id.
    pub id: String,
    /// Its incarnation and credential epoch.
    pub credential: Credential,
}

/// A newly signed credential.
pub struct Minted {
    /// Token for the header `Authorization: Bearer`.
    pub credential: String,
    /// First instant at which it is no longer valid, in RFC 3339.
    pub expires_at: String,
}

/// Sender of a request, according to its credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// The operator, who presented the admin key.
    Admin,
    /// A participant of one session or project.
    Participant(Grant),
}

/// Reason why secrets were rejected. The text is for the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeakKeys {
    /// The secret has only this many bytes.
    SecretTooShort(usize),
    /// The admin key has only this many bytes.
    AdminKeyTooShort(usize),
    /// The admin key has a character that a header cannot carry.
    AdminKeyUnfit,
    /// Both secrets are the same.
    Same,
}

/// Claims of a credential besides `exp` and `iat`, by their names in the token.
#[derive(Serialize, Deserialize)]
struct GrantClaims {
    #[serde(default)]
    aud: String,
    /// Absent if the host has no identity for its database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dbi: Option<String>,
    /// Session, if it is for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ses: Option<String>,
    /// Project: the one that it is for, or that of its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prj: Option<String>,
    /// Incarnation and credential epoch of the project of its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pin: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pep: Option<u64>,
    inc: u64,
    epo: u64,
    sub: String,
    /// Absent if it is valid for all keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    keys: Vec<String>,
    /// Absent if its session decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<String>>,
}

impl Keys {
    /// Creates the keys from the signing secret and the admin key.
    ///
    /// # Errors
    ///
    /// [`WeakKeys`]: each must have at least [`SECRET_BYTES_MIN`] bytes, the admin key must be
    /// visible ASCII, and they must differ.
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

    /// Creates keys from 32 `random` bytes that are given to nobody. An unconfigured server uses
    /// them to report that it is not set up.
    pub fn of_nobody(random: &[u8; SECRET_BYTES_MIN]) -> Self {
        let digest: [u8; 32] = Sha256::digest(random).into();
        Self::of(random, &digest)
    }

    fn of(secret: &[u8], admin_key: &[u8]) -> Self {
        let admin_digest = Sha256::digest(admin_key).into();
        let verified = VerifiedTokens::new();
        Self { signing: Hs256Key::new(secret), admin_digest, database: None, verified }
    }

    /// Binds credentials to the database `identity`, a short text that is unique to it. They are
    /// void on any other database, even with the same secret. A host assigns a new identity when a
    /// database may have lost a revocation.
    #[must_use]
    pub fn bound_to(self, identity: impl Into<String>) -> Self {
        Self { database: Some(identity.into()), verified: VerifiedTokens::new(), ..self }
    }

    /// Signs a credential for `grant` that is valid for `ttl_seconds` from `now`.
    ///
    /// # Errors
    ///
    /// `INTERNAL` if the clock is outside the range of dates.
    pub fn mint(&self, grant: &Grant, now: Timestamp, ttl_seconds: u64) -> Result<Minted, Failure> {
        self.mint_until(grant, now, ttl_seconds, None)
    }

    /// Signs a credential like [`Keys::mint`] that expires at `at_most` at the latest.
    pub(crate) fn mint_until(
        &self,
        grant: &Grant,
        now: Timestamp,
        ttl_seconds: u64,
        at_most: Option<Timestamp>,
    ) -> Result<Minted, Failure> {
        let unclear =
            || Failure::new("INTERNAL", "the server's clock is wrong; report this to the operator");
        let issued_at = instant(now);
        let expires_at = i64::try_from(ttl_seconds)
            .ok()
            .and_then(TimeDelta::try_seconds)
            .and_then(|ttl| issued_at.checked_add_signed(ttl))
            .ok_or_else(unclear)?;
        let expires_at = at_most.map_or(expires_at, |it| expires_at.min(instant(it)));
        let project = grant.project.as_ref();
        let of_kind = |kind| (grant.scope.kind() == kind).then(|| grant.scope.id().to_owned());
        let mut claims = Claims::new(GrantClaims {
            aud: AUDIENCE.to_owned(),
            dbi: self.database.clone(),
            ses: of_kind(ScopeKind::Session),
            prj: of_kind(ScopeKind::Project).or_else(|| project.map(|it| it.id.clone())),
            pin: project.map(|it| it.credential.incarnation),
            pep: project.map(|it| it.credential.epoch),
            inc: grant.credential.incarnation,
            epo: grant.credential.epoch,
            sub: grant.participant.clone(),
            keys: grant.keys.clone(),
            tools: grant.tools.clone(),
        });
        claims.issued_at = Some(issued_at);
        claims.expiration = Some(expires_at);
        let header = Header::empty().with_token_type("JWT");
        let credential = Hs256.token(&header, &claims, &self.signing).map_err(|_| unclear())?;
        Ok(Minted { credential, expires_at: format_time(expires_at) })
    }

    /// Identifies the sender by the `Authorization` header.
    ///
    /// # Errors
    ///
    /// `UNAUTHENTICATED`, with a separate message for each cause: the header is missing or is not a
    /// bearer token; or the token is damaged, has another algorithm or key, is for another service
    /// or database, or has expired.
    pub fn identify(
        &self,
        authorization: Option<&str>,
        now: Timestamp,
    ) -> Result<Identity, Failure> {
        let Some(header) = authorization else {
            return Err(unauthenticated(
                "this request shows no credential: send it as the header \
                 Authorization: Bearer {credential}; the operator gets an orchestrator's \
                 by creating the session, the orchestrator a subagent's with \
                 POST /v1/sessions/{session}/credentials",
            ));
        };
        let Some(token) = bearer(header) else {
            return Err(unauthenticated(
                "the Authorization header is not of the form Bearer {credential}",
            ));
        };
        let claims = if let Some(claims) = self.verified.get(token) {
            claims
        } else {
            let claims = match self.verify(token) {
                Ok(claims) => Arc::new(claims),
                // Checked second, because most requests come from participants.
                Err(_) if self.is_admin_key(token) => return Ok(Identity::Admin),
                Err(rejection) => return Err(rejection),
            };
            self.verified.insert(token, &claims);
            claims
        };
        unexpired_grant(&claims, now).map(Identity::Participant)
    }

    /// Returns the expiry of the credential in a header that was identified before; `None` for the
    /// admin key, which does not expire.
    pub(crate) fn expiry_of(&self, authorization: &str) -> Option<Timestamp> {
        let token = bearer(authorization)?;
        let claims = match self.verified.get(token) {
            Some(claims) => claims,
            None => Arc::new(self.verify(token).ok()?),
        };
        let at = u64::try_from(claims.expiration?.timestamp_millis()).unwrap_or_default();
        Some(Timestamp(at))
    }

    /// Returns true if the `Authorization` header has the admin key.
    pub(crate) fn is_admin(&self, authorization: &str) -> bool {
        bearer(authorization).is_some_and(|token| self.is_admin_key(token))
    }

    fn is_admin_key(&self, token: &str) -> bool {
        let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        digest.ct_eq(&self.admin_digest).into()
    }

    /// Returns a 256-bit MAC of `bytes` as 43 ASCII characters, which only this server can compute.
    /// It depends on `purpose`, and is never valid as the signature of a credential.
    pub(crate) fn sign(&self, purpose: &str, bytes: &[u8]) -> String {
        // The NUL separates the domains: the signed part of a credential never contains one.
        let signed = [purpose.as_bytes(), b"\0", bytes].concat();
        let mac = Hs256.sign(&self.signing, &signed);
        BASE64_URL_SAFE_NO_PAD.encode(mac.as_bytes())
    }

    /// Returns the claims of `token` if this server signed it.
    fn verify(&self, token: &str) -> Result<Claims<GrantClaims>, Failure> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(unauthenticated(
                "the bearer token is longer than any credential; check what is sent",
            ));
        }
        let untrusted = UntrustedToken::new(token).map_err(|_| {
            unauthenticated(
                "the bearer token is neither the admin key nor a whole credential \
                 (three parts joined by dots): send it exactly as it was given",
            )
        })?;
        let token = Hs256.validator::<GrantClaims>(&self.signing).validate(&untrusted).map_err(
            |error| {
                unauthenticated(match error {
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
            return Err(unauthenticated(
                "the token is for another service (its aud is not shared-context); \
                 use a credential that this server issued",
            ));
        }
        if claims.custom.dbi != self.database {
            return Err(unauthenticated(
                "the credential is for another database: this server's was made anew since, lost \
                 some of its data, or is another server's; ask for a new one: the orchestrator \
                 mints a subagent's, the operator an orchestrator's",
            ));
        }
        Ok(claims)
    }
}

/// Returns the grant of `claims` unless it has expired.
fn unexpired_grant(claims: &Claims<GrantClaims>, now: Timestamp) -> Result<Grant, Failure> {
    let skew = TimeDelta::from_std(CLOCK_SKEW).unwrap_or_default();
    let now = instant(now);
    if claims.validate_expiration(&TimeOptions::new(skew, || now)).is_err() {
        return Err(unauthenticated(match claims.expiration {
            Some(at) => format!(
                "the credential expired at {}; ask for a new one: the orchestrator mints a \
                 subagent's, the operator an orchestrator's",
                format_time(at)
            ),
            None => "the credential never expires, which none of this server's does; \
                     use one that it issued"
                .to_owned(),
        }));
    }
    let GrantClaims { ses, prj, pin, pep, inc, epo, sub, keys, tools, .. } = &claims.custom;
    let project = prj.as_ref().zip(*pin).zip(*pep).map(|((id, incarnation), epoch)| ProjectGrant {
        id: id.clone(),
        credential: Credential { incarnation, epoch },
    });
    let scope = match (ses, prj) {
        (Some(id), None) => Scope::new(ScopeKind::Session, id),
        (Some(id), Some(_)) if project.is_some() => Scope::new(ScopeKind::Session, id),
        (None, Some(id)) => Scope::new(ScopeKind::Project, id),
        _ => None,
    };
    Ok(Grant {
        scope: scope.ok_or_else(|| unauthenticated(NO_CREDENTIAL))?,
        participant: sub.clone(),
        credential: Credential { incarnation: *inc, epoch: *epo },
        project: project.filter(|_| ses.is_some()),
        keys: keys.clone(),
        tools: tools.clone(),
    })
}

/// Returns the token of the `Authorization` header `header`.
pub(crate) fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

impl Identity {
    /// Returns true if a request about `scope` is this identity's own.
    pub(crate) fn reaches(&self, scope: &Scope) -> bool {
        match self {
            Self::Admin => true,
            Self::Participant(grant) => {
                let project = grant.project.as_ref().map(|it| it.id.as_str());
                grant.scope == *scope
                    || scope.kind() == ScopeKind::Project && project == Some(scope.id())
            }
        }
    }

    /// Returns the scope of this identity; `None` for the operator, who has access to every scope.
    pub(crate) fn scope(&self) -> Option<&Scope> {
        match self {
            Self::Admin => None,
            Self::Participant(grant) => Some(&grant.scope),
        }
    }

    /// Returns the caller for the scope of this `kind` and `id`.
    ///
    /// # Errors
    ///
    /// `FORBIDDEN`: the credential is for another scope.
    pub fn caller(&self, kind: ScopeKind, id: &str) -> Result<Caller, Failure> {
        match self {
            Self::Admin => Ok(Caller::trusted("admin")),
            Self::Participant(grant) if kind == ScopeKind::Project && grant.is_of_session() => {
                grant.caller_in_project(id)
            }
            Self::Participant(Grant { scope, .. }) if scope.kind() != kind => {
                Err(forbidden(format!(
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
                session: None,
            }),
            Self::Participant(Grant { scope, .. }) => Err(forbidden(format!(
                "the credential is for {scope}, not for the one in the path; \
                 call /v1/{kind}s/{} with it",
                scope.id(),
                kind = kind.as_str()
            ))),
        }
    }
}

impl Grant {
    fn is_of_session(&self) -> bool {
        self.scope.kind() == ScopeKind::Session
    }

    /// Returns the caller for the project `id`, in which a session's participant acts for its
    /// session.
    ///
    /// # Errors
    ///
    /// `FORBIDDEN`: the credential is for no project, or for another one.
    fn caller_in_project(&self, id: &str) -> Result<Caller, Failure> {
        match &self.project {
            Some(project) if project.id == id => Ok(Caller {
                participant: self.participant.clone(),
                credential: Some(project.credential),
                keys: Vec::new(),
                session: Some(self.scope.id().to_owned()),
            }),
            Some(project) => Err(forbidden(format!(
                "the credential is for {} of project {}, not for the project in the path; call \
                 /v1/projects/{} with it",
                self.scope, project.id, project.id
            ))),
            None => Err(forbidden(format!(
                "the credential is for {} and no project: the session names none, the credential is \
                 limited to keys, or the project was created after it was issued; ask for a new one",
                self.scope
            ))),
        }
    }
}

/// Converts to a date. A clock out of range makes every credential expired.
fn instant(now: Timestamp) -> DateTime<Utc> {
    i64::try_from(now.0)
        .ok()
        .and_then(DateTime::from_timestamp_millis)
        .unwrap_or(DateTime::<Utc>::MAX_UTC)
}

/// Formats a credential's time, which has whole seconds.
fn format_time(at: DateTime<Utc>) -> String {
    let milliseconds = u64::try_from(at.timestamp().saturating_mul(1000)).unwrap_or_default();
    Time(Timestamp(milliseconds)).to_string()
}

fn forbidden(message: impl Into<String>) -> Failure {
    Failure::new("FORBIDDEN", message)
}

fn unauthenticated(message: impl Into<String>) -> Failure {
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
