//! A property of packets: for any limited credential, any access lists and any changes of them, a
//! reader sees nothing of an entry that it may not read.

use proptest::{collection::vec, prelude::*, sample::select};
use shared_context_core::{
    Command, Config, PacketsCommand, Reply, WriteOptions,
    packets::{Address, Depth, Form, GeneratePacket, Layer, QueryPacket, ReadPacket},
};

use crate::{ORCHESTRATOR, a_write, ask, readers, session, set_readers, support::TestHost};

/// The keys of the entries. Their names decide which part of a packet they are for.
const KEYS: [&str; 6] =
    ["constraints", "decisions_made", "scope", "open_questions", "inv_login", "plan"];
const READERS: [&[&str]; 5] =
    [&["*"], &["orchestrator"], &["subagent:a"], &["orchestrator", "subagent:a"], &["subagent:*"]];
const ADDRESSES: [&str; 4] = ["subagent:a", "subagent:b", "subagent:*", "shared"];

/// An entry: its key, its readers, and its readers after the packet was written, if they change.
#[derive(Debug, Clone)]
struct AnEntry {
    key: &'static str,
    readers: &'static [&'static str],
    changed: Option<&'static [&'static str]>,
}

fn entry() -> impl Strategy<Value = AnEntry> {
    let readers = select(&READERS[..]);
    (select(&KEYS[..]), readers.clone(), proptest::option::of(readers))
        .prop_map(|(key, readers, changed)| AnEntry { key, readers, changed })
}

/// Returns a value that no other entry has a part of.
fn value(key: &str) -> String {
    format!(
        "DECISION: The login of {key} uses secret{key}one because it must. Never log \
         secret{key}two in login. We tried secret{key}three for login and it failed. Goal: login by \
         secret{key}four."
    )
}

fn write(host: &TestHost, it: &AnEntry) {
    let access = readers(it.readers);
    let options = WriteOptions { access, ..WriteOptions::default() };
    // Not everyone may write over what it cannot read.
    drop(host.ask(ORCHESTRATOR, &a_write(it.key, &value(it.key), options)));
}

/// Returns all that `who` reads of packets.
fn shown(host: &TestHost, who: &str) -> String {
    let read = |address: Option<&str>, layer, depth, form| {
        let address = address.map(|it| Address::parse(it).unwrap());
        let it = ReadPacket { address, version: None, layer, depth, form, compared: None };
        PacketsCommand::Read(Box::new(it))
    };
    let mut requests = vec![
        PacketsCommand::List,
        PacketsCommand::Query(QueryPacket {
            address: None,
            question: "Which secret does login use, and what failed?".to_owned(),
        }),
    ];
    requests.extend(Form::ALL.map(|it| read(None, None, None, it)));
    requests.extend(Depth::ALL.map(|it| read(None, None, Some(it), Form::Json)));
    requests.extend(Layer::ALL.map(|it| read(None, Some(it), None, Form::Markdown)));
    for depth in [None, Some(Depth::Deep)] {
        requests.extend(ADDRESSES.map(|it| read(Some(it), None, depth, Form::Json)));
    }
    let ask = |it| host.ask(who, &Command::Packets(it)).map(|it| it.reply);
    format!("{:?}", requests.into_iter().map(ask).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_reader_sees_nothing_of_entries_that_are_closed_to_it(
        entries in vec(entry(), 1..8),
        address in select(&ADDRESSES[..]),
        granted in vec(select(&["*", "constraints", "inv_*", "decisions_*", "plan"][..]), 1..3),
        depth in select(&Depth::ALL[..]),
        again in any::<bool>(),
    ) {
        let host = session(Config::default());
        for it in &entries {
            write(&host, it);
        }
        let request = GeneratePacket {
            task: "Repair the login".to_owned(),
            task_type: None,
            address: Address::parse(address).unwrap(),
            depth: Some(depth),
            budget: Some(shared_context_core::tokens::Tokens(4_000)),
            form: Form::Markdown,
            conversation: Vec::new(),
            files: Vec::new(),
            facts: Vec::new(),
            links: Vec::new(),
            keys: Vec::new(),
            is_preview: false,
        };
        let generate = Command::Packets(PacketsCommand::Generate(Box::new(request)));
        for _ in 0..=u8::from(again) {
            ask(&host, ORCHESTRATOR, &generate);
        }
        for it in &entries {
            if let Some(changed) = it.changed {
                set_readers(&host, it.key, changed);
            }
        }
        let limited = format!("subagent:a only {}", granted.join(","));
        for who in [limited.as_str(), "subagent:a", "subagent:b", ORCHESTRATOR] {
            let shown = shown(&host, who);
            for key in KEYS {
                let read = Command::Read { key: crate::key(key), if_changed_since: None };
                if host.ask(who, &read).is_err() {
                    prop_assert!(!shown.contains(&format!("secret{key}")), "{who} sees {key}: {shown}");
                }
            }
        }
        // The test would pass with empty packets, too.
        let open = entries.iter().all(|it| it.readers == ["*"] && it.changed.is_none());
        let Reply::Packets(_) = ask(&host, ORCHESTRATOR, &Command::Packets(PacketsCommand::List)).reply
        else { panic!() };
        if open && depth != Depth::Minimal {
            prop_assert!(shown(&host, ORCHESTRATOR).contains("secret"));
        }
    }
}
