//! Tests the later life of a packet: staleness, edits and questions, and rejected requests.

use shared_context_core::{
    Error,
    packets::{
        Address, Depth, File, GeneratePacket, Given, MadeBy, Part, SourceState, Sources, Staleness,
        edit, query, stale,
    },
    participant::Participant,
    tokens::Tokens,
};

use super::{
    count, decision, generated, given, head, properties::entry, recipe, request, rules::sentences,
};

#[test]
fn stale_sources_are_told_with_their_places() {
    let entries = vec![
        entry("constraints", 2, "- Keep the login API\n- Never log the login password"),
        entry("decisions_made", 5, "Index the login table"),
        entry("scope", 1, "Only the login service"),
    ];
    let it = request("Speed up the login", Vec::new());
    let packet = generated(&it, &Sources { entries, ..Sources::default() }).packet;
    let state = |constraints, decisions, scope| {
        move |key: &shared_context_core::Key| match key.as_str() {
            "constraints" => constraints,
            "decisions_made" => decisions,
            _ => scope,
        }
    };
    let same = [2, 5, 1].map(SourceState::Version);
    assert!(stale(&packet, &state(same[0], same[1], same[2]), None).is_empty());
    let found = stale(
        &packet,
        &state(SourceState::Version(3), SourceState::Gone, SourceState::Redacted),
        None,
    );
    let told: Vec<(Staleness, Option<u64>, usize)> =
        found.iter().map(|it| (it.staleness, it.current, it.pointers.len())).collect();
    assert_eq!(told.len(), 3, "{found:?}");
    for expected in
        [(Staleness::Newer, Some(3), 2), (Staleness::Gone, None, 1), (Staleness::Redacted, None, 1)]
    {
        assert!(told.contains(&expected), "{told:?}");
    }
}

#[test]
fn an_edit_is_a_new_version_within_the_budget() {
    let mut it = request("Add JWT auth", Vec::new());
    it.facts = given(Part::Constraint, &["Token expiry: 24 hours", "Never log tokens"]);
    let (recipe, sources) = (recipe(&it), Sources::default());
    let packet = generated(&it, &sources).packet;
    let next = shared_context_core::packets::Head { version: 2, ..head() };
    let edited = |patch: &str| edit(&packet, patch, &recipe, &next, &count);
    let after = edited(r#"{"context": {"constraints": ["Never log tokens", "Expiry: 12 hours"]}}"#)
        .unwrap();
    assert_eq!(after.version, 2);
    assert_eq!(after.texts(Part::Constraint), ["Never log tokens", "Expiry: 12 hours"]);
    assert_eq!(after.goal(), packet.goal());
    assert_ne!(after.checksum, packet.checksum);
    assert_eq!(after.checksum, after.sum());
    let change = &after.changelog.last().unwrap().text;
    assert!(change.contains("added constraint Expiry: 12 hours"), "{change}");
    assert!(change.contains("removed constraint Token expiry: 24 hours"), "{change}");
    for (patch, error) in [
        (r#"{"version": 7}"#, "/version is unknown"),
        (r#"{"constraints": []}"#, "put it into context, where"),
        (r#"{"patterns": []}"#, "put it into context.codebase, where"),
        (r#"{"context": {"goal": 5}}"#, "/context/goal must be a string"),
        (r#"{"context": {"decisions": [{"choice": "x"}]}}"#, "/context/decisions/0/made_by"),
        (r#"{"context": null}"#, "/context must be an object"),
        (r#"{"target_task": " "}"#, "task is empty"),
        ("[]", "the document must be an object"),
        ("{", "no JSON"),
    ] {
        let found = edited(patch).unwrap_err().to_string();
        assert!(found.contains(error), "{patch}: {found}");
    }
    let long = format!(r#"{{"context": {{"goal": "{}"}}}}"#, "word ".repeat(500));
    let error = edited(&long).unwrap_err();
    assert!(matches!(error, Error::PacketTooSmall { is_edited: true, .. }), "{error:?}");
    assert!(error.to_string().contains("its budget is 400; remove a statement"), "{error}");
}

#[test]
fn a_question_is_answered_from_all_sources() {
    let mut it = request("Add JWT auth", Vec::new());
    it.depth = Some(Depth::Minimal);
    let choice = decision("JWT with RS256, 24h expiry", "the authentication approach of the user");
    it.facts = given(Part::Constraint, &["Colours follow the theme"]);
    it.facts.push(Given { made_by: Some(MadeBy::User), ..choice });
    let recipe = recipe(&it);
    let ask = |question: &str| query(question, &recipe, &Sources::default(), &count).unwrap();
    let found = ask("What authentication approach was decided?");
    let best = found.findings.first().unwrap();
    assert!(best.text.contains("RS256") && best.part == Part::Decision, "{found:?}");
    assert_eq!(found.findings.len(), 1);
    for nothing in ["Which colour is the kitchen of the neighbour's aunt?", "the of and"] {
        let found = ask(nothing);
        let is_nothing = found.findings.iter().all(|it| it.text.contains("Colours"));
        assert!(is_nothing, "{found:?}");
    }
    assert!(ask("the of and").findings.is_empty());
    let facts = given(Part::Constraint, &sentences("jwt x", 40, 12));
    let recipe = super::recipe(&GeneratePacket { facts, ..it });
    let found = query("jwt", &recipe, &Sources::default(), &count).unwrap();
    assert!(found.tokens <= Tokens(300) && found.left_out > 0, "{}", found.tokens);
}

#[test]
fn addresses_are_participants_patterns_or_shared() {
    let worker = Participant::parse("subagent:impl:3").unwrap();
    let other = Participant::parse("subagent:review").unwrap();
    for (text, is_own, is_others) in [
        ("shared", true, true),
        ("subagent:impl:3", true, false),
        ("subagent:impl:*", true, false),
        ("subagent:*", true, true),
        ("subagent:impl", false, false),
    ] {
        let it = Address::parse(text).unwrap();
        assert_eq!(it.as_str(), text);
        assert_eq!((it.is_for(&worker), it.is_for(&other)), (is_own, is_others), "{text}");
    }
    for bad in ["", "Shared", "nobody", "subagent:", "subagent:a b"] {
        let error = Address::parse(bad).unwrap_err().to_string();
        assert!(error.contains("must be shared, a participant"), "{error}");
    }
}

#[test]
fn bad_requests_are_rejected_by_name() {
    let error = |change: &dyn Fn(&mut GeneratePacket)| {
        let mut it = request("Add JWT auth", Vec::new());
        change(&mut it);
        it.check().map_or_else(|error| error.to_string(), |()| String::new())
    };
    assert_eq!(error(&|_| {}), "");
    assert_eq!(error(&|it| it.budget = Some(Tokens(50))), "");
    for budget in [0, 49, 8_001] {
        let found = error(&|it| it.budget = Some(Tokens(budget)));
        assert_eq!(found, format!("budget is {budget}; it must be 50 to 8000 tokens"));
    }
    assert!(error(&|it| it.task = " \n".to_owned()).starts_with("task is empty"));
    assert!(error(&|it| it.task = "x".repeat(100_000)).contains("task has 100000 bytes"));
    assert!(error(&|it| it.task_type = Some("Big Task".to_owned())).contains("task_type"));
    let file = |path: &str, bytes: usize| File { path: path.to_owned(), text: "x".repeat(bytes) };
    assert_eq!(error(&|it| it.files = vec![file("a.rs", 1 << 20)]), "");
    assert!(error(&|it| it.files = vec![file("a.rs", 1), file("a.rs", 2)]).contains("twice"));
    assert!(error(&|it| it.files = vec![file("", 1)]).contains("a path is one line"));
    assert!(
        error(&|it| it.files = vec![file("a", 2 << 20), file("b", 1)]).contains("the files have")
    );
    assert!(error(&|it| it.facts = given(Part::Goal, &[" "])).contains("facts.goal"));
    let long = "x".repeat(4_097);
    let found = error(&|it| it.facts = given(Part::Constraint, &[&long]));
    assert!(found.contains("facts.constraints"), "{found}");
    assert!(Depth::parse("shallow").is_err());
}
