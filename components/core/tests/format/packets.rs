//! The rows of packets: `golden/packets-4.txt`.

use shared_context_core::{
    Command, Key, Line, Outcome, PacketsCommand, RequestId,
    packets::{
        self, Address, Depth, EditPacket, Feedback, Form, GeneratePacket, GiveFeedback, Given,
        Layer, MadeBy, PacketConfig, Part, QueryPacket, ReadPacket,
    },
    port::Revision,
};

use super::{ask, compare_with_golden, config, golden, support::TestHost, write};

const ORCHESTRATOR: &str = "orchestrator";
const AGENT: &str = "subagent:a";
/// The revision of the bucket of the session in `packets-4.txt`.
const REVISION: u64 = 9;

/// Returns `command` with a request id.
fn named(request_id: &str, command: PacketsCommand) -> Command {
    let request_id = RequestId::parse(request_id).unwrap();
    Command::Named { request_id, command: Box::new(Command::Packets(command)) }
}

fn own() -> Address {
    Address::parse(AGENT).unwrap()
}

fn generate() -> Command {
    let decision = Given {
        detail: Some("no shared secret".to_owned()),
        made_by: Some(MadeBy::User),
        ..Given::new(Part::Decision, "Sign tokens with RS256")
    };
    let request = GeneratePacket {
        task: "Add JWT login".to_owned(),
        task_type: Some("implementation".to_owned()),
        address: own(),
        depth: Some(Depth::Standard),
        budget: None,
        form: Form::Markdown,
        conversation: Vec::new(),
        files: Vec::new(),
        facts: vec![decision],
        links: Vec::new(),
        keys: Vec::new(),
        is_preview: false,
    };
    named("g1", PacketsCommand::Generate(Box::new(request)))
}

fn feedback() -> Command {
    let feedback = Feedback {
        gaps: vec!["testing approach".to_owned()],
        unused: vec!["files".to_owned()],
        outcome: Some(packets::Outcome::Done),
        note: Some("It went well.".to_owned()),
    };
    named("f1", PacketsCommand::Feedback(GiveFeedback { address: None, version: None, feedback }))
}

fn read(layer: Option<Layer>) -> Command {
    let it = ReadPacket {
        address: Some(own()),
        version: None,
        layer,
        depth: None,
        form: Form::Json,
        compared: None,
    };
    Command::Packets(PacketsCommand::Read(Box::new(it)))
}

/// Returns a session with a row of each kind, one of them redacted.
fn scripted() -> TestHost {
    let host = TestHost::default();
    host.now.set(1_771_597_800_000);
    let packet = PacketConfig { auto_cleanup: false, ..PacketConfig::default() };
    let config = shared_context_core::Config { packet, ..config() };
    ask(&host, "admin", &Command::CreateSession(Box::new(config)));
    ask(&host, AGENT, &Command::Write(write("constraints", "Never log hunter2 at login.")));
    ask(&host, ORCHESTRATOR, &generate());
    ask(&host, AGENT, &read(Some(Layer::History)));
    let question = "Which database?".to_owned();
    let query = QueryPacket { address: None, question };
    ask(&host, AGENT, &Command::Packets(PacketsCommand::Query(query)));
    ask(&host, AGENT, &feedback());
    let patch = r#"{"context":{"success_criteria":["Tests pass."]}}"#.to_owned();
    let edit = PacketsCommand::Edit(EditPacket { address: own(), patch });
    ask(&host, ORCHESTRATOR, &Command::Packets(edit));
    ask(&host, AGENT, &read(None));
    let reason = Line::parse("reason", "a password").unwrap();
    let redact =
        Command::Redact { key: Key::parse("constraints").unwrap(), revision: None, reason };
    ask(&host, "admin", &redact);
    host
}

/// Returns everything that can be read of packets.
fn shown(host: &TestHost) -> Vec<Outcome> {
    let reads = [PacketsCommand::List, PacketsCommand::Statistics(None)].map(Command::Packets);
    let reads = reads.into_iter().chain([read(None), Command::Export, Command::ShowSession]);
    reads.map(|it| ask(host, "admin", &it)).collect()
}

#[test]
fn the_same_packets_give_the_same_bytes() {
    compare_with_golden(&scripted(), "packets-4");
}

#[test]
fn stored_packets_open_as_they_were_written() {
    let (new, old) = (scripted(), golden::host_with("packets-4", REVISION));
    old.now.set(new.now.get());
    assert_eq!(shown(&old), shown(&new));
    for (who, command, revision) in [(ORCHESTRATOR, generate(), 3), (AGENT, feedback(), 6)] {
        let again = ask(&old, who, &command);
        assert_eq!(again.revision, Revision(revision), "the first answer");
        assert_eq!(again, ask(&new, who, &command));
    }
}
