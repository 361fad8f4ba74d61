//! What canaries change of requests and answers, as a core or a codec would that
//! makes these mistakes.

use serde_json::Value;
use shared_context_codec::{Caller, Failure, Reply};

use super::World;
use crate::{
    canary::Canary,
    script::{Ask, Request},
};

impl World {
    /// Changes what goes in where something is broken on purpose.
    pub(super) fn break_request(&self, ask: &Ask, caller: &mut Caller, sent: &mut Vec<u8>) {
        match self.canary {
            Some(Canary::IgnoresLimits) => caller.keys.clear(),
            Some(Canary::IgnoresRevocation) => caller.credential = None,
            Some(Canary::ForgetsExpiry) => {
                if let Request::Call(Value::Object(members)) = &ask.request {
                    let mut members = members.clone();
                    members.remove("ttl_seconds");
                    *sent = Value::Object(members).to_string().into_bytes();
                }
            }
            Some(Canary::ReversesProposals) => {
                if let Request::Call(call) = &ask.request {
                    let mut call = call.clone();
                    if let Some(deltas) = call.get_mut("deltas").and_then(Value::as_array_mut) {
                        deltas.reverse();
                        *sent = call.to_string().into_bytes();
                    }
                }
            }
            _ => {}
        }
    }

    /// The answer as it is told where something is broken on purpose.
    pub(super) fn broken(
        &self,
        ask: &Ask,
        bytes: &[u8],
        answer: Result<Reply, Failure>,
    ) -> Result<Reply, Failure> {
        match (self.canary, answer) {
            (Some(Canary::KeepsVersion), Ok(mut reply)) if ask.action() == "write" => {
                let body =
                    String::from_utf8_lossy(&reply.body).replace("\"version\":2", "\"version\":1");
                reply.body = body.into_bytes();
                Ok(reply)
            }
            (Some(Canary::TellsValues), Err(mut failure)) => {
                let value = match &ask.request {
                    Request::Call(call) => call.get("value").and_then(Value::as_str),
                    Request::Raw { .. } => None,
                };
                failure.message += value.unwrap_or_default();
                Err(failure)
            }
            (Some(Canary::LeavesProvenances), Ok(mut reply)) if ask.action() == "read_deltas" => {
                // What the generator gives as the reason of every delta.
                let body = String::from_utf8_lossy(&reply.body);
                let body = body.replace(
                    "\"provenance\":\"redacted:2dfb322f8dde50c5\"",
                    "\"provenance\":\"as seen\"",
                );
                reply.body = body.into_bytes();
                Ok(reply)
            }
            (Some(Canary::MixesSessions), Ok(reply)) if ask.action() == "read" => {
                let mut known = self.answers.borrow_mut();
                let known = known.entry((ask.who(), bytes.to_vec()));
                Ok(known.or_insert(reply).clone())
            }
            (_, answer) => answer,
        }
    }
}
