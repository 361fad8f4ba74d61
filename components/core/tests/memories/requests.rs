//! Request ids, which make a retry safe.

use shared_context_core::{
    Code, Command, MemoriesCommand, Outcome, ProjectCommand, RequestId,
    memories::{Mark, NewMemory, UpdateMemory},
    port::Revision,
};

use crate::{
    AGENT, DAY, ORCHESTRATOR, OTHER, START, add, at, change, command, decision, done, id, info,
    later, learning, mark, named, project, read, state, supersede, support::TestHost, update,
};

fn code(host: &TestHost, who: &str, it: &Command) -> Code {
    host.ask_project(who, it).unwrap_err().code()
}

fn archive(id: &str) -> Command {
    let request_id = RequestId::parse(id).unwrap();
    Command::Named { request_id, command: Box::new(Command::Project(ProjectCommand::Archive)) }
}

/// Returns a change of each kind, with a request id.
fn all_kinds(host: &TestHost) -> Vec<Command> {
    let ids: Vec<_> = ["A", "B", "C", "D", "E"]
        .map(|it| add(host, ORCHESTRATOR, crate::important(1, state(it, 1))).id)
        .to_vec();
    let new = NewMemory { expires_at: at(START + 9 * DAY), ..decision("Tokens", "Sign them") };
    let reason = shared_context_core::Line::parse("reason", "a password").unwrap();
    let title = Some("Z".to_owned());
    vec![
        named("1", MemoriesCommand::Add(vec![new, learning("Pools", "They run dry")])),
        named("2", change(UpdateMemory { title, if_version: Some(1), ..update(ids[0]) })),
        named("3", supersede(ids[1], ids[2])),
        named("4", mark(&ids[2..4], Mark::Deleted)),
        named("5", MemoriesCommand::Redact { id: id(ids[4]), reason }),
        named("6", MemoriesCommand::Maintain { is_dry_run: false }),
    ]
}

#[test]
fn a_repeated_request_gets_the_first_reply() {
    let host = project();
    let requests = all_kinds(&host);
    let first: Vec<Outcome> = requests.iter().map(|it| done(&host, ORCHESTRATOR, it)).collect();
    // Also when it would not be valid any more.
    later(&host, 10 * DAY);
    add(&host, ORCHESTRATOR, state("F", 1));
    let rows = host.project_rows("");
    for (request, first) in requests.iter().zip(&first) {
        assert_eq!(&done(&host, ORCHESTRATOR, request), first);
    }
    assert_eq!(host.project_rows(""), rows, "nothing was done again");
}

#[test]
fn a_request_id_is_for_one_request() {
    let host = project();
    let requests = all_kinds(&host);
    for it in &requests {
        done(&host, ORCHESTRATOR, it);
    }
    let other = |id: &str| named(id, MemoriesCommand::Add(vec![learning("Other", "It differs")]));
    for nth in 1..=6 {
        let reused = code(&host, ORCHESTRATOR, &other(&nth.to_string()));
        assert_eq!(reused, Code::RequestIdReused, "{nth}");
    }
    // What differs in any member is another request.
    let new = || crate::tagged(&["db"], learning("Same", "It is the same"));
    done(&host, ORCHESTRATOR, &named("n", MemoriesCommand::Add(vec![new()])));
    for differs in [
        NewMemory { importance: 6, ..new() },
        NewMemory { tags: Vec::new(), ..new() },
        NewMemory { at: at(START), ..new() },
        NewMemory { expires_at: at(START + DAY), ..new() },
        NewMemory { authority: shared_context_core::item::Authority::Model, ..new() },
        NewMemory { parent: Some(id(add(&host, AGENT, learning("P", "q")).id)), ..new() },
    ] {
        let again = named("n", MemoriesCommand::Add(vec![differs]));
        assert_eq!(code(&host, ORCHESTRATOR, &again), Code::RequestIdReused);
    }
}

#[test]
fn participants_have_request_ids_of_their_own() {
    let host = project();
    let request = |title: &str| named("1", MemoriesCommand::Add(vec![learning(title, "It is")]));
    let first = done(&host, "subagent:a in s1", &request("A"));
    let second = done(&host, OTHER, &request("B"));
    assert_ne!(first, second);
    // The same participant in another session is another caller.
    for other in ["subagent:a in s2", AGENT] {
        assert_ne!(done(&host, other, &request("C")), first);
    }
    assert_eq!(done(&host, "subagent:a in s1", &request("A")), first);
}

#[test]
fn a_reply_is_remembered_for_256_changes() {
    let host = project();
    let request = named("1", MemoriesCommand::Add(vec![learning("A", "It is")]));
    let first = done(&host, ORCHESTRATOR, &request);
    let it = crate::find(&host, crate::search()).found[0].memory.id;
    for _ in 0..255 {
        read(&host, ORCHESTRATOR, it);
    }
    assert_eq!(done(&host, ORCHESTRATOR, &request), first);
    read(&host, ORCHESTRATOR, it);
    assert_eq!(host.project_rows("q/"), []);
    let again = crate::memories(done(&host, ORCHESTRATOR, &request));
    let crate::MemoriesReply::Added(again) = again else { panic!("{again:?}") };
    assert!(!again[0].is_new, "the same words are there already");
}

#[test]
fn what_changes_nothing_takes_no_request_id() {
    let host = project();
    for read in [
        MemoriesCommand::Search(Box::new(crate::search())),
        MemoriesCommand::Maintain { is_dry_run: true },
        MemoriesCommand::Rehydrate(crate::rehydration(500, None)),
        MemoriesCommand::DecisionLog { limit: 1 },
    ] {
        assert_eq!(code(&host, ORCHESTRATOR, &named("1", read)), Code::MalformedRequest);
    }
}

/// Archiving did not look at its request id: an id that was used for another request archived the
/// project, for ever.
#[test]
fn a_request_id_of_another_request_does_not_archive_a_project() {
    let host = project();
    let add = named("1", MemoriesCommand::Add(vec![learning("A", "It is")]));
    done(&host, "admin", &add);
    assert_eq!(code(&host, "admin", &archive("1")), Code::RequestIdReused);
    assert!(!info(&host).is_archived);
    let archived = done(&host, "admin", &archive("2"));
    assert_eq!(archived.revision, Revision(3));
    assert_eq!(done(&host, "admin", &archive("2")), archived);
    assert!(info(&host).is_archived);
    assert_eq!(code(&host, "admin", &command(MemoriesCommand::Add(vec![]))), Code::ProjectArchived);
}
