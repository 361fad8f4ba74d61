//! Tests of the commands on transcripts.

use clap::Parser as _;

use super::*;

#[derive(Debug, clap::Parser)]
struct Command {
    #[command(flatten)]
    arguments: CompactArguments,
}

fn parsed(arguments: &[&str]) -> Result<CompactArguments, clap::Error> {
    let arguments = ["compact"].iter().chain(arguments);
    Command::try_parse_from(arguments).map(|it| it.arguments)
}

#[test]
fn a_compaction_is_kept_in_the_session_that_is_named() {
    let it = parsed(&["--keep", "--session", "ticket-7", "chat.jsonl"]).unwrap();
    assert!(it.keep && it.transcript == Path::new("chat.jsonl"));
    assert_eq!(it.session.unwrap().id(), Some("ticket-7"));
    let error = parsed(&["--keep", "--dry-run"]).unwrap_err();
    assert_eq!(error.kind(), clap::error::ErrorKind::ArgumentConflict);
    // The session counts the tokens: the encoding was ignored.
    let error = parsed(&["--keep", "--encoding", "o200k_base"]).unwrap_err();
    assert_eq!(error.kind(), clap::error::ErrorKind::ArgumentConflict);
}

/// Two names for standard input left nothing for the second: no fact was found.
#[test]
fn standard_input_is_read_once() {
    let arguments = CheckArguments {
        transcript: "-".into(),
        summary: "-".into(),
        repair: false,
        max_tokens: None,
        counting: Counting { encoding: None },
    };
    let problem = check(&arguments, Output::new(false)).unwrap_err();
    assert!(problem.message().contains("standard input"), "{}", problem.message());
}

/// An encoding that is unknown was called by the name of a member of the request.
#[test]
fn a_message_names_the_option() {
    let transcript = Transcript::parse(r#"{"role":"user","content":"Go."}"#).unwrap();
    let call = |request: &Value, encoding| local::call(request, encoding).unwrap_err();
    let problem = call(&request("extract", &transcript, []), Some("bogus"));
    assert!(problem.message().starts_with("--encoding bogus is"), "{}", problem.message());
    let target = [("target_tokens", Some(json!(0)))];
    let problem = call(&request("compact", &transcript, target), None);
    assert!(problem.message().starts_with("--target is 0"), "{}", problem.message());
}

/// An extraction ended with the first 4,000 facts, and nothing could be done about it.
#[test]
fn all_facts_of_a_long_transcript_are_extracted() {
    let lines: Vec<String> = (0..60)
        .map(|line| {
            let facts: Vec<String> =
                (0..100).map(|it| format!("We will use port {line}0{it}.")).collect();
            let message = json!({"role": "assistant", "content": facts.join("\n")});
            message.to_string()
        })
        .collect();
    let text = lines.join("\n");
    let reply = extracted(&Transcript::parse(&text).unwrap()).unwrap();
    let extracted: Value = serde_json::from_slice(&reply).unwrap();
    let facts = extracted["facts"].as_array().unwrap();
    assert_eq!((facts.len(), &extracted["lines"]), (6_000, &json!(6_000)));
    let later = |it: &Value| it["superseded_by"].as_u64().unwrap_or(u64::MAX);
    assert!(facts.iter().enumerate().all(|(at, it)| later(it) > at as u64));
}

/// The inputs of calls did not count, so a result had more tokens than its target.
#[test]
fn a_result_never_has_more_tokens_than_the_target() {
    let words = "words that nobody needs later ".repeat(4);
    let lines = [
        json!({"role": "user", "content": "Goal: make refunds work"}),
        json!({"role": "assistant", "content": [
            {"type": "text", "text": format!("{words}We tried polling but it was too slow, a dead end. {words}")},
            {"type": "tool_use", "id": "t1", "name": "run", "input": {"script": "zzz ".repeat(20)}},
        ]}),
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "row 1\n".repeat(60)},
        ]}),
        json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": words.repeat(4)}, {"type": "text", "text": words},
        ]}),
        json!({"role": "user", "content": "Next?"}),
    ];
    let text = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let tokens = |text: &str| -> u64 {
        let items = Transcript::parse(text).unwrap().items();
        let texts = items.as_array().unwrap().iter().map(|it| it["text"].as_str().unwrap());
        texts.map(|it| it.chars().count().div_ceil(4) as u64).sum()
    };
    let transcript = Transcript::parse(&text).unwrap();
    for target in [20, 50, 70, 100, 130, 160, 190, 220, 250, 280, 310, 340] {
        let left = compacted(&transcript, Some(target), "").unwrap().text;
        assert!(tokens(&left) <= target, "{target}: {} {left}", tokens(&left));
    }
}
