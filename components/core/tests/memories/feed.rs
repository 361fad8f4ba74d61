//! The changes of a project, and its credentials.

use shared_context_core::{
    Caller, Code, Command, Credential, Line, MemoriesCommand, ProjectCommand, ProjectConfig, Reply,
    audit::Subject, memories::Mark, port::Revision, reply::ChangesPage,
};

use crate::{
    ORCHESTRATOR, START, add, add_all, ask, change, command, done, id, info, later, learning, mark,
    project, read, refused, rehydrate, rehydration, state, supersede, support::TestHost, update,
};

fn changes(host: &TestHost, since: Option<u64>, limit: u32) -> ChangesPage {
    let since = since.map(Revision);
    let it = Command::Project(ProjectCommand::Changes { since, limit });
    let reply = done(host, ORCHESTRATOR, &it).reply;
    let Reply::Changes(it) = reply else { panic!("{reply:?}") };
    it
}

/// Returns the events of a page: revision, action, memory and reason.
fn events(it: &ChangesPage) -> Vec<(u64, &str, Option<&str>, Option<&str>)> {
    let events = it.changes.iter().map(|it| {
        let label = it.label.as_ref().map(Subject::as_str);
        (it.revision.0, it.action.as_str(), label, it.reason.as_ref().map(Line::as_str))
    });
    events.collect()
}

#[test]
fn changes_name_the_memories() {
    let host = project();
    let two = add_all(&host, ORCHESTRATOR, vec![state("A", 1), state("B", 2)]);
    let ids = [two[0].id.to_string(), two[1].id.to_string()];
    let [a, b] = [&ids[0], &ids[1]].map(|it| Some(it.as_str()));
    ask(&host, ORCHESTRATOR, change(update(two[0].id)));
    read(&host, ORCHESTRATOR, two[0].id);
    rehydrate(&host, ORCHESTRATOR, rehydration(500, None));
    ask(&host, ORCHESTRATOR, supersede(two[0].id, two[1].id));
    ask(&host, ORCHESTRATOR, mark(&[two[0].id], Mark::Deleted));
    crate::maintain(&host, true);
    crate::maintain(&host, false);
    let reason = Line::parse("reason", "why not").unwrap();
    ask(&host, ORCHESTRATOR, MemoriesCommand::Redact { id: id(two[1].id), reason });
    let all = changes(&host, None, 100);
    let actions: Vec<_> = events(&all);
    assert_eq!(
        actions,
        [
            (1, "create_project", None, None),
            (2, "add_memory", a, None),
            (2, "add_memory", b, None),
            (3, "update_memory", a, None),
            (4, "read_memories", None, None),
            (5, "rehydrate", None, None),
            (6, "supersede_memory", a, None),
            (7, "mark_memory", a, Some("deleted")),
            (8, "delete_memory", a, Some("marked")),
            (9, "redact_memory", b, Some("why not")),
        ]
    );
    assert_eq!((all.next_since, all.has_more), (Revision(9), false));
    assert_eq!(host.log.borrow().len(), all.changes.len(), "the same is logged");
}

#[test]
fn a_page_of_changes_leads_to_the_next() {
    let host = project();
    for nth in 0..5 {
        add_all(
            &host,
            ORCHESTRATOR,
            vec![state(&format!("A{nth}"), 1), state(&format!("B{nth}"), 1)],
        );
    }
    let (mut since, mut seen) = (None, Vec::new());
    loop {
        let page = changes(&host, since, 2);
        seen.extend(page.changes.iter().map(|it| it.revision.0));
        since = Some(page.next_since.0);
        if !page.has_more {
            break;
        }
    }
    assert_eq!(seen, [1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
    assert_eq!(since, Some(6));
    let end = changes(&host, since, 2);
    assert_eq!((end.changes.len(), end.has_more, end.next_since), (0, false, Revision(6)));
    let beyond = Command::Project(ProjectCommand::Changes { since: Some(Revision(7)), limit: 1 });
    let error = host.ask_project(ORCHESTRATOR, &beyond).unwrap_err();
    assert_eq!(error.code(), Code::ChangesTruncated);
}

#[test]
fn a_project_of_the_same_name_is_another_project() {
    let host = project();
    let old = add(&host, ORCHESTRATOR, learning("Pools", "They run dry")).id;
    let first = info(&host);
    let credential = |epoch: u64, incarnation: u64| {
        let mut caller = Caller::trusted(ORCHESTRATOR).unwrap();
        caller.credential = Some(Credential { incarnation, epoch });
        caller
    };
    let own = credential(first.credential_epoch, first.incarnation);
    let show = Command::Project(ProjectCommand::Show);
    assert!(host.ask_project_as(&own, &show).is_ok());
    let other = credential(first.credential_epoch + 1, first.incarnation);
    assert!(host.ask_project_as(&other, &show).is_err());
    done(&host, "admin", &Command::Project(ProjectCommand::Delete));
    assert_eq!(host.project_rows(""), []);
    let gone = host.ask_project_as(&own, &show).unwrap_err();
    assert_eq!(gone.code(), Code::ProjectNotFound);
    // In the same millisecond, too.
    assert_eq!(host.now.get(), START);
    let create = || Command::Project(ProjectCommand::Create(ProjectConfig::default()));
    done(&host, "admin", &create());
    let void = host.ask_project_as(&own, &command(MemoriesCommand::Add(vec![state("A", 1)])));
    assert_eq!(void.unwrap_err().code(), Code::Unauthenticated);
    let new = add(&host, ORCHESTRATOR, learning("Pools", "They run dry"));
    assert!(new.is_new);
    assert_eq!((new.id.number(), new.id == old), (old.number(), false));
    let old = MemoriesCommand::Read(vec![id(old)]);
    assert_eq!(refused(&host, ORCHESTRATOR, old), Code::MemoryNotFound);
    let feed = changes(&host, None, 10);
    assert_eq!(events(&feed)[0], (4, "create_project", None, None));
    let before = Command::Project(ProjectCommand::Changes { since: Some(Revision(1)), limit: 1 });
    let error = host.ask_project(ORCHESTRATOR, &before).unwrap_err();
    assert_eq!(error.code(), Code::ChangesTruncated);
    later(&host, 1);
    assert!(host.ask_project("admin", &create()).is_err());
}

#[test]
fn the_feed_has_the_last_4096_changes() {
    let host = project();
    let it = add(&host, ORCHESTRATOR, state("A", 1)).id;
    for _ in 0..4_094 {
        read(&host, ORCHESTRATOR, it);
    }
    assert_eq!(changes(&host, Some(0), 1).changes[0].revision, Revision(1));
    read(&host, ORCHESTRATOR, it);
    assert_eq!(changes(&host, None, 1).changes[0].revision, Revision(2));
    let gone = Command::Project(ProjectCommand::Changes { since: Some(Revision(0)), limit: 1 });
    let error = host.ask_project(ORCHESTRATOR, &gone).unwrap_err();
    assert_eq!(error.code(), Code::ChangesTruncated);
    assert_eq!(host.project_rows("c/").len(), 4_096);
    assert_eq!(read(&host, ORCHESTRATOR, it).uses.count, 4_096);
}

#[test]
fn of_sessions_the_last_thousand_are_known() {
    let host = project();
    let it = add(&host, "orchestrator in s0", state("A", 1)).id;
    for nth in 1..=1_000 {
        later(&host, 1);
        read(&host, &format!("orchestrator in s{nth}"), it);
        if nth == 500 {
            read(&host, "orchestrator in s0", it);
        }
    }
    assert_eq!((host.project_rows("s/").len(), info(&host).sessions), (1_000, 1_001));
    assert_eq!(host.project_rows("s/s0").len(), 1, "it did something since");
    let known = |it: &str| host.project_rows("s/").iter().any(|row| row.0 == it);
    assert!(!known("s/s1") && known("s/s2") && known("s/s1000"));
}
