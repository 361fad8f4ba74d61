//! Canaries that change requests and answers, as a buggy core or codec would.

use serde_json::Value;
use shared_context_codec::{self as codec, Caller, Effect, Failure, Reply};
use shared_context_core::{self as core, Key, Outcome, reply::Written};

use super::World;
use crate::{
    canary::Canary,
    script::{Payload, Request},
};

impl World {
    /// Changes a request as the canary requires.
    pub(super) fn break_request(&self, request: &Request, caller: &mut Caller, sent: &mut Vec<u8>) {
        match self.canary {
            Some(Canary::IgnoresLimits) => caller.keys.clear(),
            Some(Canary::ExportsToAll) if request.action() == "export_evidence" => {
                "admin".clone_into(&mut caller.participant);
                caller.keys.clear();
            }
            Some(Canary::IgnoresRevocation) => caller.credential = None,
            Some(Canary::ForgetsExpiry) => {
                if let Payload::Call(Value::Object(members)) = &request.payload {
                    let mut members = members.clone();
                    members.remove("ttl_seconds");
                    *sent = Value::Object(members).to_string().into_bytes();
                }
            }
            Some(Canary::ReversesProposals) => {
                if let Payload::Call(call) = &request.payload {
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

    /// Changes an answer as the canary requires.
    pub(super) fn break_answer(
        &self,
        request: &Request,
        bytes: &[u8],
        answer: Result<Reply, Failure>,
    ) -> Result<Reply, Failure> {
        match (self.canary, answer) {
            (Some(Canary::KeepsVersion), Ok(mut reply)) if request.action() == "write" => {
                let body =
                    String::from_utf8_lossy(&reply.body).replace("\"version\":2", "\"version\":1");
                reply.body = body.into_bytes();
                Ok(reply)
            }
            (Some(Canary::HidesFromTheOrchestrator), Ok(mut reply))
                if request.action() == "list_keys" && !self.is_comparing.get() =>
            {
                if let Ok(mut body) = serde_json::from_slice::<Value>(&reply.body)
                    && let Some(keys) = body.get_mut("keys").and_then(Value::as_array_mut)
                {
                    keys.retain(|it| it.get("readable") != Some(&Value::Bool(false)));
                    reply.body = body.to_string().into_bytes();
                }
                Ok(reply)
            }
            (Some(Canary::ForgetsOthersVersions), Ok(mut reply))
                if request.action() == "read_history" =>
            {
                if let Ok(mut body) = serde_json::from_slice::<Value>(&reply.body)
                    && let Some(all) = body.get_mut("versions").and_then(Value::as_array_mut)
                {
                    let writer = all.last().and_then(|it| it.get("written_by")).cloned();
                    all.retain(|it| it.get("written_by") == writer.as_ref());
                    reply.body = body.to_string().into_bytes();
                }
                Ok(reply)
            }
            (Some(Canary::ForgetsTheFirst), Ok(mut reply)) if request.action() == "audit" => {
                if let Ok(mut body) = serde_json::from_slice::<Value>(&reply.body)
                    && let Some(all) = body.get_mut("records").and_then(Value::as_array_mut)
                    && let Some(who) = all.first().and_then(|it| it.get("written_by")).cloned()
                    && all.iter().skip(1).any(|it| it.get("written_by") == Some(&who))
                {
                    all.remove(0);
                    reply.body = body.to_string().into_bytes();
                }
                Ok(reply)
            }
            (Some(Canary::SettlesConditions), Err(failure)) => {
                self.met_condition(request, &failure).ok_or(failure)
            }
            (Some(Canary::TellsValues), Err(mut failure)) => {
                let value = match &request.payload {
                    Payload::Call(call) => call.get("value").and_then(Value::as_str),
                    Payload::Raw { .. } => None,
                };
                failure.message += value.unwrap_or_default();
                Err(failure)
            }
            (Some(Canary::LeavesProvenances), Ok(mut reply))
                if request.action() == "read_deltas" =>
            {
                // The provenance that the generator gives every delta.
                let body = String::from_utf8_lossy(&reply.body);
                let body = body.replace(
                    "\"provenance\":\"redacted:2dfb322f8dde50c5\"",
                    "\"provenance\":\"as seen\"",
                );
                reply.body = body.into_bytes();
                Ok(reply)
            }
            (Some(Canary::MixesSessions), Ok(reply)) if request.action() == "read" => {
                let mut known = self.answers.borrow_mut();
                let known = known.entry((request.who(), bytes.to_vec()));
                Ok(known.or_insert(reply).clone())
            }
            (_, answer) => answer,
        }
    }

    /// Returns the answer of a core that accepts a failed condition if the value is already there.
    fn met_condition(&self, request: &Request, failure: &Failure) -> Option<Reply> {
        let Payload::Call(call) = &request.payload else { return None };
        let bucket = self.bucket(&request.session);
        let key = Key::parse(call.get("key")?.as_str()?).ok()?;
        let stored = bucket.session.as_ref()?.entries.get(&key)?;
        let is_conflict = failure.code == "VERSION_CONFLICT" && request.action() == "write";
        if !is_conflict || *call.get("value")? != *stored.value {
            return None;
        }
        let (entry, revision) = (stored.entry.clone(), stored.entry.revision);
        let reply = core::Reply::Written(Written { entry, warnings: Vec::new() });
        let body = codec::to_json(&Outcome { revision, reply, next_expiry: None }).into_bytes();
        Some(Reply {
            revision: revision.0,
            body,
            effect: Effect::Done,
            next_expiry_ms: bucket.first_expiry(),
        })
    }
}
