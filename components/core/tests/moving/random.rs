//! After any changes of a project, its export can be imported, and the copy has the same export.

use proptest::{collection::vec, prelude::*, sample::select};

use super::*;

const MARKERS: [&str; 8] = ["1.0", "2.1", "3.1", "3.1.2", "4.a", "4.2a", "4.10", "4.a.*"];
const TEXTS: [&str; 6] =
    ["", "PRUNE: later", "See §3.1.2 and §2.1.", "a \"b\" \\ \n\t\u{1} é", "hunter2", "§9"];

fn section() -> impl Strategy<Value = OutlineCommand> {
    let of = select(&MARKERS[..]).prop_map(marker);
    let put = (of.clone(), select(&TEXTS[..]), any::<bool>(), any::<bool>());
    let put = put.prop_filter_map("a valid section", |(of, text, has_content, has_title)| {
        let section = NewSection {
            marker: of.clone(),
            title: has_title.then(|| "A title".to_owned()),
            content: has_content.then(|| text.to_owned()),
            progress: (of.level() == 1).then_some(50),
            readers: (of.level() == 4).then(|| vec!["subagent:*".to_owned()]),
            ..new("1.0", "")
        };
        let section = section.checked().ok()?;
        Some(OutlineCommand::Put(Box::new(PutSection { section, if_version: None, change: None })))
    });
    let reason = || line("a password");
    prop_oneof![
        8 => put,
        1 => of.clone().prop_map(|marker| OutlineCommand::Delete { marker, if_version: None }),
        1 => of.prop_map(move |marker| OutlineCommand::Redact { marker, reason: reason() }),
        1 => (0_u64..3).prop_map(|if_version| {
            let blockers = Some(vec![line("PCI review")]);
            OutlineCommand::Coordinate(Box::new(CoordinationChange {
                if_version,
                assignments: None,
                blockers,
                resources: None,
            }))
        }),
    ]
}

fn any_handoff() -> impl Strategy<Value = HandoffsCommand> {
    let id = (1_u64..6).prop_map(HandoffId);
    let kinds = vec![HandoffKind::Complete, HandoffKind::Emergency, HandoffKind::Specialist];
    let parts = (select(kinds), select(vec![AGENT, OTHER]), select(vec![&[][..], &["3.1"][..]]));
    prop_oneof![
        3 => parts.prop_map(|(kind, to, sections)| offer(kind, to, sections)),
        2 => id.clone().prop_map(HandoffsCommand::Accept),
        1 => id.clone().prop_map(|id| HandoffsCommand::Decline { id, reason: line("no") }),
        1 => id.prop_map(|id| HandoffsCommand::Redact { id, reason: line("a name") }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_export_can_be_imported(
        steps in vec(
            (
                select(vec![ORCHESTRATOR, AGENT, OTHER]),
                prop_oneof![
                    section().prop_map(ProjectCommand::Outline),
                    any_handoff().prop_map(ProjectCommand::Handoffs),
                ],
            ),
            0..60,
        ),
    ) {
        let host = project();
        add(&host, "Orders are in PostgreSQL");
        for (who, command) in steps {
            // Many are rejected: that is part of what happens to a project.
            let _ = try_ask(&host, who, command);
        }
        let pages = export(&host);
        let copy = imported(&pages);
        prop_assert_eq!(content(export(&copy)), content(pages));
        prop_assert_eq!(index(&copy), index(&host));
    }
}
