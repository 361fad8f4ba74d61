//! A client of the older protocols whose stream is cut off again and again.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;
use shared_context_wire::http::Watch;

use crate::{
    bench::WaitEvent,
    legacy::{A, Client, KEYS, last_id},
    live::{messages, short},
};

/// What a client believes of a session, that it reads anew whatever it is told of.
struct Reader<'c> {
    client: &'c Client,
    watch: Box<Watch>,
    last_id: Option<String>,
    /// The entries there are.
    there: BTreeSet<&'static str>,
    /// What it would find changed if it looked.
    outdated: BTreeSet<&'static str>,
}

impl<'c> Reader<'c> {
    fn new(client: &'c Client) -> Self {
        let watch = client.bench.live(client.request(None));
        Self { client, watch, last_id: None, there: BTreeSet::new(), outdated: BTreeSet::new() }
    }

    fn receive(&mut self, text: &str) {
        for message in messages(text) {
            self.outdated.remove(short(&message));
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
                self.outdated.extend(self.there.insert(key).then_some("list"));
            }
            2 if self.there.remove("a") => {
                let delete = json!({"action": "delete", "key": "a"}).to_string();
                bench.check("POST /v1/sessions/s/shared_context", &delete, 200, "");
                self.outdated.extend(["a", "keys", "list"]);
            }
            2 => {}
            3 | 4 => {
                let text = self.client.next(&mut self.watch);
                self.receive(&text);
            }
            // Cut off, and connected again: after all had arrived, or not.
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
    fn a_client_that_is_cut_off_anywhere_finds_out_all_that_changed(
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
