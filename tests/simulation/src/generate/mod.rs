//! What a seed makes: a mood, and step after step, each as the world is when it
//! begins.
//!
//! The generator looks at the model to ask what is worth asking. What it makes says
//! all of it: a script needs no seed.

mod events;
mod hostile;
mod requests;
mod rounds;

use rand::{RngExt as _, SeedableRng as _, rngs::ChaCha8Rng, seq::IndexedRandom as _};
use serde_json::Value;

use crate::{
    cast::{ASKERS, SESSIONS},
    script::{Ask, Request, Step, Storage},
    world::World,
};

/// How many requests with an id are remembered to be sent again.
const RETRIES_KEPT: usize = 12;

/// Makes the steps of one seed.
#[derive(Debug)]
pub struct Generator {
    rng: ChaCha8Rng,
    mood: Mood,
    /// Requests with an id that were sent.
    sent: Vec<Ask>,
    values: u32,
}

/// What is likely in a world. Worlds differ: where everything is likely at once,
/// little happens in peace.
#[derive(Debug)]
struct Mood {
    storage: Storage,
    /// How likely a request is disturbed.
    faults: f64,
    /// How likely another one happens meanwhile.
    overlaps: f64,
    /// How likely one is killed, of those that are disturbed.
    kills: f64,
    /// How likely the clock moves before a step.
    clock: f64,
    /// How likely a session ends or is moved.
    ends: f64,
    /// How likely a request is sent again.
    retries: f64,
    /// How likely what is sent is no request.
    hostile: f64,
    /// How likely a credential is shown.
    credentials: f64,
    /// How many sessions there are.
    sessions: usize,
}

impl Generator {
    /// Creates the generator of `seed`.
    pub fn new(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mood = Mood::new(&mut rng);
        Self { rng, mood, sent: Vec::new(), values: 0 }
    }

    /// Returns how storage reads in this world.
    pub fn storage(&self) -> Storage {
        self.mood.storage
    }

    /// Returns the next step.
    pub fn step(&mut self, world: &World) -> Step {
        if self.is(self.mood.clock) {
            return Step::ClockMs(self.clock_ms());
        }
        if self.is(0.001) {
            return Step::Elsewhere(true);
        }
        if self.is(0.004) {
            return Step::Compare(true);
        }
        self.request(world, 0)
    }

    /// Returns a request, or the ring of a timer.
    fn request(&mut self, world: &World, depth: usize) -> Step {
        let session = SESSIONS[self.rng.random_range(0..self.mood.sessions)];
        if self.is(0.03) {
            let during = self.during(world, depth);
            return Step::Wake { session: session.to_owned(), during };
        }
        if self.is(self.mood.retries)
            && let Some(ask) = self.again()
        {
            let during = self.during(world, depth);
            return Step::Ask(Box::new(Ask { during, ..ask }));
        }
        let place = world.place(session);
        let (nth, request) = if self.is(self.mood.hostile) {
            (self.pick(&[0, 1, 1, 2, 3, 5]), self.hostile(world))
        } else {
            let (nth, call) = self.call(world, session, &place);
            (nth, Request::Call(call))
        };
        let (participant, keys) = ASKERS[nth];
        let credential =
            (nth > 0 && self.is(self.mood.credentials)).then(|| self.credential(&place)).flatten();
        let ask = Ask {
            participant: participant.to_owned(),
            keys: keys.iter().map(|it| (*it).to_owned()).collect(),
            credential,
            session: session.to_owned(),
            request,
            during: Vec::new(),
        };
        self.remember(&ask);
        let during = self.during(world, depth);
        Step::Ask(Box::new(Ask { during, ..ask }))
    }

    /// Returns a request that was sent before, to the letter or with another body.
    fn again(&mut self) -> Option<Ask> {
        let mut ask = self.sent.choose(&mut self.rng)?.clone();
        if self.is(0.2)
            && let Request::Call(Value::Object(call)) = &mut ask.request
            && call.contains_key("value")
        {
            call.insert("value".to_owned(), Value::from("zq other"));
        }
        if self.is(0.1) {
            // Another credential of the same participant, or another participant.
            let (participant, keys) = ASKERS[self.pick(&[1, 2, 5])];
            participant.clone_into(&mut ask.participant);
            ask.keys = keys.iter().map(|it| (*it).to_owned()).collect();
        }
        Some(ask)
    }

    fn remember(&mut self, ask: &Ask) {
        if let Request::Call(call) = &ask.request
            && call.get("request_id").is_some()
        {
            self.sent.push(ask.clone());
            if self.sent.len() > RETRIES_KEPT {
                self.sent.remove(0);
            }
        }
    }

    /// Returns a credential of the session: the last, or one that is void.
    fn credential(&mut self, place: &crate::model::Place) -> Option<(u64, u64)> {
        let about = &place.session.as_ref()?.about;
        let (incarnation, epoch) = (about.incarnation, about.credential_epoch);
        Some(match self.rng.random_range(0..8) {
            0 => (incarnation.saturating_sub(1), epoch),
            1 => (incarnation, epoch.wrapping_add(1)),
            2 => (incarnation, epoch.saturating_sub(1)),
            _ => (incarnation, epoch),
        })
    }

    fn clock_ms(&mut self) -> i64 {
        match self.rng.random_range(0..20) {
            0 => -self.rng.random_range(1..20_000),
            1..3 => -self.rng.random_range(0..4) * 500,
            3 => self.rng.random_range(10_000..4_000_000),
            4..8 => self.rng.random_range(1..200),
            _ => self.rng.random_range(0..8) * 500,
        }
    }

    fn is(&mut self, likely: f64) -> bool {
        self.rng.random_bool(likely)
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.rng.random_range(0..of.len())]
    }
}

impl Mood {
    fn new(rng: &mut ChaCha8Rng) -> Self {
        let is_moving = rng.random_bool(0.5);
        let storage = if is_moving { Storage::Moving } else { Storage::Snapshots };
        let sessions = [1, 2, 3, 3][rng.random_range(0..4)];
        let mut one = |of: &[f64]| of[rng.random_range(0..of.len())];
        Self {
            storage,
            faults: one(&[0.0, 0.05, 0.2, 0.4]),
            overlaps: one(&[0.0, 0.1, 0.3, 0.5]),
            kills: one(&[0.0, 0.2, 0.6]),
            clock: one(&[0.0, 0.1, 0.3]),
            ends: one(&[0.0, 0.005, 0.02, 0.06]),
            retries: one(&[0.02, 0.1, 0.25]),
            hostile: one(&[0.0, 0.03, 0.08]),
            credentials: one(&[0.0, 0.1, 0.4]),
            sessions,
        }
    }
}
