//! One request in both protocol eras: the replies must be equal apart from the members that
//! the modern version adds.

use serde_json::{Value, json};

use crate::bench::{Bench, TestResponse};

/// A result without the members of every modern result, and its cache hints.
#[derive(Debug)]
pub(crate) struct CacheableResult {
    pub(crate) result: Value,
    pub(crate) ttl_ms: Option<u64>,
    pub(crate) cache_scope: Option<String>,
}

impl Bench {
    /// Makes a request in both eras and returns its result, which must be the same.
    #[track_caller]
    pub(crate) fn result_in_both_eras(
        &self,
        token: &str,
        method: &str,
        params: Value,
    ) -> CacheableResult {
        let reply = self.cacheable_result(token, method, params.clone());
        let older = self.legacy_result(token, None, method, params);
        assert_eq!(older, reply.result, "{method}");
        reply
    }

    /// Makes a request in 2026-07-28 and returns its result.
    #[track_caller]
    pub(crate) fn cacheable_result(
        &self,
        token: &str,
        method: &str,
        params: Value,
    ) -> CacheableResult {
        let mut result = self.modern_result(token, method, params);
        let members = result.as_object_mut().unwrap();
        assert_eq!(members.remove("resultType").unwrap(), "complete", "{method}");
        let meta = members.remove("_meta").unwrap();
        assert_eq!(meta["io.modelcontextprotocol/serverInfo"]["name"], "shared-context");
        let ttl_ms = members.remove("ttlMs").map(|it| it.as_u64().unwrap());
        let cache_scope = members.remove("cacheScope").map(|it| it.as_str().unwrap().to_owned());
        assert_eq!(ttl_ms.is_some(), cache_scope.is_some(), "{method}: both or none");
        CacheableResult { result, ttl_ms, cache_scope }
    }

    /// Makes a request in both eras and returns its error, which must be the same.
    #[track_caller]
    pub(crate) fn error_in_both_eras(&self, token: &str, method: &str, params: Value) -> Value {
        let [modern, legacy] = self.errors_by_era(token, method, params);
        assert_eq!(modern, legacy, "{method}");
        modern
    }

    /// Makes a request in 2026-07-28 and in 2025-11-25 and returns the errors.
    #[track_caller]
    pub(crate) fn errors_by_era(&self, token: &str, method: &str, params: Value) -> [Value; 2] {
        [
            error(&self.modern(token, method, params.clone())),
            error(&self.legacy(token, None, method, params)),
        ]
    }

    /// Sends `request` to the JSON tool of the session `s`. It must succeed.
    #[track_caller]
    pub(crate) fn use_tool(&self, token: &str, request: &Value) {
        let target = "POST /v1/sessions/s/shared_context";
        self.check_as(token, target, &[], &request.to_string(), 200, "");
    }
}

impl CacheableResult {
    /// Checks the cache hints of the result.
    #[track_caller]
    pub(crate) fn check_cacheable(&self, ttl_ms: u64, cache_scope: &str) {
        assert_eq!((self.ttl_ms, self.cache_scope.as_deref()), (Some(ttl_ms), Some(cache_scope)));
    }
}

/// Returns the JSON-RPC error in `seen`, a response with status 200 and id 1.
#[track_caller]
pub(crate) fn error(seen: &TestResponse) -> Value {
    assert_eq!(seen.status, 200, "{seen:?}");
    assert_eq!(seen.header("content-type"), "application/json");
    let mut answer = seen.json();
    assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(1)), "{seen:?}");
    let error = answer["error"].take();
    assert!(error["code"].is_i64() && error["message"].is_string(), "{seen:?}");
    error
}
