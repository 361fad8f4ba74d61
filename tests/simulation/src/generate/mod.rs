//! Generates scripts: a seed chooses probabilities, and then step after step for the current state
//! of the world.
//!
//! The generator reads the model to choose useful requests. Each step is self-contained, so a
//! script needs no seed.

mod context;
mod events;
mod invalid;
mod packets;
mod projects;
mod requests;
mod rounds;
mod team;

pub(crate) use projects::has_project;

use rand::{RngExt as _, SeedableRng as _, rngs::ChaCha8Rng, seq::IndexedRandom as _};
use serde_json::Value;

use crate::{
    fixtures::{CALLERS, SESSIONS},
    script::{Payload, Request, Step, Storage},
    world::World,
};

/// Number of recent requests with an id that may be retried.
const RETRIES_MAX: usize = 12;

/// Generator of one seed's steps.
#[derive(Debug)]
pub struct Generator {
    rng: ChaCha8Rng,
    profile: Profile,
    /// Recent requests with an id.
    sent: Vec<Request>,
    values: u32,
    projects: projects::Projects,
}

/// Probabilities in a world. They differ between worlds: if everything were likely at once, few
/// requests would succeed undisturbed.
#[derive(Debug)]
struct Profile {
    storage: Storage,
    /// A fault during a request.
    faults: f64,
    /// A nested request.
    overlaps: f64,
    /// A kill, given a fault.
    kills: f64,
    /// A clock change before a step.
    clock: f64,
    /// A session ends or moves.
    ends: f64,
    /// A retry.
    retries: f64,
    /// An invalid request.
    invalid: f64,
    /// A request with a credential.
    credentials: f64,
    /// A request to the context pipeline.
    context: f64,
    /// Number of sessions.
    sessions: usize,
}

impl Generator {
    /// Creates the generator of `seed`.
    pub fn new(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let profile = Profile::new(&mut rng);
        Self { rng, profile, sent: Vec::new(), values: 0, projects: projects::Projects::new(seed) }
    }

    /// Returns the storage mode of this world.
    pub fn storage(&self) -> Storage {
        self.profile.storage
    }

    /// Returns the next step.
    pub fn step(&mut self, world: &World) -> Step {
        if let Some(step) = self.project_step(world) {
            return step;
        }
        if self.chance(self.profile.clock) {
            return Step::ClockMs(self.clock_ms());
        }
        if self.chance(0.001) {
            return Step::Elsewhere(true);
        }
        if self.chance(0.004) {
            return Step::Compare(true);
        }
        self.request(world, 0)
    }

    /// Returns a request or a timer step.
    fn request(&mut self, world: &World, depth: usize) -> Step {
        let session = SESSIONS[self.rng.random_range(0..self.profile.sessions)];
        if self.chance(0.03) {
            let during = self.during(world, depth);
            return Step::Wake { session: session.to_owned(), during };
        }
        if self.chance(self.profile.retries)
            && let Some(request) = self.retry()
        {
            let during = self.during(world, depth);
            return Step::Ask(Box::new(Request { during, ..request }));
        }
        let bucket = world.bucket(session);
        let (nth, payload) = if self.chance(self.profile.invalid) {
            (self.pick(&[0, 1, 1, 2, 3, 5]), self.invalid(world))
        } else {
            let (nth, call) = self.call(world, session, &bucket);
            (nth, Payload::Call(call))
        };
        let (participant, keys) = CALLERS[nth];
        let credential = (nth > 0 && self.chance(self.profile.credentials))
            .then(|| self.credential(&bucket))
            .flatten();
        let request = Request {
            participant: participant.to_owned(),
            keys: keys.iter().map(|it| (*it).to_owned()).collect(),
            credential,
            session: session.to_owned(),
            payload,
            during: Vec::new(),
        };
        self.remember(&request);
        let during = match self.burst(&request) {
            Some(burst) if depth == 0 => burst,
            _ => self.during(world, depth),
        };
        Step::Ask(Box::new(Request { during, ..request }))
    }

    /// Returns an earlier request, unchanged or with another body.
    fn retry(&mut self) -> Option<Request> {
        let mut request = self.sent.choose(&mut self.rng)?.clone();
        if self.chance(0.2)
            && let Payload::Call(Value::Object(call)) = &mut request.payload
            && call.contains_key("value")
        {
            call.insert("value".to_owned(), Value::from("zq other"));
        }
        if self.chance(0.1) {
            // Another credential of the same participant, or another participant.
            let (participant, keys) = CALLERS[self.pick(&[1, 2, 5])];
            participant.clone_into(&mut request.participant);
            request.keys = keys.iter().map(|it| (*it).to_owned()).collect();
        }
        Some(request)
    }

    fn remember(&mut self, request: &Request) {
        if let Payload::Call(call) = &request.payload
            && call.get("request_id").is_some()
        {
            self.sent.push(request.clone());
            if self.sent.len() > RETRIES_MAX {
                self.sent.remove(0);
            }
        }
    }

    /// Returns a credential of the session, valid or void.
    fn credential(&mut self, bucket: &crate::model::BucketModel) -> Option<(u64, u64)> {
        let about = &bucket.session.as_ref()?.about;
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

    fn chance(&mut self, likely: f64) -> bool {
        self.rng.random_bool(likely)
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.rng.random_range(0..of.len())]
    }
}

impl Profile {
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
            invalid: one(&[0.0, 0.03, 0.08]),
            credentials: one(&[0.0, 0.1, 0.4]),
            context: one(&[0.03, 0.06, 0.1, 0.4]),
            sessions,
        }
    }
}
