//! Events during a request: faults and nested requests.

use rand::RngExt as _;

use super::Generator;
use crate::{
    script::{Call, Event, EventKind, NthCall},
    world::World,
};

/// Deepest nesting of requests.
const DEPTH_MAX: usize = 3;
/// Number of attempts before the core gives a request up.
const ATTEMPTS_MAX: u32 = 16;

impl Generator {
    /// Returns the events during a request at nesting `depth`.
    pub(super) fn during(&mut self, world: &World, depth: usize) -> Vec<Event> {
        let mut events = Vec::new();
        if self.chance(self.profile.faults) {
            if self.chance(0.02) {
                return self.storm();
            }
            events.push(self.fault());
            if self.chance(0.2) {
                events.push(self.fault());
            }
        }
        let mut likely = self.profile.overlaps;
        while depth < DEPTH_MAX && self.chance(likely) {
            let at = self.at();
            events.push(Event { at, kind: EventKind::Meanwhile(self.request(world, depth + 1)) });
            likely /= 2.0;
        }
        events
    }

    /// Returns conflicts for every attempt, so that the request is given up.
    fn storm(&mut self) -> Vec<Event> {
        let is_read = self.chance(0.3);
        let event = |nth| {
            if is_read {
                Event { at: NthCall(Call::Read, nth), kind: EventKind::Move }
            } else {
                Event { at: NthCall(Call::Commit, nth), kind: EventKind::Conflict }
            }
        };
        (1..=ATTEMPTS_MAX).map(event).collect()
    }

    /// Returns a host call of a request, most often its commit.
    fn at(&mut self) -> NthCall {
        match self.rng.random_range(0..20) {
            0 => NthCall(Call::Open, 1),
            1 => NthCall(Call::Open, 2),
            2..4 => NthCall(Call::Clock, 1),
            4..9 => NthCall(Call::Read, self.rng.random_range(1..8)),
            9..17 => NthCall(Call::Commit, 1),
            17 => NthCall(Call::Commit, 2),
            18 => NthCall(Call::Log, self.rng.random_range(1..3)),
            _ => NthCall(Call::Answer, 1),
        }
    }

    fn fault(&mut self) -> Event {
        let nth = self.rng.random_range(1..7);
        if self.chance(self.profile.kills) {
            if self.chance(0.3) {
                return Event { at: NthCall(Call::Commit, 1), kind: EventKind::KillAfter };
            }
            return Event { at: self.at(), kind: EventKind::Kill };
        }
        let commit = NthCall(Call::Commit, self.pick(&[1, 1, 1, 1, 2]));
        let (at, kind) = match self.rng.random_range(0..22) {
            0..3 => (commit, EventKind::Fail),
            3..7 => (commit, EventKind::LoseAnswer),
            7..10 => (commit, EventKind::Conflict),
            10 => (NthCall(Call::Open, self.pick(&[1, 1, 2])), EventKind::Fail),
            11..13 => (NthCall(Call::Read, nth), EventKind::Fail),
            13..15 => (NthCall(Call::Read, nth), EventKind::Move),
            15 => (NthCall(Call::Read, nth), EventKind::Disconnect),
            16 => (commit, EventKind::Disconnect),
            17 => (self.at(), EventKind::Away(self.rng.random_range(1..30))),
            18 | 19 => (self.at(), EventKind::SlowMs(self.rng.random_range(1..6) * 500)),
            _ => (self.at(), EventKind::ClockMs(self.clock_ms())),
        };
        Event { at, kind }
    }
}
