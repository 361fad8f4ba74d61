//! Facts that no mark announces, compared with a strong baseline: the messages of users, the newest
//! first.

use std::collections::BTreeSet;

use shared_context_core::item::{Item, ListedKind};

use super::{compacted, item, tokens};

const THINGS: [&str; 12] = [
    "staging bucket",
    "billing queue",
    "import job",
    "release branch",
    "backup window",
    "search cluster",
    "mail relay",
    "nightly report",
    "test account",
    "audit export",
    "price table",
    "login page",
];
const NAMES: [&str; 10] = [
    "heron", "Kestrel", "osprey", "Merlin", "plover", "Dunlin", "avocet", "Siskin", "curlew",
    "Linnet",
];
const PLAIN: [&str; 8] = [
    "could you look at the second part again before we go on with the rest of it",
    "that is more or less what they had in mind when it was written down",
    "show me how this behaves when nothing else is going on at the same time",
    "it looks fine so far, go on with the next one when this one is done",
    "explain once more what happens between the two steps and why it is so",
    "the other one seems to be slower than before but nobody knows the reason",
    "try the same thing again and see whether the message is still there",
    "leave everything else as it is for now and come back to that later",
];

/// A small generator of numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn one_of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        let place = self.below(list.len());
        list.get(place).copied().unwrap()
    }
}

/// Returns a conversation, and the sentences that must be kept.
fn conversation(seed: u64) -> (Vec<Item>, Vec<String>) {
    let mut numbers = Numbers(seed);
    let (mut items, mut facts) = (Vec::new(), Vec::new());
    for turn in 0..150 {
        let (thing, name) = (numbers.one_of(&THINGS), numbers.one_of(&NAMES));
        let number = 100 + numbers.below(9_000);
        let fact = match numbers.below(5) {
            0 => format!("the {thing} is called {name}-{number} on our side"),
            1 => format!("we moved the {thing} to {name} with a limit of {number}"),
            2 => format!("{name} looks after the {thing}, reach them at {number}"),
            3 => format!("for the {thing} I want {number} and not the default of {name}"),
            _ => format!("nobody but {name} may touch the {thing} since ticket {number}"),
        };
        let mut user = numbers.one_of(&PLAIN).to_owned();
        let mut model = (0..6).map(|_| numbers.one_of(&PLAIN)).collect::<Vec<_>>().join(". ");
        match numbers.below(10) {
            0..3 => user = format!("{user}, {fact}"),
            3 => model = format!("{model}. {fact}"),
            _ => {}
        }
        if user.contains(&fact) || model.contains(&fact) {
            facts.push(fact);
        }
        items.push(item(&format!("u{turn}"), ListedKind::UserMessage, &user));
        items.push(item(&format!("m{turn}"), ListedKind::SessionHistory, &model));
    }
    (items, facts)
}

/// Returns the places of the items that the baseline keeps.
fn baseline(items: &[Item], target: u32) -> BTreeSet<usize> {
    let mut kept = BTreeSet::new();
    let mut left = target;
    for of_users in [true, false] {
        for (place, item) in items.iter().enumerate().rev() {
            if item.id.starts_with('u') == of_users && item.tokens.0 <= left {
                left -= item.tokens.0;
                kept.insert(place);
            }
        }
    }
    kept
}

#[test]
fn more_is_kept_than_what_users_said_last() {
    for percent in [5, 14, 35] {
        let (mut ours, mut theirs, mut all) = (0, 0, 0);
        for seed in 1..=12 {
            let (items, facts) = conversation(seed);
            let target = tokens(&items) * percent / 100;
            let result = compacted(&items, target).items(&items);
            let kept = baseline(&items, target);
            let of = |texts: &mut dyn Iterator<Item = &str>| {
                let texts: Vec<&str> = texts.collect();
                facts.iter().filter(|fact| texts.iter().any(|it| it.contains(*fact))).count()
            };
            ours += of(&mut result.iter().filter_map(Item::text));
            theirs += of(&mut kept.iter().filter_map(|it| items.get(*it)?.text()));
            all += facts.len();
        }
        assert!(ours > theirs, "{ours} of {all} at {percent} %, the baseline {theirs}");
        assert!(percent < 35 || ours * 100 >= all * 95, "{ours} of {all}");
    }
}
