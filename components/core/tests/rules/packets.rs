//! Tests of packets in a session: who may read which of them, which are kept, and the effect of
//! changes in their sources.

use shared_context_core::{
    Code, Command, Config, Line, PacketsCommand, PacketsReply, Reply, RequestId, WriteOptions,
    packets::{
        Address, Depth, EditPacket, Feedback, Form, GeneratePacket, GiveFeedback, Layer, Outcome,
        Packet, PacketConfig, PacketInfo, PacketRead, PacketWritten, Part, QueryPacket, ReadPacket,
        Stale, Staleness, VERSIONS_KEPT, kept::KeptFeedback,
    },
};

use crate::{
    ORCHESTRATOR, ask, delete, error_code, export, feed, key, readers, session, support::TestHost,
    ttl, write, write_with,
};

mod afterwards;

const WORKER: &str = "subagent:impl";
const OTHER: &str = "subagent:review";

fn address(text: &str) -> Address {
    Address::parse(text).unwrap()
}

fn request(to: &str) -> GeneratePacket {
    GeneratePacket {
        task: "Add JWT authentication to the login endpoint".to_owned(),
        task_type: Some("implementation".to_owned()),
        address: address(to),
        depth: Some(Depth::Deep),
        budget: None,
        form: Form::Markdown,
        conversation: Vec::new(),
        files: Vec::new(),
        facts: Vec::new(),
        links: Vec::new(),
        keys: Vec::new(),
        is_preview: false,
    }
}

fn command(it: PacketsCommand) -> Command {
    Command::Packets(it)
}

fn packets(host: &TestHost, who: &str, it: PacketsCommand) -> PacketsReply {
    match ask(host, who, &command(it)).reply {
        Reply::Packets(it) => it,
        other => panic!("{other:?}"),
    }
}

fn rejected(host: &TestHost, who: &str, it: PacketsCommand) -> Code {
    error_code(host, who, &command(it))
}

fn generate(host: &TestHost, it: GeneratePacket) -> PacketWritten {
    match packets(host, ORCHESTRATOR, PacketsCommand::Generate(Box::new(it))) {
        PacketsReply::Written(it) => *it,
        other => panic!("{other:?}"),
    }
}

fn reading(to: Option<&str>) -> ReadPacket {
    ReadPacket {
        address: to.map(address),
        version: None,
        layer: None,
        depth: None,
        form: Form::Markdown,
        compared: None,
    }
}

fn read_with(host: &TestHost, who: &str, it: ReadPacket) -> PacketRead {
    match packets(host, who, PacketsCommand::Read(Box::new(it))) {
        PacketsReply::Read(it) => *it,
        other => panic!("{other:?}"),
    }
}

fn read(host: &TestHost, who: &str) -> PacketRead {
    read_with(host, who, reading(None))
}

fn feedback(outcome: Outcome, gaps: &[&str]) -> GiveFeedback {
    let gaps = gaps.iter().map(|it| (*it).to_owned()).collect();
    let feedback = Feedback { gaps, outcome: Some(outcome), ..Feedback::default() };
    GiveFeedback { address: None, version: None, feedback }
}

fn give(host: &TestHost, who: &str, it: GiveFeedback) -> KeptFeedback {
    match packets(host, who, PacketsCommand::Feedback(it)) {
        PacketsReply::Feedback(it) => *it,
        other => panic!("{other:?}"),
    }
}

fn list(host: &TestHost, who: &str) -> Vec<PacketInfo> {
    match packets(host, who, PacketsCommand::List) {
        PacketsReply::List(it) => it,
        other => panic!("{other:?}"),
    }
}

fn choices(it: &Packet) -> Vec<&str> {
    it.texts(Part::Decision)
}

/// Returns a session that keeps packets after feedback.
fn keeping() -> TestHost {
    let packet = PacketConfig { auto_cleanup: false, ..PacketConfig::default() };
    session(Config { packet, ..Config::default() })
}

/// Returns a session with a packet for the worker, from two entries.
fn with_packet() -> TestHost {
    let host = keeping();
    write(&host, "constraints", "Tokens expire after 24 hours.");
    write(&host, "decisions_made", "DECISION: JWT login tokens are signed with RS256.");
    generate(&host, request(WORKER));
    host
}

#[test]
fn a_worker_reads_what_the_orchestrator_wrote_for_it() {
    let host = with_packet();
    let it = read(&host, WORKER);
    assert_eq!(it.packet.id.as_deref(), Some("PKT-1"));
    assert_eq!((it.packet.version, it.newest), (1, 1));
    assert!(it.text.contains("Tokens expire after 24 hours."), "{}", it.text);
    assert!(it.text.contains("RS256"), "{}", it.text);
    assert_eq!(it.packet.checksum, it.packet.sum());
    assert!(it.stale.is_empty());
}

#[test]
fn a_packet_is_for_its_receiver() {
    let host = with_packet();
    assert_eq!(
        rejected(&host, OTHER, PacketsCommand::Read(Box::new(reading(Some(WORKER))))),
        Code::PacketNotFound
    );
    assert_eq!(
        rejected(&host, OTHER, PacketsCommand::Read(Box::new(reading(None)))),
        Code::PacketNotFound
    );
    assert!(list(&host, OTHER).is_empty());
    for who in [ORCHESTRATOR, "admin"] {
        assert_eq!(read_with(&host, who, reading(Some(WORKER))).packet.version, 1, "{who}");
        assert_eq!(list(&host, who).len(), 1, "{who}");
    }
    assert!(list(&host, WORKER)[0].readers.is_empty(), "nobody that receives it has read it");
    assert_eq!(
        rejected(&host, WORKER, PacketsCommand::Generate(Box::new(request(WORKER)))),
        Code::Forbidden
    );
    assert_eq!(rejected(&host, "admin", PacketsCommand::Clear(address(WORKER))), Code::Forbidden);
}

#[test]
fn the_shared_packet_is_read_after_ones_own() {
    let host = with_packet();
    generate(&host, request("shared"));
    generate(&host, request("subagent:im*"));
    let own = read(&host, WORKER);
    assert_eq!(own.packet.address, address(WORKER));
    assert_eq!(own.others, [address("subagent:im*"), Address::Shared]);
    assert_eq!(read(&host, OTHER).packet.address, Address::Shared);
    assert_eq!(read(&host, "subagent:impact").packet.address, address("subagent:im*"));
    assert_eq!(read_with(&host, WORKER, reading(Some("shared"))).packet.address, Address::Shared);
}

/// The most general pattern once went before the most specific one, because `*` sorts first.
#[test]
fn the_most_specific_pattern_is_read_first() {
    let host = keeping();
    for to in ["*", "subagent:*", "subagent:impl:*", "subagent:*:3", "shared", "subagent:i*l:*"] {
        generate(&host, request(to));
    }
    let worker = "subagent:impl:3";
    assert_eq!(read(&host, worker).packet.address, address("subagent:impl:*"));
    let others = ["subagent:i*l:*", "subagent:*:3", "subagent:*", "*", "shared"].map(address);
    assert_eq!(read(&host, worker).others, others);
    generate(&host, request(worker));
    assert_eq!(read(&host, worker).packet.address, address(worker));
}

/// The first read of each version is recorded, so most reads commit nothing.
#[test]
fn the_first_read_of_a_version_is_recorded() {
    let host = with_packet();
    host.now.set(2_000_000);
    let command = || command(PacketsCommand::Read(Box::new(reading(None))));
    let first = ask(&host, WORKER, &command());
    host.now.set(3_000_000);
    assert_eq!(ask(&host, WORKER, &command()).revision, first.revision);
    let readers = &list(&host, ORCHESTRATOR)[0].readers;
    assert_eq!((readers[0].version, readers[0].read_at.0), (1, 2_000_000));
    generate(&host, request(WORKER));
    assert_eq!(read(&host, WORKER).packet.version, 2);
    let old = ReadPacket { version: Some(1), ..reading(None) };
    assert_eq!(read_with(&host, WORKER, old).packet.version, 1);
    let readers = &list(&host, ORCHESTRATOR)[0].readers;
    assert_eq!((readers[0].version, readers[0].read_at.0), (2, 3_000_000));
}

#[test]
fn an_archived_session_is_read_without_a_record() {
    let host = with_packet();
    ask(&host, "admin", &Command::ArchiveSession);
    assert_eq!(read(&host, WORKER).packet.version, 1);
    assert!(list(&host, ORCHESTRATOR)[0].readers.is_empty());
    assert_eq!(
        rejected(&host, WORKER, PacketsCommand::Feedback(feedback(Outcome::Done, &[]))),
        Code::SessionArchived
    );
}

#[test]
fn the_last_versions_are_kept() {
    let host = with_packet();
    for _ in 0..VERSIONS_KEPT {
        generate(&host, request(WORKER));
    }
    let info = &list(&host, ORCHESTRATOR)[0];
    assert_eq!((info.version, info.versions), (VERSIONS_KEPT + 1, VERSIONS_KEPT));
    let version = |version| ReadPacket { version: Some(version), ..reading(None) };
    assert_eq!(read_with(&host, WORKER, version(2)).packet.version, 2);
    assert_eq!(
        rejected(&host, WORKER, PacketsCommand::Read(Box::new(version(1)))),
        Code::PacketNotFound
    );
    assert_eq!(host.rows("p/v/").len(), 10);
}

#[test]
fn a_session_has_packets_for_64_addresses() {
    let host = session(Config::default());
    for nth in 0..64 {
        generate(&host, request(&format!("subagent:w:{nth}")));
    }
    let one_more = || PacketsCommand::Generate(Box::new(request("shared")));
    assert_eq!(rejected(&host, ORCHESTRATOR, one_more()), Code::PacketLimit);
    packets(&host, ORCHESTRATOR, PacketsCommand::Clear(address("subagent:w:7")));
    packets(&host, ORCHESTRATOR, one_more());
}

#[test]
fn a_cleared_packet_is_gone() {
    let host = with_packet();
    read(&host, WORKER);
    let cleared = packets(&host, ORCHESTRATOR, PacketsCommand::Clear(address(WORKER)));
    assert_eq!(cleared, PacketsReply::Cleared(address(WORKER), 1));
    assert_eq!(
        rejected(&host, WORKER, PacketsCommand::Read(Box::new(reading(None)))),
        Code::PacketNotFound
    );
    assert_eq!(
        rejected(&host, ORCHESTRATOR, PacketsCommand::Clear(address(WORKER))),
        Code::PacketNotFound
    );
    assert!(host.rows("p/v/").is_empty() && host.rows("p/k/").is_empty());
    generate(&host, request(WORKER));
    assert_eq!(read(&host, WORKER).packet.id.as_deref(), Some("PKT-2"));
}

#[test]
fn a_preview_keeps_nothing() {
    let host = with_packet();
    let before = host.rows("");
    let preview = GeneratePacket { is_preview: true, ..request(OTHER) };
    let it = generate(&host, preview);
    assert_eq!((it.packet.id, it.packet.version), (None, 1));
    assert_eq!(host.rows(""), before);
}

#[test]
fn a_repeated_request_gets_its_first_packet() {
    let host = with_packet();
    let named = |it: PacketsCommand| {
        let request_id = RequestId::parse("r").unwrap();
        Command::Named { request_id, command: Box::new(command(it)) }
    };
    let again = || named(PacketsCommand::Generate(Box::new(request(WORKER))));
    let first = ask(&host, ORCHESTRATOR, &again());
    write(&host, "constraints", "Tokens expire after 12 hours.");
    assert_eq!(ask(&host, ORCHESTRATOR, &again()), first);
    let other = GeneratePacket { task: "Add logout".to_owned(), ..request(WORKER) };
    let other = named(PacketsCommand::Generate(Box::new(other)));
    assert_eq!(error_code(&host, ORCHESTRATOR, &other), Code::RequestIdReused);
    let done = named(PacketsCommand::Feedback(feedback(Outcome::Done, &["tests"])));
    let first = ask(&host, WORKER, &done);
    assert_eq!(ask(&host, WORKER, &done), first);
}

/// A repeated request once got the packet that was written at its address after it was cleared.
#[test]
fn a_repeated_request_gets_no_other_packet() {
    let host = keeping();
    let generate = Command::Named {
        request_id: RequestId::parse("r").unwrap(),
        command: Box::new(command(PacketsCommand::Generate(Box::new(request(WORKER))))),
    };
    ask(&host, ORCHESTRATOR, &generate);
    packets(&host, ORCHESTRATOR, PacketsCommand::Clear(address(WORKER)));
    assert_eq!(error_code(&host, ORCHESTRATOR, &generate), Code::PacketNotFound);
    self::generate(&host, request(WORKER));
    assert_eq!(error_code(&host, ORCHESTRATOR, &generate), Code::PacketNotFound);
}

#[test]
fn an_edit_is_the_next_version() {
    let host = with_packet();
    let edit = |patch: &str| {
        PacketsCommand::Edit(EditPacket { address: address(WORKER), patch: patch.to_owned() })
    };
    packets(&host, ORCHESTRATOR, edit(r#"{"context":{"goal":"Sign tokens."}}"#));
    let it = read(&host, WORKER);
    assert_eq!((it.packet.version, it.packet.goal()), (2, "Sign tokens."));
    assert_eq!(rejected(&host, WORKER, edit("{}")), Code::Forbidden);
    assert_eq!(rejected(&host, ORCHESTRATOR, edit(r#"{"version":9}"#)), Code::MalformedRequest);
    let long = format!(r#"{{"context":{{"goal":"{}"}}}}"#, "word ".repeat(2_000));
    assert_eq!(rejected(&host, ORCHESTRATOR, edit(&long)), Code::BudgetTooSmall);
    assert_eq!(read(&host, WORKER).packet.version, 2);
}

/// Each refresh once made a version, though nothing had changed, and pushed out an older one.
#[test]
fn a_refresh_without_a_change_makes_no_version() {
    let host = with_packet();
    let refresh = || ask(&host, ORCHESTRATOR, &command(PacketsCommand::Refresh(address(WORKER))));
    let before = host.rows("");
    let Reply::Packets(PacketsReply::Written(same)) = refresh().reply else { panic!() };
    assert_eq!((same.packet.version, same.packet.id.as_deref()), (1, Some("PKT-1")));
    assert!(same.text.contains("RS256") && same.report.included == 2, "{same:?}");
    assert_eq!(host.rows(""), before);
    // A source of the same text is another one in a new version, or after a deletion.
    write(&host, "constraints", "Tokens expire after 24 hours.");
    refresh();
    assert_eq!(read(&host, WORKER).packet.version, 2);
    delete(&host, "decisions_made");
    write(&host, "decisions_made", "DECISION: JWT login tokens are signed with RS256.");
    refresh();
    let it = read(&host, WORKER);
    assert_eq!((it.packet.version, it.stale), (3, Vec::new()));
}

/// An empty patch once made a version that was like the one before.
#[test]
fn an_edit_that_changes_nothing_is_rejected() {
    let host = with_packet();
    for patch in ["{}", r#"{"context":{}}"#, r#"{"task_type":"implementation"}"#] {
        let edit =
            PacketsCommand::Edit(EditPacket { address: address(WORKER), patch: patch.to_owned() });
        let error = host.ask(ORCHESTRATOR, &command(edit)).unwrap_err();
        assert_eq!(error.code(), Code::MalformedRequest);
        assert!(error.to_string().contains("changes nothing"), "{error}");
    }
    assert_eq!(read(&host, WORKER).packet.version, 1);
}

/// The admin was once advised to write to a key of its own; it has none.
#[test]
fn the_admin_is_sent_to_the_orchestrators_credential() {
    let host = with_packet();
    for preview in [true, false] {
        let it = GeneratePacket { is_preview: preview, ..request(WORKER) };
        let generate = command(PacketsCommand::Generate(Box::new(it)));
        let error = host.ask("admin", &generate).unwrap_err().to_string();
        assert!(error.contains("credential of the orchestrator"), "{error}");
    }
}

/// The reply to an edit once showed the orchestrator what was closed to it since the packet was
/// written.
#[test]
fn an_edit_shows_nothing_that_was_closed_since() {
    let host = with_packet();
    crate::set_readers(&host, "decisions_made", &[WORKER]);
    let patch = r#"{"context":{"goal":"Sign tokens."}}"#.to_owned();
    let edit = PacketsCommand::Edit(EditPacket { address: address(WORKER), patch });
    let edited = packets(&host, ORCHESTRATOR, edit);
    assert!(!format!("{edited:?}").contains("RS256"), "{edited:?}");
    assert!(read(&host, WORKER).text.contains("RS256"));
}

/// Each change of a source is seen at the next read: it was written, redacted or deleted, or it
/// expired.
#[test]
fn a_stale_source_is_told_at_the_next_read() {
    let host = session(Config::default());
    write(&host, "constraints", "Never log tokens.");
    write_with(&host, "scope", "Constraint: only the login endpoint must change.", ttl(60));
    generate(&host, request(WORKER));
    let stale = || -> Vec<(String, Staleness, Option<u64>)> {
        let stale = read(&host, WORKER).stale;
        let origin = |it: &_| format!("{it:?}");
        stale.iter().map(|it| (origin(&it.origin), it.staleness, it.current)).collect()
    };
    assert_eq!(stale(), []);
    write(&host, "constraints", "Never log tokens or keys.");
    let [(origin, Staleness::Newer, Some(2))] = &stale()[..] else { panic!("{:?}", stale()) };
    assert!(origin.contains("constraints"), "{origin}");
    host.now.set(1_000_000 + 60_000);
    let found: Vec<_> = stale().into_iter().map(|it| it.1).collect();
    assert!(found.contains(&Staleness::Gone), "it has expired: {found:?}");
    let reason = Line::parse("reason", "r").unwrap();
    ask(&host, ORCHESTRATOR, &Command::Redact { key: key("constraints"), revision: None, reason });
    let found: Vec<_> = stale().into_iter().map(|it| it.1).collect();
    assert!(found.contains(&Staleness::Redacted), "{found:?}");
    delete(&host, "constraints");
    let found: Vec<_> = stale().into_iter().map(|it| it.1).collect();
    assert!(found.iter().all(|it| *it == Staleness::Gone), "{found:?}");
    // Another entry of the same key and version is not the source.
    write(&host, "constraints", "Anything goes.");
    let found: Vec<_> = stale().into_iter().map(|it| it.1).collect();
    assert!(found.iter().all(|it| *it == Staleness::Gone), "{found:?}");
    packets(&host, ORCHESTRATOR, PacketsCommand::Refresh(address(WORKER)));
    assert_eq!((stale(), read(&host, WORKER).packet.version), (Vec::new(), 2));
}

#[test]
fn a_hidden_entry_is_in_no_packet_and_the_orchestrator_is_told() {
    let host = session(Config::default());
    let closed = || WriteOptions { access: readers(&["orchestrator"]), ..WriteOptions::default() };
    write_with(&host, "constraints", "Never tell workers about the merger.", closed());
    write(&host, "decisions_made", "DECISION: JWT login tokens are signed with RS256.");
    let it = generate(&host, request(WORKER));
    assert_eq!(it.report.withheld, [key("constraints")]);
    assert!(!it.packet.text().contains("merger") && it.packet.text().contains("RS256"));
    // Shared packets and those of a pattern have only what all their readers may read.
    let some = || WriteOptions { access: readers(&["orchestrator", WORKER]), ..closed() };
    write_with(&host, "constraints", "Never tell reviewers about the merger.", some());
    for (to, has) in [(WORKER, true), ("shared", false), ("subagent:*", false), (OTHER, false)] {
        assert_eq!(generate(&host, request(to)).packet.text().contains("merger"), has, "{to}");
    }
    // The orchestrator may name a key.
    let named = GeneratePacket { keys: vec![key("constraints")], ..request(OTHER) };
    assert!(generate(&host, named).packet.text().contains("merger"));
    assert!(read(&host, OTHER).text.contains("merger"));
}

/// A participant that may not read an entry any more does not see it in an old packet either, nor
/// in its layers, depths and answers.
#[test]
fn a_packet_hides_what_its_reader_may_no_longer_read() {
    let host = with_packet();
    assert!(read(&host, WORKER).text.contains("RS256"));
    crate::set_readers(&host, "decisions_made", &["orchestrator"]);
    let it = read(&host, WORKER);
    assert!(!it.text.contains("RS256") && it.text.contains("24 hours"), "{}", it.text);
    assert_eq!(it.packet.checksum, it.packet.sum());
    assert!(it.packet.not_included.is_empty() && it.packet.changelog.is_empty());
    for it in [
        ReadPacket { layer: Some(Layer::Decisions), ..reading(None) },
        ReadPacket { depth: Some(Depth::Standard), ..reading(None) },
        ReadPacket { form: Form::Json, ..reading(None) },
    ] {
        let shown = read_with(&host, WORKER, it);
        assert!(!format!("{shown:?}").contains("RS256"), "{shown:?}");
    }
    let question = QueryPacket { address: None, question: "Is it RS256?".to_owned() };
    let answer = packets(&host, WORKER, PacketsCommand::Query(question));
    assert!(!format!("{answer:?}").contains("signed with"), "{answer:?}");
}

/// The reply once did not report that a source became hidden from the reader: the statement was
/// missing, and `stale` was empty. The note has no key, since the key is hidden, too.
#[test]
fn a_reader_is_told_that_sources_became_hidden() {
    let host = with_packet();
    for key in ["decisions_made", "constraints"] {
        crate::set_readers(&host, key, &["orchestrator"]);
        let it = read(&host, WORKER);
        assert_eq!(it.stale, [Stale::hidden()], "one note for all");
        assert!(!format!("{:?}", (&it.packet.statements, &it.stale)).contains(key), "{it:?}");
    }
    let deep = ReadPacket { depth: Some(Depth::Standard), ..reading(None) };
    assert_eq!(read_with(&host, WORKER, deep).stale, [Stale::hidden()]);
    assert!(read_with(&host, ORCHESTRATOR, reading(Some(WORKER))).stale.is_empty());
}
