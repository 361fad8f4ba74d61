//! The core and the codec in process. A restart does nothing, because all state is in the storage.

use serde_json::Value;
use shared_context_codec as codec;

use crate::{
    case::Storage,
    fault::{ENCODINGS, World},
    target::{Credential, Target, TargetError, TargetKind, token},
};

/// Returns the target `core`.
pub(super) fn kind() -> TargetKind {
    TargetKind {
        name: "core",
        speaks_http: false,
        faults: &Storage::FAULTS,
        joins_headers: false,
        encodings: &ENCODINGS,
        changes_encodings: true,
        sets_clock: true,
        keeps_state: true,
        start: Box::new(|_| Ok(Box::new(Core::default()))),
    }
}

#[derive(Debug, Default)]
struct Core(World);

impl Target for Core {
    fn credential(
        &mut self,
        scope: &str,
        participant: &str,
        keys: &[String],
    ) -> Result<Credential, TargetError> {
        token::issue(self, scope, participant, keys)
    }

    fn invoke(
        &mut self,
        scope: &str,
        credential: &Credential,
        request: &[u8],
    ) -> Result<Vec<u8>, TargetError> {
        let caller = token::caller(credential)?;
        let world = &self.0;
        codec::invoke(&world.ports(), scope, &caller, request)
            .map(|reply| reply.body)
            .map_err(|failure| TargetError::Rejected(failure.to_json()))
    }

    fn restart(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn set_clock(&mut self, now_ms: u64) {
        self.0.set_clock(now_ms);
    }

    fn set_storage(&mut self, storage: Storage) -> Result<(), String> {
        self.0.set_storage(storage);
        Ok(())
    }

    fn set_encodings(&mut self, names: &[String]) -> Result<(), String> {
        self.0.set_encodings(names);
        Ok(())
    }

    fn logged(&mut self) -> Option<Vec<Value>> {
        Some(self.0.take_records())
    }
}
