//! Text for a participant's system prompt (spec 6): its identity, the key conventions,
//! the write discipline and the read pattern.
//!
//! The text contains nothing that agents stored. Invariant: the text never exceeds its
//! budget, and the reply names the parts that did not fit.

use crate::{
    Error, key,
    namespace::Namespace,
    participant::{Participant, Role},
    pattern::KeyPatterns,
    tokens::Tokens,
};

/// The budget when none is given.
pub const PROMPT_TOKENS_DEFAULT: Tokens = Tokens(1_000);

/// A rendered prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The text.
    pub text: String,
    /// Its size.
    pub tokens: Tokens,
    /// The budget it was given.
    pub max_tokens: Tokens,
    /// The parts that did not fit, in the order they were left out.
    pub left_out: Vec<&'static str>,
}

/// The write discipline (spec 6.2).
const DISCIPLINE: &str = "\
When writing to shared_context:

DO store:
  - Conclusions and current state
  - User decisions with brief rationale
  - Distilled findings (the \"so what\", not the raw data)
  - Active references (IDs, not full content — re-fetch if needed)
  - Open questions and blockers
  - Status of in-progress work

Do NOT store:
  - Raw data, full documents, or chat transcripts
  - Content that belongs in the formal record/database
  - PII or sensitive data (names, identifiers, credentials)
  - Full text of external sources (store reference IDs, re-fetch as needed)
  - Intermediate reasoning or scratch work

Discipline:
  - If a value exceeds ~500 tokens, consider whether you're storing
    raw data rather than conclusions. Distill further.
  - Update existing keys rather than creating new ones for the same concept.
  - After writing a deliverable to shared_context, also write it to the
    formal record if it's a reviewable artifact.
  - Delete keys that are no longer relevant (e.g., resolved open_questions).
";

/// The write discipline in short.
const DISCIPLINE_BRIEF: &str = "\
When writing to shared_context: store conclusions, decisions, open questions and status;
never raw data, transcripts, full documents, scratch work, credentials or personal data.
Update existing keys; delete what is settled. Write deliverables to the formal record too.
";

/// The read pattern (spec 6.3).
const READING: &str = "\
When reading from shared_context:

  1. Always call list_keys first to see what's available.
  2. Read only keys relevant to your current task.
  3. Use value_size_tokens to decide whether a key is worth reading
     — large values may not be relevant to your specific task.
  4. If a key was written_by a previous subagent and is marked as
     approved/validated by the user (check phase_status or decisions_made),
     treat it as authoritative.
  5. If a key was written_by a subagent and is still in draft state,
     treat it as input to your reasoning, not as settled fact.
  6. If you need information not present in shared_context,
     use other tools (database read, search, etc.). Shared context
     is a cache of distilled state, not the source of truth.
";

/// The read pattern in short.
const READING_BRIEF: &str = "\
When reading from shared_context: call list_keys first, read only what your task needs.
What the user approved is authoritative; drafts are input. It is a cache, not the source of truth.
";

/// The instructions on rounds for a participant.
const ROUNDS: &str = "\
The agents of this session agree on one JSON state in rounds: read the state first; while a round
is open, propose deltas with the reason for each; closing the round merges them.
";

/// The instructions on packets for a worker.
const PACKETS_OF_AGENTS: &str = "\
You may have a packet, what is known for your task. Begin with context_packets, action context_read;
follow its constraints, and do not decide again what it has decided. If you lack something, ask with
context_query. At the end send context_feedback: what you lacked, what you did not use, the outcome.
";

/// The instructions on packets for the orchestrator.
const PACKETS_OF_ORCHESTRATORS: &str = "\
Before you launch a subagent, give it a packet: context_packets_manage, action context_generate, with
its task, its address and a depth (minimal for a simple task, deep for a risky one). Tell the subagent
to read its packet first. Afterwards context_stats shows what packets of that kind lacked.
";

/// The level of detail of the key conventions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Conventions {
    Full,
    WithoutShapes,
    KeysOnly,
    None,
}

/// The forms of the prompt, from longest to shortest. Each starts with the name of the
/// part it leaves out compared to the previous form.
const FORMS: [(&str, Conventions, &str, &str); 6] = [
    ("", Conventions::Full, DISCIPLINE, READING),
    ("shapes and sizes of keys", Conventions::WithoutShapes, DISCIPLINE, READING),
    ("write discipline in full", Conventions::WithoutShapes, DISCIPLINE_BRIEF, READING),
    ("read pattern in full", Conventions::WithoutShapes, DISCIPLINE_BRIEF, READING_BRIEF),
    ("purposes of keys", Conventions::KeysOnly, DISCIPLINE_BRIEF, READING_BRIEF),
    ("key conventions", Conventions::None, DISCIPLINE_BRIEF, READING_BRIEF),
];

/// Renders the prompt for `participant`, which is limited to the `granted` keys, in a session that
/// offers the sets of `tools`. Uses the longest form that fits `max_tokens`, as counted by `count`.
///
/// # Errors
///
/// [`Error::Malformed`] if even the shortest form does not fit; it names the size of that
/// form. Errors of `count`.
pub fn render(
    participant: &Participant,
    granted: &KeyPatterns,
    namespace: &Namespace,
    tools: &[String],
    count: impl Fn(&str) -> Result<Tokens, Error>,
    max_tokens: Tokens,
) -> Result<Rendered, Error> {
    let mut left_out = Vec::new();
    let mut longer = String::new();
    let opening = opening(participant, granted, tools);
    for (step, conventions, discipline, reading) in FORMS {
        let keys = keys(namespace, granted, conventions);
        let text = [opening.clone(), keys, discipline.to_owned()]
            .into_iter()
            .chain([reading.to_owned()])
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("\n");
        if !step.is_empty() && text != longer {
            left_out.push(step);
        }
        let tokens = count(&text)?;
        if tokens <= max_tokens {
            return Ok(Rendered { text, tokens, max_tokens, left_out });
        }
        longer = text;
    }
    Err(Error::malformed(format!(
        "max_tokens is {}; the shortest prompt has {}: give it that many or more",
        max_tokens.0,
        count(&longer)?
    )))
}

/// Returns the participant's identity and the instructions for its role and credential.
fn opening(participant: &Participant, granted: &KeyPatterns, tools: &[String]) -> String {
    let who = match participant.role() {
        Role::Orchestrator => {
            "You are the orchestrator. Your session has a working memory that you share with the \
             subagents\nyou launch: the tool shared_context. Before launching one, write what it \
             needs to know; after it\ncompletes, list_keys, bring open_questions to the user, \
             record decisions, delete what is settled."
        }
        Role::Agent => {
            "Your session has a working memory that you share with the orchestrator and its other \
             subagents:\nthe tool shared_context. Read what your task needs before you start; \
             before you complete, write\nyour conclusions and open questions: nothing else of \
             your work survives."
        }
        Role::Admin => {
            "You operate this session. You can read its working memory, shared_context, but not \
             write to it."
        }
    };
    let name = match participant.role() {
        Role::Agent => format!("You are {participant}. "),
        Role::Orchestrator | Role::Admin => String::new(),
    };
    let limit = if granted.is_every_key() {
        String::new()
    } else {
        format!(
            "You can read and write only keys that match {granted}; no others are there for you.\n"
        )
    };
    let own = match participant.task().and_then(key::similar) {
        Some(task) if granted.is_every_key() => format!(
            "What several agents have each, such as findings, goes under keys that begin with the \
             task:\nyours are {task}_findings, {task}_open_questions and the like.\n"
        ),
        _ => String::new(),
    };
    let has = |set: &str| tools.iter().any(|it| it == set);
    let rounds = if has("delta_rounds") && granted.is_every_key() { ROUNDS } else { "" };
    let packets = match participant.role() {
        Role::Agent if has("context_packets") => PACKETS_OF_AGENTS,
        Role::Orchestrator if has("context_packets") => PACKETS_OF_ORCHESTRATORS,
        _ => "",
    };
    format!("{name}{who}\n{limit}{own}{rounds}{packets}")
}

/// Returns the conventions for `granted` keys as in spec 6.1, or an empty text if no convention
/// applies.
fn keys(namespace: &Namespace, granted: &KeyPatterns, conventions: Conventions) -> String {
    let keys = || namespace.keys.iter().filter(|it| granted.has(&it.key));
    if conventions == Conventions::None || keys().next().is_none() {
        return String::new();
    }
    let width = keys().map(|it| it.key.as_str().len()).max().unwrap_or(0);
    let mut lines = vec!["Shared context key conventions:".to_owned()];
    let mut group = None;
    for it in keys() {
        if group.replace(it.group.as_str()) != Some(it.group.as_str()) {
            lines.extend([String::new(), format!("{}:", it.group)]);
        }
        lines.push(match conventions {
            Conventions::KeysOnly => format!("  {}", it.key),
            _ => format!("  {:width$} - {}", it.key.as_str(), it.purpose),
        });
        let tokens = it.recommended_tokens.map(|it| format!("about {it}"));
        let notes: Vec<String> = it.shape.clone().into_iter().chain(tokens).collect();
        if conventions == Conventions::Full && !notes.is_empty() {
            lines.push(format!("  {:width$}   [{}]", "", notes.join("; ")));
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(who: &str, max_tokens: u32) -> Result<Rendered, Error> {
        rendered_for(who, &[], max_tokens)
    }

    fn rendered_for(who: &str, keys: &[&str], max_tokens: u32) -> Result<Rendered, Error> {
        rendered_with(who, keys, &[], max_tokens)
    }

    fn rendered_with(
        who: &str,
        keys: &[&str],
        tools: &[&str],
        max_tokens: u32,
    ) -> Result<Rendered, Error> {
        let (who, keys) = (Participant::parse(who)?, KeyPatterns::parse(keys)?);
        let tools: Vec<String> = tools.iter().map(|it| (*it).to_owned()).collect();
        let count = |text: &str| Ok(crate::tokens::approximate(text));
        render(&who, &keys, &Namespace::template(), &tools, count, Tokens(max_tokens))
    }

    /// A text about tools that are not listed would make an agent try calls that fail.
    #[test]
    fn sets_of_tools_are_explained_where_they_are_offered() {
        let tools = ["delta_rounds", "context_packets"];
        let text = |who, keys: &[&str], tools: &[&str]| {
            let it = rendered_with(who, keys, tools, PROMPT_TOKENS_DEFAULT.0).unwrap();
            assert_eq!(it.left_out, Vec::<&str>::new(), "{who}");
            it.text
        };
        let (worker, orchestrator) = ("subagent:root-cause_analysis:3", "orchestrator");
        for (set, of_worker, of_orchestrator) in [
            ("delta_rounds", "propose deltas", "propose deltas"),
            ("context_packets", "action context_read", "action context_generate"),
        ] {
            for (who, part) in [(worker, of_worker), (orchestrator, of_orchestrator)] {
                assert!(text(who, &[], &tools).contains(part), "{who} {set}");
                assert!(text(who, &[], &[set]).contains(part), "{who} {set}");
                assert!(!text(who, &[], &[]).contains(part), "{who} {set}");
            }
        }
        assert!(!text("admin", &[], &tools).contains("context_packets"));
        let limited = text(worker, &["findings_*"], &tools);
        assert!(limited.contains("action context_read") && !limited.contains("deltas"));
    }

    #[test]
    fn a_limited_participant_sees_its_limit_and_no_other_keys() {
        let it = rendered_for("subagent:a", &["findings_*", "scope"], 1_000).unwrap();
        let limit = "only keys that match findings_*, scope; no others are there for you.\n";
        assert!(it.text.contains(limit), "{}", it.text);
        let conventions = "\nProblem definition:\n  scope            - boundaries of the work\n\n\
                           Findings:\n  findings_summary - key findings so far";
        assert!(it.text.contains(conventions), "{}", it.text);
        for key in ["current_phase", "State keys", "constraints", "quality_checks"] {
            assert!(!it.text.contains(key), "{}", it.text);
        }
        let it = rendered_for("subagent:a", &["inv_*"], 1_000).unwrap();
        assert!(it.text.contains("inv_*") && !it.text.contains("conventions"), "{}", it.text);
        let everyone = rendered("subagent:a", 1_000).unwrap();
        assert!(!everyone.text.contains("only keys that match"), "{}", everyone.text);
        let shortest = rendered_for("subagent:a", &["inv_*"], 210).unwrap();
        assert!(shortest.text.contains("inv_*"), "the key limit is never left out");
    }

    #[test]
    fn the_whole_template_fits_the_default_budget() {
        for who in ["orchestrator", "subagent:root-cause_analysis:3", "admin"] {
            let it = rendered(who, PROMPT_TOKENS_DEFAULT.0).unwrap();
            assert_eq!(it.left_out, Vec::<&str>::new());
            assert!(
                it.text.contains("  open_questions      - unresolved questions"),
                "{}",
                it.text
            );
        }
    }

    #[test]
    fn a_prompt_fits_its_budget_or_is_rejected() {
        for max_tokens in 0..1_000 {
            match rendered("subagent:analysis", max_tokens) {
                Ok(it) => assert!(it.tokens.0 <= max_tokens && !it.text.is_empty()),
                Err(err) => assert!(err.to_string().contains("the shortest prompt has"), "{err}"),
            }
        }
        let shortest = rendered("subagent:analysis", 250).unwrap();
        assert!(shortest.left_out.ends_with(&["purposes of keys", "key conventions"]));
    }
}
