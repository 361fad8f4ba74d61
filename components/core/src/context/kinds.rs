//! The closed lists of the context pipeline: purposes of an envelope, places of injection, and
//! kinds of missing context (spec 16.9). Those of items are in `item`.

use crate::closed_list::closed_list;

pub use crate::item::{Authority, Kind, ListedKind, Target, Visibility};

closed_list! {
    /// The purpose that context is put together for.
    Purpose "purpose" {
        Turn "turn": "One turn of a conversation.";
        Task "task": "A task of an agent.";
        Session "session": "A whole session.";
        ToolCall "tool_call": "The call of a tool.";
        UiReview "ui_review": "A review in the user interface.";
        PeerAgentHandoff "peer_agent_handoff": "The handoff to another agent.";
    }
}

closed_list! {
    /// The place where context became visible.
    Place "place" {
        SystemPrompt "system_prompt": "The system prompt.";
        MessageHistory "message_history": "A message of the conversation.";
        ToolArgument "tool_argument": "An argument of a tool call.";
        ToolVisibleResource "tool_visible_resource": "A resource that tools can read.";
        UiPanel "ui_panel": "A panel of the user interface.";
        RuntimeMetadata "runtime_metadata": "The metadata of the program that runs the agent.";
        PeerAgentMessage "peer_agent_message": "A message to another agent.";
    }
}

closed_list! {
    /// A kind of missing context. Blockers come first.
    MissingKind "kind of missing context" {
        Blocker "blocker": "Work cannot go on without it.";
        Input "input": "An input that is known to be missing.";
        Question "question": "A question without an answer.";
        RequestedSource "requested_source": "A source that somebody asked for.";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_have_their_lengths_and_parse_their_names() {
        let lengths = [Purpose::ALL.len(), Place::ALL.len(), MissingKind::ALL.len()];
        assert_eq!(lengths, [6, 7, 4]);
        for it in Purpose::ALL {
            assert_eq!(Purpose::parse(it.as_str()), Ok(it));
        }
        for it in Place::ALL {
            assert_eq!(Place::parse(it.as_str()), Ok(it));
        }
        for it in MissingKind::ALL {
            assert_eq!(MissingKind::parse(it.as_str()), Ok(it));
        }
    }

    #[test]
    fn an_unknown_name_is_rejected_with_the_list() {
        let error = MissingKind::parse(&"x".repeat(500)).unwrap_err().to_string();
        let list = "it must be one of blocker, input, question, requested_source";
        assert!(error.starts_with("there is no kind of missing context"), "{error}");
        assert!(error.ends_with(list) && error.len() < 250, "{error}");
        assert!(Purpose::parse("").is_err() && Place::parse("ui").is_err());
    }

    #[test]
    fn every_description_is_a_short_sentence() {
        let texts = Purpose::ALL.iter().map(|it| it.description());
        let texts = texts.chain(Place::ALL.iter().map(|it| it.description()));
        let texts = texts.chain(Target::ALL.iter().map(|it| it.description()));
        for text in texts.chain(ListedKind::ALL.iter().map(|it| it.description())) {
            assert!(text.ends_with('.') && text.len() <= 80, "{text}");
        }
    }
}
