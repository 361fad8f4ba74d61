//! The reply with the summary of a session.

use serde::Deserialize;
use serde_json::Value;
use twox_hash::XxHash3_64;

use super::super::output::counted;

/// Reply of `session_summary`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct SessionSummary {
    /// The summary as Markdown.
    pub(crate) text: String,
    summary: Summary,
    omitted: Vec<LeftOut>,
    omitted_count: u64,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Summary {
    decisions_made: Vec<Proposal>,
    issues_encountered: Vec<Proposal>,
    current_state: Option<Proposal>,
    learnings: Vec<Proposal>,
    session_metadata: Metadata,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Proposal {
    number: u64,
    /// The memory in the form in which it is added.
    pub(crate) memory: Value,
    /// The writer of the entry that its words are from.
    pub(crate) written_by: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Metadata {
    project_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct LeftOut {
    number: u64,
}

impl SessionSummary {
    /// Returns the session's project.
    pub(crate) fn project(&self) -> Option<&str> {
        self.summary.session_metadata.project_id.as_deref()
    }

    /// Returns the memories with these numbers, or all if none is named.
    ///
    /// # Errors
    ///
    /// The first number that the summary does not have.
    pub(crate) fn chosen(&self, numbers: &[u64]) -> Result<Vec<&Proposal>, u64> {
        let all: Vec<&Proposal> = self.proposals().collect();
        if let Some(unknown) = numbers.iter().find(|it| !all.iter().any(|one| one.number == **it)) {
            return Err(*unknown);
        }
        let is_chosen = |it: &&Proposal| numbers.is_empty() || numbers.contains(&it.number);
        Ok(all.into_iter().filter(is_chosen).collect())
    }

    /// Returns a code of the proposals and their numbers: another one, if any of them is.
    pub(crate) fn code(&self) -> String {
        let text = |it: &Proposal| format!("{} {}\n", it.number, it.memory);
        let text: String = self.proposals().map(text).collect();
        format!("{:06x}", XxHash3_64::oneshot(text.as_bytes()) & 0xff_ffff)
    }

    /// Returns true if nothing is proposed.
    pub(crate) fn is_empty(&self) -> bool {
        self.proposals().next().is_none()
    }

    fn proposals(&self) -> impl Iterator<Item = &Proposal> {
        let Summary { decisions_made, issues_encountered, current_state, learnings, .. } =
            &self.summary;
        let all = decisions_made.iter().chain(issues_encountered);
        all.chain(current_state).chain(learnings)
    }

    /// Describes what did not fit; an empty text if all did.
    pub(crate) fn left_out(&self) -> String {
        if self.omitted_count == 0 {
            return String::new();
        }
        let named: Vec<String> = self.omitted.iter().map(|it| it.number.to_string()).collect();
        format!(
            "{} did not fit: {}; --max-tokens makes room\n",
            counted(self.omitted_count, "proposal"),
            named.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn proposals_are_chosen_by_their_numbers() {
        let one = |number: u64| json!({"number": number, "rules": [], "memory": {"title": number}});
        let titles = |all: Vec<&Proposal>| {
            all.into_iter().map(|it| it.memory["title"].as_u64().unwrap()).collect::<Vec<_>>()
        };
        let reply = json!({
            "text": "", "omitted": [{"number": 4}], "omitted_count": 1,
            "summary": {
                "decisions_made": [one(1)], "issues_encountered": [one(2)], "learnings": [one(3)],
                "session_metadata": {"project_id": "webshop"},
            },
        });
        let changed = reply.to_string().replace(r#""title":2"#, r#""title":7"#);
        let changed: SessionSummary = serde_json::from_str(&changed).unwrap();
        let it: SessionSummary = serde_json::from_value(reply).unwrap();
        assert_eq!(it.code().len(), 6);
        assert_ne!(it.code(), changed.code());
        assert_eq!(it.project(), Some("webshop"));
        assert_eq!(it.chosen(&[]).unwrap().len(), 3);
        assert_eq!(titles(it.chosen(&[3, 1]).unwrap()), [1, 3]);
        assert_eq!(it.chosen(&[1, 99]).unwrap_err(), 99);
        assert_eq!(it.left_out(), "1 proposal did not fit: 4; --max-tokens makes room\n");
    }
}
