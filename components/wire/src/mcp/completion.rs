//! Completion of arguments of templates and prompts.
//!
//! # Invariant
//!
//! Only values that the caller could have listed are suggested.

use std::collections::BTreeSet;

use rmcp::model::CompletionInfo;
use serde::Serialize;

use super::{
    Context, MethodResult, Rejection,
    fault::Fault,
    params::Params,
    prompts,
    resources::{KeyList, list_keys},
    uri::{ENTRY_TEMPLATE, KEYS_TEMPLATE},
};
use crate::{Engine, credential::Identity, http::position_before};
use shared_context_core::ScopeKind;

/// Kind of an argument that is completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArgumentKind {
    Key,
    Session,
    Participant,
    /// Free text, without suggestions.
    Free,
}

/// `completion/complete`: returns at most 100 values. Values that begin with the typed text come
/// first, then those that contain it; each group keeps the order of its source.
///
/// # Errors
///
/// Invalid params (-32602): there is no such template, prompt or argument; the session is missing,
/// or is not the credential's. Errors of the session.
pub(crate) async fn complete<E: Engine>(
    context: &Context<'_, E>,
    params: &Params<'_>,
) -> Result<MethodResult, Rejection> {
    #[derive(Serialize)]
    struct CompleteResult {
        completion: CompletionInfo,
    }
    let argument = object(params, "argument")?;
    let argument_kind = argument_kind(&object(params, "ref")?, &argument.required_text("name")?)?;
    let typed = argument.required_text("value")?;
    let context_params = Params::parse(params.get("context"), "context")?;
    let filled_in = Params::parse(context_params.get("arguments"), "context.arguments")?;
    let named = filled_in.text("session")?.filter(|it| !it.is_empty());
    let completion = match argument_kind {
        ArgumentKind::Free => rank(&typed, []),
        ArgumentKind::Session => sessions(context, &typed).await?,
        ArgumentKind::Key => {
            let reply = list_keys(context, context.session(named.as_deref())?).await?;
            rank(&typed, KeyList::of(&reply)?.keys.iter().map(|it| it.key))
        }
        ArgumentKind::Participant => {
            let reply = list_keys(context, context.session(named.as_deref())?).await?;
            let listing = KeyList::of(&reply)?;
            let writers: BTreeSet<&str> = listing.keys.iter().map(|it| it.written_by).collect();
            let orchestrator = "orchestrator";
            let others = writers.into_iter().filter(|it| *it != orchestrator);
            rank(&typed, [orchestrator].into_iter().chain(others))
        }
    };
    MethodResult::new(&CompleteResult { completion })
}

/// Parses the object `name`.
fn object<'b>(params: &Params<'b>, name: &str) -> Result<Params<'b>, Fault> {
    match params.get(name) {
        Some(raw) => Params::parse(Some(raw), name),
        None => Err(Fault::invalid_params(format!("{name} is missing"))),
    }
}

/// Returns the kind of the argument `name` of `reference`.
fn argument_kind(reference: &Params<'_>, name: &str) -> Result<ArgumentKind, Fault> {
    let unknown = |template: &str| {
        let shown: String = name.chars().take(80).collect();
        Fault::invalid_params(format!("{template} has no argument {shown:?}"))
    };
    match &*reference.required_text("type")? {
        "ref/resource" => match (&*reference.required_text("uri")?, name) {
            (ENTRY_TEMPLATE, "key") => Ok(ArgumentKind::Key),
            (ENTRY_TEMPLATE | KEYS_TEMPLATE, "session") => Ok(ArgumentKind::Session),
            (template @ (ENTRY_TEMPLATE | KEYS_TEMPLATE), _) => Err(unknown(template)),
            _ => Err(Fault::invalid_params(format!(
                "ref.uri is no template of this server; there are {ENTRY_TEMPLATE} and \
                 {KEYS_TEMPLATE}"
            ))),
        },
        "ref/prompt" => match (&*reference.required_text("name")?, name) {
            (prompts::NAME, "participant") => Ok(ArgumentKind::Participant),
            (prompts::NAME, "session") => Ok(ArgumentKind::Session),
            (prompts::NAME, name) if prompts::is_argument(name) => Ok(ArgumentKind::Free),
            (prompts::NAME, name) => Err(prompts::unknown_argument(name)),
            (unknown, _) => Err(prompts::unknown(unknown)),
        },
        _ => Err(Fault::invalid_params("ref.type must be ref/prompt or ref/resource")),
    }
}

/// Returns the sessions that begin with `typed`: the credential's own, or the first of all with the
/// admin key.
async fn sessions<E: Engine>(
    context: &Context<'_, E>,
    typed: &str,
) -> Result<CompletionInfo, Rejection> {
    let found = match context.identity {
        Identity::Participant(grant) => vec![grant.scope.id().to_owned()],
        Identity::Admin => {
            let before = position_before(typed);
            let limit = CompletionInfo::MAX_VALUES.saturating_add(1);
            context.engine.ids(ScopeKind::Session, before.as_deref(), limit).await?
        }
    };
    let found: Vec<String> = found.into_iter().filter(|it| it.starts_with(typed)).collect();
    let is_all = found.len() <= CompletionInfo::MAX_VALUES;
    let total = is_all.then_some(found.len());
    Ok(completion_info(found, total, !is_all))
}

/// Returns the `known` values that begin with `typed`, then those that contain it.
fn rank<'k>(typed: &str, known: impl IntoIterator<Item = &'k str>) -> CompletionInfo {
    let fitting = known.into_iter().filter(|it| it.contains(typed));
    let (mut values, others): (Vec<&str>, Vec<&str>) =
        fitting.partition(|it| it.starts_with(typed));
    values.extend(others);
    let total = values.len();
    let has_more = total > CompletionInfo::MAX_VALUES;
    completion_info(values.into_iter().map(str::to_owned).collect(), Some(total), has_more)
}

/// Builds the result from the first of `values`; `total` is their number, if known.
fn completion_info(
    mut values: Vec<String>,
    total: Option<usize>,
    has_more: bool,
) -> CompletionInfo {
    values.truncate(CompletionInfo::MAX_VALUES);
    let mut completion_info = CompletionInfo::default();
    completion_info.values = values;
    completion_info.total = total.and_then(|it| u32::try_from(it).ok());
    completion_info.has_more = Some(has_more);
    completion_info
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_the_typed_prefix_come_first() {
        #[track_caller]
        fn check(typed: &str, expected: &[&str]) {
            let known = ["constraints", "findings_a", "open_findings", "plan", "scope"];
            let seen = rank(typed, known);
            assert_eq!(seen.values, expected, "{typed}");
            assert_eq!(seen.total.unwrap() as usize, expected.len());
            assert_eq!(seen.has_more, Some(false));
        }
        check("", &["constraints", "findings_a", "open_findings", "plan", "scope"]);
        check("find", &["findings_a", "open_findings"]);
        check("op", &["open_findings", "scope"]);
        check("plan", &["plan"]);
        check("plans", &[]);
        check("Plan", &[]);
    }

    #[test]
    fn at_most_a_hundred_values_are_suggested_of_a_counted_total() {
        let keys: Vec<String> = (0..=100).map(|it| format!("k{it:03}")).collect();
        let seen = rank("k", keys.iter().map(String::as_str));
        assert_eq!((seen.values.len(), seen.total, seen.has_more), (100, Some(101), Some(true)));
        assert_eq!(seen.values.last().unwrap(), "k099");
        let seen = rank("k", keys.iter().skip(1).map(String::as_str));
        assert_eq!((seen.values.len(), seen.total, seen.has_more), (100, Some(100), Some(false)));
    }

    #[test]
    fn no_session_with_the_prefix_is_skipped() {
        for prefix in ["", "A", "a", "capa-", "capa", "z", "0", ".", "-", "é", "\0"] {
            let before = position_before(prefix);
            for id in ["0", "A", "Z9", "a", "capa", "capa-", "capa-1", "capa.", "capaz", "z"] {
                let is_seen = before.as_deref().is_none_or(|it| id > it);
                assert!(is_seen || !id.starts_with(prefix), "{prefix} {before:?} misses {id}");
            }
        }
        assert_eq!(position_before("capa-").as_deref(), Some("capa,~"));
        assert_eq!(position_before(""), None);
    }
}
