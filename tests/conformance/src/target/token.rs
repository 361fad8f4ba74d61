//! Credentials of targets without HTTP: the claims of a signed credential, as plain text. The HTTP
//! cases cover signatures and expiry.

use serde::{Deserialize, Serialize};
use shared_context_codec as codec;
use shared_context_core::ScopeKind;

use crate::{
    case::ADMIN,
    target::{Credential, Target, TargetError},
};

/// The claims that a session or a project accepts.
#[derive(Debug, Serialize, Deserialize)]
struct Claims {
    incarnation: u64,
    credential_epoch: u64,
    /// The session in which the caller acts on a project.
    #[serde(default)]
    session: Option<String>,
}

/// Returns the id of the session in which participants act on the project `id`.
pub(super) fn session_of(id: &str) -> String {
    format!("of-{id}")
}

/// Issues a credential for the current session. The operator's is not bound to a session, nor is
/// one for a missing session.
pub(super) fn issue(
    target: &mut dyn Target,
    scope: &str,
    participant: &str,
    keys: &[String],
) -> Result<Credential, TargetError> {
    let unbound = |participant: &str, keys: &[String]| Credential {
        participant: participant.to_owned(),
        keys: keys.to_vec(),
        token: String::new(),
    };
    if participant == ADMIN {
        return Ok(unbound(ADMIN, keys));
    }
    let project = match ScopeKind::split(scope) {
        Some((ScopeKind::Project, id)) => Some(id),
        _ => None,
    };
    let show: &[u8] = match project {
        Some(_) => br#"{"action":"show_project"}"#,
        None => br#"{"action":"show_session"}"#,
    };
    let shown = target.invoke(scope, &unbound(ADMIN, &[]), show);
    let body = match shown {
        Ok(body) => body,
        Err(TargetError::Rejected(_)) => return Ok(unbound(participant, keys)),
        Err(broken) => return Err(broken),
    };
    let mut claims: Claims = serde_json::from_slice(&body).map_err(|err| err.to_string())?;
    claims.session = project.map(session_of);
    let token = serde_json::to_string(&claims).map_err(|err| err.to_string())?;
    Ok(Credential { token, ..unbound(participant, keys) })
}

/// Returns the caller that `credential` identifies.
pub(super) fn caller(credential: &Credential) -> Result<codec::Caller, String> {
    let claims = match credential.token.as_str() {
        "" => None,
        token => Some(serde_json::from_str::<Claims>(token).map_err(|err| err.to_string())?),
    };
    let session = claims.as_ref().and_then(|it| it.session.clone());
    let bound = claims
        .map(|it| codec::Credential { incarnation: it.incarnation, epoch: it.credential_epoch });
    let Credential { participant, keys, .. } = credential.clone();
    Ok(codec::Caller { participant, credential: bound, keys, session })
}
