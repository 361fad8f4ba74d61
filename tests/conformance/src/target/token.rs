//! Credentials of targets without a wire: what a signed one would say, as text.
//! Signatures and expiry are the wire's, and proven over HTTP.

use serde::{Deserialize, Serialize};
use shared_context_codec as codec;

use crate::{
    case::ADMIN,
    target::{Credential, Stop, Target},
};

/// What a session says of the credentials it accepts.
#[derive(Debug, Serialize, Deserialize)]
struct Claims {
    incarnation: u64,
    credential_epoch: u64,
}

/// Issues a credential for the session as it is now. The operator needs none,
/// and for a session that is not there none can be bound to it.
pub(super) fn issue(
    target: &mut dyn Target,
    scope: &str,
    participant: &str,
    keys: &[String],
) -> Result<Credential, Stop> {
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
        Err(Stop::Refused(_)) => return Ok(unbound(participant, keys)),
        Err(broken) => return Err(broken),
    };
    let claims: Claims = serde_json::from_slice(&body).map_err(|err| err.to_string())?;
    let token = serde_json::to_string(&claims).map_err(|err| err.to_string())?;
    Ok(Credential { token, ..unbound(participant, keys) })
}

/// Returns the caller that `credential` proves.
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
