//! Tests the later life of a packet: feedback, redaction, import.

use super::*;

#[test]
fn feedback_is_given_once_a_version_by_the_receiver() {
    let host = with_packet();
    read(&host, WORKER);
    let given = give(&host, WORKER, feedback(Outcome::Done, &["testing approach"]));
    assert_eq!((given.number, given.version, given.task_type.as_str()), (1, 1, "implementation"));
    let again = || PacketsCommand::Feedback(feedback(Outcome::Failed, &[]));
    assert_eq!(rejected(&host, WORKER, again()), Code::FeedbackGiven);
    let of_worker =
        || GiveFeedback { address: Some(address(WORKER)), ..feedback(Outcome::Done, &[]) };
    assert_eq!(rejected(&host, OTHER, PacketsCommand::Feedback(of_worker())), Code::PacketNotFound);
    assert_eq!(
        rejected(&host, ORCHESTRATOR, PacketsCommand::Feedback(of_worker())),
        Code::Forbidden
    );
    generate(&host, request(WORKER));
    // The worker has not read the second version yet, so its feedback would be on the first.
    assert_eq!(rejected(&host, WORKER, again()), Code::FeedbackGiven);
    read(&host, WORKER);
    assert_eq!(give(&host, WORKER, feedback(Outcome::Failed, &[])).version, 2);
    let PacketsReply::Statistics(all) =
        packets(&host, ORCHESTRATOR, PacketsCommand::Statistics(Some("implementation".to_owned())))
    else {
        panic!()
    };
    assert_eq!((all[0].count, all[0].ended), (2, 2));
    assert_eq!(rejected(&host, WORKER, PacketsCommand::Statistics(None)), Code::Forbidden);
}

/// A layer that the packet lacks, and a question without an answer, are gaps of the next feedback.
#[test]
fn what_a_worker_asks_for_is_a_gap() {
    let host = session(Config::default());
    write(&host, "constraints", "Tokens expire after 24 hours.");
    generate(&host, GeneratePacket { depth: Some(Depth::Minimal), ..request(WORKER) });
    read_with(&host, WORKER, ReadPacket { layer: Some(Layer::Goal), ..reading(None) });
    read_with(&host, WORKER, ReadPacket { layer: Some(Layer::Codebase), ..reading(None) });
    let question = "Which database?".to_owned();
    packets(&host, WORKER, PacketsCommand::Query(QueryPacket { address: None, question }));
    let given = give(&host, WORKER, feedback(Outcome::Failed, &[]));
    assert_eq!(
        (given.layers, given.questions),
        (vec![Layer::Codebase], vec!["Which database?".to_owned()])
    );
}

#[test]
fn a_deeper_packet_is_read_from_the_sources() {
    let host = session(Config::default());
    write(&host, "decisions_made", "DECISION: JWT login tokens are signed with RS256.");
    generate(&host, GeneratePacket { depth: Some(Depth::Minimal), ..request(WORKER) });
    assert!(choices(&read(&host, WORKER).packet).is_empty());
    let it = read_with(&host, WORKER, ReadPacket { depth: Some(Depth::Standard), ..reading(None) });
    assert_eq!(choices(&it.packet).len(), 1, "{:?}", it.packet);
    assert_eq!(list(&host, ORCHESTRATOR)[0].depth, Depth::Minimal, "the kept one stays");
    let given = give(&host, WORKER, feedback(Outcome::Done, &[]));
    assert_eq!(given.layers, [Layer::Decisions, Layer::Codebase]);
}

#[test]
fn a_packet_is_compared_with_a_document() {
    let host = with_packet();
    let json = read(&host, WORKER).packet.text();
    let compare = |document: &str| {
        let it = ReadPacket { compared: Some(document.to_owned()), ..reading(None) };
        read_with(&host, WORKER, it).verification.unwrap()
    };
    assert!(compare(&json).is_intact);
    let mut other = read(&host, WORKER).packet;
    other.statements[0].text.push('!');
    other.checksum = other.sum();
    let found = compare(&other.text());
    assert!(
        !found.is_intact && found.differences.contains(&"/context/constraints/0".to_owned()),
        "{found:?}"
    );
}

#[test]
fn settings_decide_what_feedback_does() {
    let packet = PacketConfig { track_efficiency: false, ..PacketConfig::default() };
    let host = session(Config { packet, ..Config::default() });
    generate(&host, request(WORKER));
    generate(&host, request("shared"));
    give(&host, WORKER, feedback(Outcome::Done, &[]));
    assert_eq!(list(&host, ORCHESTRATOR).len(), 1, "the worker's packet is gone");
    give(&host, OTHER, feedback(Outcome::Done, &[]));
    assert_eq!(list(&host, ORCHESTRATOR).len(), 1, "the shared one stays for the others");
    let PacketsReply::Statistics(all) =
        packets(&host, ORCHESTRATOR, PacketsCommand::Statistics(None))
    else {
        panic!()
    };
    assert!(all.iter().all(|it| it.count == 0), "{all:?}");
}

/// The first feedback of a worker once removed the packet of a pattern for all its other workers.
#[test]
fn the_packet_of_a_pattern_stays_for_other_workers() {
    let host = session(Config::default());
    generate(&host, request("subagent:impl:*"));
    for worker in ["subagent:impl:1", "subagent:impl:2"] {
        read(&host, worker);
        give(&host, worker, feedback(Outcome::Done, &[]));
        let again = PacketsCommand::Feedback(feedback(Outcome::Done, &[]));
        assert_eq!(rejected(&host, worker, again), Code::FeedbackGiven);
    }
    let info = &list(&host, ORCHESTRATOR)[0];
    assert_eq!((&info.address, info.readers.len()), (&address("subagent:impl:*"), 2));
}

#[test]
fn the_feed_names_packets_to_their_readers_only() {
    let host = with_packet();
    read(&host, WORKER);
    generate(&host, request("shared"));
    let seen = |who: &str| -> Vec<String> {
        feed(&host, who, None).into_iter().filter(|it| it.starts_with("context_")).collect()
    };
    let all =
        ["context_generate subagent:impl", "context_read subagent:impl", "context_generate shared"];
    assert_eq!(seen(ORCHESTRATOR), all);
    assert_eq!(seen(WORKER), all);
    assert_eq!(seen(OTHER), ["context_generate shared"]);
}

/// A redaction reaches packets, what they are made from, and feedback, and the marks stay after an
/// export.
#[test]
fn a_redaction_reaches_packets_and_feedback() {
    let host = keeping();
    write(&host, "constraints", "Never use the password hunter2 in tests.");
    generate(&host, request(WORKER));
    read(&host, WORKER);
    give(&host, WORKER, feedback(Outcome::Done, &["Never use the password hunter2 in tests."]));
    let question = "Is \"Never use the password hunter2 in tests.\" true, zebra?".to_owned();
    packets(&host, WORKER, PacketsCommand::Query(QueryPacket { address: None, question }));
    let has =
        || host.rows("p/").iter().any(|(_, it)| String::from_utf8_lossy(it).contains("hunter2"));
    assert!(has());
    let reason = Line::parse("reason", "a password").unwrap();
    ask(&host, ORCHESTRATOR, &Command::Redact { key: key("constraints"), revision: None, reason });
    assert!(!has(), "{:?}", host.rows("p/"));
    let it = read(&host, WORKER);
    assert!(it.text.contains("[redacted: a password]"), "{}", it.text);
    assert_eq!(it.packet.checksum, it.packet.sum());
    assert!(!format!("{:?}", export(&host).packets).contains("hunter2"));
}

#[test]
fn an_imported_session_has_the_same_packets() {
    let host = with_packet();
    read(&host, WORKER);
    give(&host, WORKER, feedback(Outcome::Done, &["tests"]));
    generate(&host, request(WORKER));
    // A packet without readers.
    generate(&host, request("shared"));
    let document = export(&host);
    let copy = TestHost::default();
    copy.now.set(host.now.get());
    ask(&copy, "admin", &Command::Import(document.clone()));
    assert_eq!(export(&copy).packets, document.packets);
    assert_eq!(list(&copy, ORCHESTRATOR), list(&host, ORCHESTRATOR));
    assert_eq!(read(&copy, WORKER).packet, read(&host, WORKER).packet);
    assert_eq!(copy.rows("p/"), host.rows("p/"));
    let again =
        PacketsCommand::Feedback(GiveFeedback { version: Some(1), ..feedback(Outcome::Done, &[]) });
    assert_eq!(rejected(&copy, WORKER, again), Code::FeedbackGiven);
}

type Edit = fn(&mut shared_context_core::packets::kept::KeptPackets);

#[test]
fn impossible_packets_are_not_imported() {
    let host = with_packet();
    read(&host, WORKER);
    give(&host, WORKER, feedback(Outcome::Done, &["tests"]));
    let document = export(&host);
    let edits: [(&str, Edit); 7] = [
        ("a packet twice", |it| it.packets.push(it.packets[0].clone())),
        ("no version", |it| it.packets[0].versions.clear()),
        ("version 2 in place of 1", |it| it.packets[0].versions[0].version = 2),
        ("a number that was not given", |it| it.packets[0].versions[0].number = 9),
        ("another address", |it| it.packets[0].address = Address::Shared),
        ("an altered packet", |it| {
            it.packets[0].versions[0].packet.statements[0].text.push('!');
        }),
        ("feedback out of order", |it| it.feedback.push(it.feedback[0].clone())),
    ];
    for (what, edit) in edits {
        let mut edited = document.clone();
        edit(&mut edited.packets);
        let copy = TestHost::default();
        copy.now.set(host.now.get());
        let code = error_code(&copy, "admin", &Command::Import(edited));
        assert_eq!(code, Code::MalformedRequest, "{what}");
    }
}
