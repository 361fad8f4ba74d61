//! A client of the legacy protocols whose stream disconnects repeatedly.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;
use shared_context_wire::http::Watch;

use crate::{
    bench::WaitEvent,
    legacy::{A, Client, KEYS, last_id},
    streams::{messages, subject},
};

/// A client that caches a session and rereads every resource it is notified of.
struct Reader<'c> {
    client: &'c Client,
    watch: Box<Watch>,
    last_id: Option<String>,
    /// The existing entries.
    existing: BTreeSet<&'static str>,
    /// Resources that changed since the client last read them.
    outdated: BTreeSet<&'static str>,
}

impl<'c> Reader<'c> {
    fn new(client: &'c Client) -> Self {
        let watch = client.bench.live(client.request(None));
        Self { client, watch, last_id: None, existing: BTreeSet::new(), outdated: BTreeSet::new() }
    }

    fn receive(&mut self, text: &str) {
        for message in messages(text) {
            self.outdated.remove(subject(&message));
        }
        self.last_id = last_id(text).map(str::to_owned).or(self.last_id.take());
    }

    fn act(&mut self, step: u8) {
        let bench = &self.client.bench;
        match step {
            0 | 1 => {
                let key = if step == 0 { "a" } else { "b" };
                bench.write(key);
                self.outdated.extend(["keys", key].iter().filter(|it| **it != "b"));
                self.outdated.extend(self.existing.insert(key).then_some("list"));
            }
            2 if self.existing.remove("a") => {
                let delete = json!({"action": "delete", "key": "a"}).to_string();
                bench.check("POST /v1/sessions/s/shared_context", &delete, 200, "");
                self.outdated.extend(["a", "keys", "list"]);
            }
            2 => {}
            3 | 4 => {
                let text = self.client.next(&mut self.watch);
                self.receive(&text);
            }
            // Reconnects: after all events arrived, or after losing some.
            5 => self.watch = bench.live(self.client.request(None)),
            6 => {
                drop(self.client.next(&mut self.watch));
                self.watch = bench.live(self.client.request(self.last_id.as_deref()));
            }
            _ => {
                bench.during_wait(WaitEvent::ServerStops);
                while let Some(text) = bench.next(&mut self.watch) {
                    self.receive(&text);
                }
                self.watch = bench.live(self.client.request(self.last_id.as_deref()));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_client_that_reconnects_learns_of_every_change(
        steps in prop::collection::vec(0_u8..8, 0..60),
    ) {
        let client = Client::new();
        client.subscribe(A);
        client.subscribe(KEYS);
        let mut reader = Reader::new(&client);
        let opening = client.next(&mut reader.watch);
        reader.receive(&opening);
        for step in &steps {
            reader.act(*step);
        }
        while let text = client.next(&mut reader.watch) && !text.ends_with(": heartbeat\n") {
            reader.receive(&text);
        }
        prop_assert!(reader.outdated.is_empty(), "{:?} {steps:?}", reader.outdated);
    }
}
