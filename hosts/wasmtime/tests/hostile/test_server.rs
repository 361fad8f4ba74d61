//! A server with a malicious component, on two threads, and its clients.

use std::{
    io::{Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use serde_json::Value;
use shared_context_core::{port::Clock, time::Timestamp};
use shared_context_wasmtime::{Cache, ComponentOptions, Server, ServerOptions};
use tempfile::{TempDir, tempdir};
use tokio::runtime::Runtime;

use crate::guest;

/// The instant until which some guests loop.
const NOW: u64 = 1_771_597_800_000;

pub(crate) struct TestServer {
    server: Server,
    clock: Arc<FixedClock>,
    /// Dropped before the folder: the server ends with it.
    _runtime: Runtime,
    _folder: TempDir,
    /// One server at a time: a looping guest would use up the time of another test.
    _alone: MutexGuard<'static, ()>,
}

#[derive(Debug)]
struct FixedClock(AtomicU64);

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// Returns the code of an error.
    pub(crate) fn code(&self) -> String {
        let body: Value = serde_json::from_str(&self.body).unwrap();
        body["error"]["code"].as_str().unwrap().to_owned()
    }
}

impl TestServer {
    /// Starts a server with the component of `text`, 16 MiB of memory, and the options that
    /// `set` changes.
    pub(crate) fn new(text: &str, set: impl FnOnce(&mut ComponentOptions)) -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let clock = Arc::new(FixedClock(AtomicU64::new(NOW)));
        let folder = tempdir().unwrap();
        let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
        let mut options = ServerOptions::new(folder.path(), address);
        options.rate_limit = None;
        options.clock = clock.clone();
        options.component.bytes = guest::component(text).into();
        options.component.cache = Cache::None;
        options.component.memory_bytes_max = 16 << 20;
        options.component.host_time_max = Duration::from_secs(1);
        set(&mut options.component);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let server = runtime.block_on(Server::start(options)).unwrap();
        Self { server, clock, _runtime: runtime, _folder: folder, _alone: alone }
    }

    /// Sends the action `what` in a session that no other request uses.
    pub(crate) fn ask(&self, what: &str) -> Answer {
        self.begin(99, what).join().unwrap()
    }

    /// Starts to send an action as [`TestServer::ask`] does, in the session of `nth`.
    pub(crate) fn begin(&self, nth: usize, what: &str) -> JoinHandle<Answer> {
        let body = format!(r#"{{"action":"{what}"}}"#);
        let request = format!(
            "POST /v1/sessions/s{nth}/shared_context HTTP/1.1\r\nHost: localhost\r\n\
             Connection: close\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.server.admin_key(),
            body.len()
        );
        self.send(request)
    }

    /// Requests `path` without a credential.
    pub(crate) fn get(&self, path: &str) -> Answer {
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        self.send(request).join().unwrap()
    }

    fn send(&self, request: String) -> JoinHandle<Answer> {
        let address = self.server.address();
        thread::spawn(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(50))).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            let status = head.split(' ').nth(1).unwrap().parse().unwrap();
            Answer { status, head: head.to_owned(), body: body.to_owned() }
        })
    }

    /// Ends the looping guests, and asserts that none has ended before.
    pub(crate) fn end(&self, guests: Vec<JoinHandle<Answer>>) {
        assert!(guests.iter().all(|it| !it.is_finished()), "a guest has ended before");
        self.clock.0.fetch_add(1, Ordering::Relaxed);
        for guest in guests {
            assert_eq!(guest.join().unwrap().body, "{}");
        }
    }
}
