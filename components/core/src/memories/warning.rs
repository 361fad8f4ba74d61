//! Warnings about a new memory. They are part of the reply and do not affect what is stored.

use super::{Memory, memory::NewMemory};
use crate::{closed_list::closed_list, store::warning};

closed_list! {
    /// The kinds of warnings about a memory.
    MemoryWarningCode "warning" {
        SimilarMemory "SIMILAR_MEMORY": "Another memory says nearly the same, or is of the same subject.";
        Recalled "RECALLED": "It repeats a memory that this session was shown.";
        LooksSensitive "LOOKS_SENSITIVE": "It looks like a credential or personal data.";
        LooksRaw "LOOKS_RAW": "It looks like raw data.";
        Unverified "UNVERIFIED": "It counts only once an orchestrator confirms it.";
        AlreadyStored "ALREADY_STORED": "A memory with the same words is there already; nothing was added.";
    }
}

/// A warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryWarning {
    /// The kind, for programs.
    pub code: MemoryWarningCode,
    /// The text, for agents. It never repeats the memory.
    pub message: String,
}

impl MemoryWarning {
    pub(crate) fn new(code: MemoryWarningCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// Returns the warnings about the text of a new memory.
pub(crate) fn on_text(it: &NewMemory) -> Vec<MemoryWarning> {
    let text = [it.title.as_str(), "\n", &it.content.text()].concat();
    let mut warnings = Vec::new();
    if let Some(what) = warning::sensitive_kind(&text) {
        warnings.push(MemoryWarning::new(
            MemoryWarningCode::LooksSensitive,
            format!(
                "it looks as if it held {what}; everyone in the project can read it, for years: \
                 store a role, a record id or a reference instead"
            ),
        ));
    }
    if let Some(what) = warning::raw_kind(&text) {
        warnings.push(MemoryWarning::new(
            MemoryWarningCode::LooksRaw,
            format!("it looks like {what}; store what follows from it, and where to find it"),
        ));
    }
    warnings
}

/// Returns the warning that a memory is nearly equal to `other`, or about its subject.
pub(crate) fn on_like(other: &Memory, is_repetition: bool, is_recalled: bool) -> MemoryWarning {
    let (id, says) =
        (other.id, if is_repetition { "says nearly the same" } else { "has this subject" });
    if is_recalled && is_repetition {
        return MemoryWarning::new(
            MemoryWarningCode::Recalled,
            format!(
                "this session was shown memory {id}, which says the same; store only what is new, \
                 or memories multiply with every session"
            ),
        );
    }
    MemoryWarning::new(
        MemoryWarningCode::SimilarMemory,
        format!(
            "memory {id} {says}; update_memory changes it, and supersedes in a new memory replaces \
             it"
        ),
    )
}

/// Returns the warning that the same memory is stored already, with what was not done if the new one
/// was to replace others.
pub(crate) fn already_stored(it: &Memory, replaces: bool) -> MemoryWarning {
    let state = if it.is_marked {
        "; it is marked for deletion, mark_memories as active keeps it"
    } else if it.archived_at.is_some() {
        "; it is archived, mark_memories as active restores it"
    } else {
        ""
    };
    let trust = if it.is_verified {
        ""
    } else {
        "; it is not verified, so rehydrate leaves it out until the orchestrator calls mark_memories \
         as verified"
    };
    let replaced = if replaces {
        "; so none was superseded: supersede_memory does that, with this memory as by"
    } else {
        ""
    };
    MemoryWarning::new(
        MemoryWarningCode::AlreadyStored,
        format!("memory {} has the same words, so none was added{replaced}{state}{trust}", it.id),
    )
}

/// Returns the warning that a memory is not verified.
pub(crate) fn unverified() -> MemoryWarning {
    MemoryWarning::new(
        MemoryWarningCode::Unverified,
        "rehydrate leaves it out until the orchestrator confirms it: mark_memories, \
         verified",
    )
}
