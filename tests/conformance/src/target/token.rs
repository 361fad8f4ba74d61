//! Credentials of targets without HTTP: the claims of a signed credential, as plain text. The HTTP
//! cases cover signatures and expiry.

use serde::{Deserialize, Serialize};
use shared_context_codec as codec;

use crate::{
    case::ADMIN,
    target::{Credential, Target, TargetError},
};

/// The claims that a session accepts.
#[derive(Debug, Serialize, Deserialize)]
struct Claims {
    incarnation: u64,
    credential_epoch: u64,
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
    let shown = target.invoke(scope, &unbound(ADMIN, &[]), br#"{"action":"show_session"}"#);
    let body = match shown {
        Ok(body) => body,
        Err(TargetError::Rejected(_)) => return Ok(unbound(participant, keys)),
        Err(broken) => return Err(broken),
    };
    let claims: Claims = serde_json::from_slice(&body).map_err(|err| err.to_string())?;
    let token = serde_json::to_string(&claims).map_err(|err| err.to_string())?;
    Ok(Credential { token, ..unbound(participant, keys) })
}

/// Returns the caller that `credential` identifies.
pub(super) fn caller(credential: &Credential) -> Result<codec::Caller, String> {
    let claims = match credential.token.as_str() {
        "" => None,
        token => Some(serde_json::from_str::<Claims>(token).map_err(|err| err.to_string())?),
    };
    let bound = claims
        .map(|it| codec::Credential { incarnation: it.incarnation, epoch: it.credential_epoch });
    let Credential { participant, keys, .. } = credential.clone();
    Ok(codec::Caller { participant, credential: bound, keys })
}
