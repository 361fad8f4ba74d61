//! Notifications for each kind of change.

use shared_context_codec::Credential;
use shared_context_core::{Scope, ScopeKind};

use super::*;
use crate::credential::Grant;

const LIST: &str = "list";

/// Returns subscriptions to the list, the keys, the text, the entry `a` under two names, and a
/// packet.
fn subscriptions() -> Subscriptions {
    let mut subscriptions = Subscriptions::list();
    for uri in [
        "session://s/keys",
        "session://s/context",
        "session://s/entries/a",
        "session://s/entries/%61",
        "session://s/packets/subagent:a",
    ] {
        let (_, resource) = Resource::parse(uri).unwrap();
        assert_eq!(subscriptions.add(resource, uri), AddOutcome::New);
    }
    subscriptions
}

fn names<'w>(notices: impl IntoIterator<Item = Notice<'w>>) -> Vec<&'w str> {
    let name = |it| match it {
        Notice::ListChanged => LIST,
        Notice::Updated(uri) => uri.strip_prefix("session://s/").unwrap(),
    };
    notices.into_iter().map(name).collect()
}

#[track_caller]
fn check(changes: &str, expected: &[&str]) {
    let parsed: Vec<&RawValue> = serde_json::from_str(changes).unwrap();
    assert_eq!(names(subscriptions().notices_for(&parsed).unwrap()), expected, "{changes}");
}

#[test]
fn each_action_has_its_notifications() {
    let subscriptions = subscriptions();
    let entry = ["keys", "context", "entries/a", "entries/%61"];
    let all = names(subscriptions.everything());
    let with_list = [LIST, "keys", "context", "entries/a", "entries/%61"];
    assert_eq!(all, [&with_list[..], &["packets/subagent:a"]].concat());
    for action in AuditAction::ALL {
        let expected: &[&str] = match action {
            AuditAction::Write | AuditAction::Redact => &entry,
            AuditAction::Delete | AuditAction::Expire | AuditAction::SetAccess => &with_list,
            AuditAction::RestoreSnapshot => &[LIST, "keys", "context"],
            AuditAction::CreateSession
            | AuditAction::ImportSession
            | AuditAction::UpdateSession
            | AuditAction::DeleteSession
            | AuditAction::CreateProject
            | AuditAction::ImportProject
            | AuditAction::DeleteProject => &all,
            AuditAction::Snapshot
            | AuditAction::DeleteSnapshot
            | AuditAction::OpenRound
            | AuditAction::ProposeDeltas
            | AuditAction::WithdrawDeltas
            | AuditAction::RejectDeltas
            | AuditAction::CloseRound
            | AuditAction::RedactRounds
            | AuditAction::AssembleContext
            | AuditAction::Compact
            | AuditAction::RecordInjection
            | AuditAction::ReportMissing
            | AuditAction::AnswerMissing
            | AuditAction::GeneratePacket
            | AuditAction::EditPacket
            | AuditAction::ReadPacket
            | AuditAction::GivePacketFeedback
            | AuditAction::ClearPacket
            | AuditAction::AddMemory
            | AuditAction::UpdateMemory
            | AuditAction::SupersedeMemory
            | AuditAction::MarkMemory
            | AuditAction::ReadMemories
            | AuditAction::Rehydrate
            | AuditAction::ExpireMemory
            | AuditAction::DeleteMemory
            | AuditAction::RedactMemory
            | AuditAction::PutSection
            | AuditAction::DeleteSection
            | AuditAction::RedactSection
            | AuditAction::AcquireSection
            | AuditAction::RenewLease
            | AuditAction::ReleaseSection
            | AuditAction::ExpireLease
            | AuditAction::Coordinate
            | AuditAction::OfferHandoff
            | AuditAction::AcceptHandoff
            | AuditAction::DeclineHandoff
            | AuditAction::TakeOver
            | AuditAction::RedactHandoff
            | AuditAction::ArchiveProject
            | AuditAction::ArchiveSession
            | AuditAction::RevokeCredentials => &["keys"],
        };
        let key = match action {
            AuditAction::Write
            | AuditAction::Delete
            | AuditAction::Expire
            | AuditAction::Redact
            | AuditAction::SetAccess => r#""key":"a","version":2,"#,
            _ => "",
        };
        check(&format!(r#"[{{{key}"action":"{action}"}}]"#), expected);
    }
    check(r#"[{"action":"write","key":"a","version":1}]"#, &with_list);
    check(r#"[{"action":"write","key":"b","version":1}]"#, &[LIST, "keys", "context"]);
    check(r#"[{"action":"write","key":"b","version":2}]"#, &["keys", "context"]);
    let packet = |action, label| format!(r#"[{{"action":"{action}","label":"{label}"}}]"#);
    let (ours, other) = ("subagent:a", "subagent:b");
    check(&packet("context_generate", ours), &[LIST, "keys", "packets/subagent:a"]);
    check(&packet("context_clear", ours), &[LIST, "keys", "packets/subagent:a"]);
    check(&packet("context_edit", ours), &["keys", "packets/subagent:a"]);
    check(&packet("context_edit", other), &["keys"]);
    check(&packet("context_feedback", ours), &["keys"]);
    check("[]", &[]);
}

#[test]
fn each_notification_is_sent_once_where_it_first_occurs() {
    check(
        r#"[{"action":"write","key":"b","version":2},{"action":"write","key":"a","version":2},
            {"action":"delete","key":"b","version":2},{"action":"write","key":"a","version":3},
            {"action":"write","key":"b","version":1}]"#,
        &["keys", "context", "entries/a", "entries/%61", LIST],
    );
}

#[test]
fn notifications_are_only_for_subscriptions() {
    let changes: Vec<&RawValue> =
        serde_json::from_str(r#"[{"action":"delete","key":"a"},{"action":"import_session"}]"#)
            .unwrap();
    let notices_for = |subscriptions: &Subscriptions| {
        names(subscriptions.notices_for(&changes).unwrap()).join(" ")
    };
    assert_eq!(notices_for(&Subscriptions::list()), LIST);
    assert_eq!(notices_for(&Subscriptions::default()), "");
    let mut subscriptions = subscriptions();
    subscriptions.is_list = false;
    let all = "keys context entries/a entries/%61 packets/subagent:a";
    assert_eq!(notices_for(&subscriptions), all);
    subscriptions.remove(&Resource::Context, "session://s/context");
    let packet = Resource::Packet("subagent:a".to_owned());
    subscriptions.remove(&packet, "session://s/packets/subagent:a");
    subscriptions.remove(&Resource::Keys, "session://s/keys");
    subscriptions.remove(&Resource::Keys, "session://s/keys");
    subscriptions.remove(&Resource::Entry("a".to_owned()), "session://s/entries/a");
    assert_eq!(notices_for(&subscriptions), "entries/%61");
    subscriptions.remove(&Resource::Entry("a".to_owned()), "session://s/entries/%61");
    assert!(subscriptions.is_empty());
    assert_eq!(subscriptions.count, 0);
}

/// An unreadable change was once ignored.
#[test]
fn an_invalid_change_is_an_error() {
    for change in [r#"{"key":"a"}"#, r#"{"action":"paint"}"#, r#"{"action":7}"#, "7"] {
        let change = RawValue::from_string(change.to_owned()).unwrap();
        assert!(subscriptions().notices_for(&[&change]).is_err(), "{change}");
    }
}

#[test]
fn subscriptions_are_bounded() {
    let mut subscriptions = Subscriptions::list();
    let add = |subscriptions: &mut Subscriptions, nth: usize| {
        subscriptions
            .add(Resource::Entry(format!("key_{nth}")), &format!("session://s/entries/{nth}"))
    };
    for nth in 0..SUBSCRIPTIONS_MAX {
        assert_eq!(add(&mut subscriptions, nth), AddOutcome::New);
    }
    assert_eq!(add(&mut subscriptions, SUBSCRIPTIONS_MAX), AddOutcome::TooMany);
    assert_eq!(add(&mut subscriptions, 7), AddOutcome::Known);
    subscriptions.remove(&Resource::Entry("key_7".to_owned()), "session://s/entries/7");
    assert_eq!(add(&mut subscriptions, SUBSCRIPTIONS_MAX), AddOutcome::New);
}

#[test]
fn no_resource_has_a_longer_uri() {
    let hex = |text: &str| text.bytes().fold(String::new(), |uri, b| format!("{uri}%{b:02x}"));
    let (session, part) = ("s".repeat(128), "k".repeat(64));
    let longest = format!("session://{}/entries/{}", hex(&session), hex(&format!("{part}:{part}")));
    let parsed = Resource::parse(&longest).unwrap();
    assert_eq!(parsed, (session.into(), Resource::Entry(format!("{part}:{part}"))));
    for none in [
        format!("session://s/entries/{}", "k".repeat(65)),
        format!("session://s/entries/{}", "%6b".repeat(500)),
        format!("session://{}/keys", "s".repeat(URI_BYTES_MAX)),
        "session://s/entries/A".to_owned(),
        "session://s".to_owned(),
        "skill://shared-context/SKILL.md".to_owned(),
        "file:///keys".to_owned(),
        String::new(),
    ] {
        assert_eq!(Resource::parse(&none), None, "{none}");
    }
}

#[test]
fn a_limited_credential_subscribes_to_its_keys_and_the_list() {
    let grant = |keys: &[&str]| {
        Identity::Participant(Grant {
            scope: Scope::new(ScopeKind::Session, "s").unwrap(),
            participant: "subagent:a".to_owned(),
            credential: Credential { incarnation: 1, epoch: 1 },
            keys: keys.iter().map(|it| (*it).to_owned()).collect(),
            project: None,
            tools: None,
        })
    };
    let limited = grant(&["inv_*", "scope"]);
    let entry = |key: &str| Resource::Entry(key.to_owned());
    assert!(entry("inv_1").is_granted(&limited) && entry("scope").is_granted(&limited));
    assert!(!entry("plan").is_granted(&limited) && Resource::Keys.is_granted(&limited));
    assert!(entry("plan").is_granted(&grant(&[])) && entry("plan").is_granted(&Identity::Admin));
}
