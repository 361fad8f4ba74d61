//! The reply with the summary of a session.

use serde::Deserialize;
use serde_json::Value;

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
struct Proposal {
    number: u64,
    memory: Value,
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
    pub(crate) fn chosen(&self, numbers: &[u64]) -> Result<Vec<&Value>, u64> {
        let Summary { decisions_made, issues_encountered, current_state, learnings, .. } =
            &self.summary;
        let all = decisions_made.iter().chain(issues_encountered);
        let all: Vec<&Proposal> = all.chain(current_state).chain(learnings).collect();
        if let Some(unknown) = numbers.iter().find(|it| !all.iter().any(|one| one.number == **it)) {
            return Err(*unknown);
        }
        let is_chosen = |it: &&Proposal| numbers.is_empty() || numbers.contains(&it.number);
        Ok(all.into_iter().filter(is_chosen).map(|it| &it.memory).collect())
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
        let reply = json!({
            "text": "", "omitted": [{"number": 4}], "omitted_count": 1,
            "summary": {
                "decisions_made": [one(1)], "issues_encountered": [one(2)], "learnings": [one(3)],
                "session_metadata": {"project_id": "webshop"},
            },
        });
        let it: SessionSummary = serde_json::from_value(reply).unwrap();
        assert_eq!(it.project(), Some("webshop"));
        assert_eq!(it.chosen(&[]).unwrap().len(), 3);
        assert_eq!(it.chosen(&[3, 1]).unwrap(), [&json!({"title": 1}), &json!({"title": 3})]);
        assert_eq!(it.chosen(&[1, 99]), Err(99));
        assert_eq!(it.left_out(), "1 proposal did not fit: 4; --max-tokens makes room\n");
    }
}
