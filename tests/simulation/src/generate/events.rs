//! What happens while a request is performed.

use rand::RngExt as _;

use super::Generator;
use crate::{
    script::{At, Call, Deed, Event},
    world::World,
};

/// How deep requests are nested.
const DEPTH_MAX: usize = 3;
/// How often a request is decided anew before it is given up.
const ATTEMPTS_MAX: u32 = 16;

impl Generator {
    /// Returns what happens during one request, `depth` deep inside of others.
    pub(super) fn during(&mut self, world: &World, depth: usize) -> Vec<Event> {
        let mut events = Vec::new();
        if self.is(self.mood.faults) {
            if self.is(0.02) {
                return self.storm();
            }
            events.push(self.fault());
            if self.is(0.2) {
                events.push(self.fault());
            }
        }
        let mut likely = self.mood.overlaps;
        while depth < DEPTH_MAX && self.is(likely) {
            let at = self.at();
            events.push(Event { at, deed: Deed::Meanwhile(self.request(world, depth + 1)) });
            likely /= 2.0;
        }
        events
    }

    /// Others always come first, until the request is given up.
    fn storm(&mut self) -> Vec<Event> {
        let is_read = self.is(0.3);
        let event = |nth| {
            if is_read {
                Event { at: At(Call::Read, nth), deed: Deed::Move }
            } else {
                Event { at: At(Call::Commit, nth), deed: Deed::Conflict }
            }
        };
        (1..=ATTEMPTS_MAX).map(event).collect()
    }

    /// At one of the calls of a request; most wait for its end.
    fn at(&mut self) -> At {
        match self.rng.random_range(0..20) {
            0 => At(Call::Open, 1),
            1 => At(Call::Open, 2),
            2..4 => At(Call::Clock, 1),
            4..9 => At(Call::Read, self.rng.random_range(1..8)),
            9..17 => At(Call::Commit, 1),
            17 => At(Call::Commit, 2),
            18 => At(Call::Log, self.rng.random_range(1..3)),
            _ => At(Call::Answer, 1),
        }
    }

    fn fault(&mut self) -> Event {
        let nth = self.rng.random_range(1..7);
        if self.is(self.mood.kills) {
            if self.is(0.3) {
                return Event { at: At(Call::Commit, 1), deed: Deed::KillAfter };
            }
            return Event { at: self.at(), deed: Deed::Kill };
        }
        let commit = At(Call::Commit, self.pick(&[1, 1, 1, 1, 2]));
        let (at, deed) = match self.rng.random_range(0..22) {
            0..3 => (commit, Deed::Fail),
            3..7 => (commit, Deed::LoseAnswer),
            7..10 => (commit, Deed::Conflict),
            10 => (At(Call::Open, self.pick(&[1, 1, 2])), Deed::Fail),
            11..13 => (At(Call::Read, nth), Deed::Fail),
            13..15 => (At(Call::Read, nth), Deed::Move),
            15 => (At(Call::Read, nth), Deed::Disconnect),
            16 => (commit, Deed::Disconnect),
            17 => (self.at(), Deed::Away(self.rng.random_range(1..30))),
            18 | 19 => (self.at(), Deed::SlowMs(self.rng.random_range(1..6) * 500)),
            _ => (self.at(), Deed::ClockMs(self.clock_ms())),
        };
        Event { at, deed }
    }
}
