//! Agents that contend for one section of a project while its server is killed (`SIGKILL`): one order
//! explains all answers, so there is one owner at any time, and who lost the section is told with its
//! next change, once. For each host with a [`Killable`] server.
//!
//! The search for the order is that of [`crate::history`], and so is what is presumed of a request
//! without an answer. Leases are longer than the test: what ends them is a release, or the
//! orchestrator.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
};

use serde_json::{Value, json};
use todc_utils::specifications::Specification;

use crate::{Client, Killable, history::has_order, tell};

const PROJECT: &str = "contended";
const PATH: &str = "/v1/projects/contended/shared_context";
const AGENTS: usize = 6;
/// How many requests each agent makes, and the orchestrator.
const REQUESTS: usize = 45;
const KILLS: usize = 2;
/// As long as a lease may be, in seconds.
const LONG: u32 = 86_400;

/// What somebody asks of the section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    Acquire,
    Release,
    Write,
    /// The orchestrator gives the section to this agent, whoever owns it.
    Give(usize),
}

/// What it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// It was done; the version of the section after a write.
    Done(Option<u64>),
    /// Another agent owns the section, or nobody does.
    NotOwner(Option<usize>),
    /// The agent lost the section since its last change.
    Lost,
}

/// One operation.
#[derive(Debug, Clone)]
enum Step {
    /// Who asked what, and the answer.
    Answered(usize, Request, Answer),
    /// Who asked what without an answer, and the versions that answers to others named: each is
    /// written once. Without them the search would try every order.
    Unknown(usize, Request, Arc<BTreeSet<u64>>),
    /// All that was answered lies behind.
    End,
}

/// The section between two requests.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    owner: Option<usize>,
    /// Who lost it and does not know.
    losers: BTreeSet<usize>,
    version: u64,
    is_over: bool,
}

impl State {
    /// Returns what comes of a request.
    fn perform(&self, who: usize, request: Request) -> (Answer, Self) {
        let mut after = self.clone();
        if after.losers.remove(&who) {
            return (Answer::Lost, after);
        }
        let is_free_for_it = self.owner.is_none_or(|it| it == who);
        let answer = match request {
            Request::Give(to) => {
                after.losers.remove(&to);
                after.losers.extend(self.owner.filter(|it| *it != to));
                after.owner = Some(to);
                Answer::Done(None)
            }
            Request::Release if self.owner == Some(who) => {
                after.owner = None;
                Answer::Done(None)
            }
            Request::Acquire if is_free_for_it => {
                after.owner = Some(who);
                Answer::Done(None)
            }
            Request::Write if is_free_for_it => {
                after.owner = Some(who);
                after.version += 1;
                Answer::Done(Some(after.version))
            }
            _ => Answer::NotOwner(self.owner),
        };
        (answer, after)
    }
}

/// One section of one project.
enum Section {}

impl Specification for Section {
    type State = State;
    type Operation = Step;

    fn init() -> State {
        State { owner: None, losers: BTreeSet::new(), version: 1, is_over: false }
    }

    fn apply(step: &Step, state: &State) -> (bool, State) {
        let (is_right, after) = match step {
            Step::Answered(who, request, told) => {
                let (answer, after) = state.perform(*who, *request);
                (answer == *told, after)
            }
            Step::Unknown(..) if state.is_over => (true, state.clone()),
            // It happens now and changes something, or when all else is over.
            Step::Unknown(who, request, claimed) => {
                let (_, after) = state.perform(*who, *request);
                let is_free = after.version == state.version || !claimed.contains(&after.version);
                (is_free && after != *state, after)
            }
            Step::End => (true, State { is_over: true, ..state.clone() }),
        };
        (is_right, if is_right { after } else { state.clone() })
    }
}

/// What was asked, when, and when it was answered: places among all of these moments.
#[derive(Debug, Clone, Copy)]
struct Line {
    who: usize,
    request: Request,
    asked: u64,
    told: Option<(u64, Answer)>,
}

/// Returns whether one order explains all answers.
fn is_linearizable(lines: &[Line]) -> bool {
    let version = |it: &Line| match it.told {
        Some((_, Answer::Done(version))) => version,
        _ => None,
    };
    let claimed: Arc<BTreeSet<u64>> = Arc::new(lines.iter().filter_map(version).collect());
    let steps = lines.iter().map(|it| {
        let step = match it.told {
            Some((_, answer)) => Step::Answered(it.who, it.request, answer),
            None => Step::Unknown(it.who, it.request, Arc::clone(&claimed)),
        };
        (it.asked, it.told.map(|it| it.0), step)
    });
    has_order::<Section>(steps, Step::End)
}

/// Plays it on servers that `start` starts; `host` is the name of the host, for people.
///
/// # Panics
///
/// No order explains what was answered.
#[track_caller]
pub fn check<S: Killable>(host: &str, mut start: impl FnMut() -> S) {
    let mut server = Some(start());
    let admin = server.as_ref().unwrap().admin();
    admin.send("PUT", &format!("/v1/projects/{PROJECT}"), None).expect(201);
    let orchestrator = admin.create_session("work", &json!({"project": PROJECT}));
    let section = json!({
        "action": "put_section", "marker": "3.1", "title": "Payment", "content": "It begins.",
    });
    orchestrator.post(PATH, &section).expect(200);
    orchestrator.post(PATH, &json!({"action": "release", "marker": "3.1"})).expect(200);
    let agent = |nth| orchestrator.mint("work", &format!("subagent:{nth}")).credential().to_owned();
    let agents = (0..AGENTS).map(agent).chain([orchestrator.credential().to_owned()]);
    let agents: Vec<String> = agents.collect();

    let (places, url) = (AtomicU64::new(0), Mutex::new(admin.url().to_owned()));
    let (told, counted) = mpsc::channel();
    let lines: Vec<Line> = thread::scope(|scope| {
        let players = agents.iter().enumerate().map(|(who, credential)| {
            let (places, url, told) = (&places, &url, told.clone());
            scope.spawn(move || play(who, credential, places, url, &told))
        });
        let players: Vec<_> = players.collect();
        drop(told);
        for _ in 0..KILLS {
            let each = agents.len() * REQUESTS / (KILLS + 1);
            assert_eq!(counted.iter().take(each).count(), each, "the agents were done before");
            server.take().unwrap().kill();
            server.insert(start()).admin().url().clone_into(&mut url.lock().unwrap());
        }
        players.into_iter().flat_map(|it| it.join().unwrap()).collect()
    });
    if let Some(server) = server {
        server.kill();
    }

    let count = |of: fn(&Line) -> bool| lines.iter().filter(|it| of(it)).count();
    let unknown = count(|it| it.told.is_none());
    let lost = count(|it| matches!(it.told, Some((_, Answer::Lost))));
    let refused = count(|it| matches!(it.told, Some((_, Answer::NotOwner(Some(_))))));
    assert!(lost > 0 && refused > 0, "nobody contended: {lost} lost, {refused} refused");
    assert!(is_linearizable(&lines), "no order explains the answers of {host}: {lines:#?}");
    tell(&format!(
        "kill -9 of {host}, a section that {AGENTS} agents contend for: one order of {} operations, \
         {unknown} of unknown outcome; {lost} told that they lost it, {refused} that another owns \
         it; {KILLS} kills",
        lines.len()
    ));
}

/// Lets somebody ask, and asks nothing new of a server that is gone until there is another.
fn play(
    who: usize,
    credential: &str,
    places: &AtomicU64,
    url: &Mutex<String>,
    told: &mpsc::Sender<()>,
) -> Vec<Line> {
    let place = || places.fetch_add(1, Ordering::SeqCst);
    let mut lines = Vec::new();
    let mut nth = 0;
    let mut client = Client::new(&url.lock().unwrap(), credential);
    while nth < REQUESTS {
        let request = match (who, nth % 5) {
            (AGENTS, _) => Request::Give(nth * 5 % AGENTS),
            (_, 0) => Request::Acquire,
            (_, 4) => Request::Release,
            _ => Request::Write,
        };
        let now = url.lock().unwrap().clone();
        if client.url() != now {
            client = Client::new(&now, credential);
        }
        let asked = place();
        let answer = client.try_post(PATH, &as_json(request));
        let at = place();
        let answer = match answer {
            Err(ureq::Error::Io(it)) if it.kind() == std::io::ErrorKind::ConnectionRefused => {
                thread::yield_now();
                continue;
            }
            // A server that stops, or an answer that was cut off: nothing is known.
            Ok(it) if it.status >= 500 => None,
            other => other.ok().map(|it| (at, read(request, &it.json()))),
        };
        lines.push(Line { who, request, asked, told: answer });
        let _ = told.send(());
        nth += 1;
    }
    lines
}

fn as_json(request: Request) -> Value {
    match request {
        Request::Acquire => json!({"action": "acquire", "marker": "3.1", "ttl_seconds": LONG}),
        Request::Release => json!({"action": "release", "marker": "3.1"}),
        Request::Write => {
            json!({"action": "put_section", "marker": "3.1", "content": "It goes on."})
        }
        Request::Give(to) => json!({
            "action": "transfer", "marker": "3.1", "to": format!("subagent:{to}"),
            "ttl_seconds": LONG,
        }),
    }
}

fn read(request: Request, answer: &Value) -> Answer {
    let error = &answer["error"];
    match error["code"].as_str() {
        None if request == Request::Write => Answer::Done(answer["version"].as_u64()),
        None => Answer::Done(None),
        Some("LEASE_EXPIRED") => Answer::Lost,
        Some("NOT_OWNER") => Answer::NotOwner(owner(error["message"].as_str().unwrap())),
        Some(_) => panic!("{answer}"),
    }
}

/// Returns the agent that a message names.
fn owner(message: &str) -> Option<usize> {
    let (_, after) = message.split_once("subagent:")?;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(who: usize, request: Request, asked: u64, told: u64, answer: Answer) -> Line {
        Line { who, request, asked, told: (told > 0).then_some((told, answer)) }
    }

    const DONE: Answer = Answer::Done(None);

    #[test]
    fn two_owners_at_once_are_found() {
        let taken = |second| {
            is_linearizable(&[
                line(0, Request::Acquire, 0, 3, DONE),
                line(1, Request::Acquire, 1, 2, second),
            ])
        };
        assert!(taken(Answer::NotOwner(Some(0))));
        assert!(!taken(DONE));
        // The owner that it names is none yet, or no more.
        assert!(!taken(Answer::NotOwner(Some(2))));
    }

    #[test]
    fn a_loss_is_told_with_the_next_change_and_once() {
        let played = |answers: [Answer; 2]| {
            is_linearizable(&[
                line(0, Request::Acquire, 0, 1, DONE),
                line(AGENTS, Request::Give(1), 2, 3, DONE),
                line(0, Request::Write, 4, 5, answers[0]),
                line(0, Request::Write, 6, 7, answers[1]),
            ])
        };
        assert!(played([Answer::Lost, Answer::NotOwner(Some(1))]));
        assert!(!played([Answer::NotOwner(Some(1)), Answer::Lost]));
        assert!(!played([Answer::Lost, Answer::Lost]));
        assert!(!played([Answer::Done(Some(2)), Answer::NotOwner(Some(1))]));
    }

    #[test]
    fn a_request_without_an_answer_happens_once_or_never() {
        let released = |second| {
            is_linearizable(&[
                line(0, Request::Acquire, 0, 1, DONE),
                line(0, Request::Release, 2, 0, DONE),
                line(1, Request::Write, 3, 4, second),
            ])
        };
        assert!(released(Answer::Done(Some(2))));
        assert!(released(Answer::NotOwner(Some(0))));
        assert!(!released(Answer::Done(Some(3))));
    }
}
