//! A running server, its folder, and clients that misbehave.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpStream as Client},
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use shared_context_core::time::Timestamp;
use shared_context_wire::http::BODY_BYTES_MAX;
use tempfile::tempdir;

use super::*;
use crate::ComponentOptions;

mod live;

const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

fn options(folder: &Path) -> ServerOptions {
    let mut options = ServerOptions::new(folder, LOOPBACK);
    options.component = ComponentOptions::of_tests();
    options
}

/// Sends `request` as it is and reads until the server closes the connection.
fn send(address: SocketAddr, request: &[u8]) -> String {
    let mut client = Client::connect(address).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    client.write_all(request).unwrap();
    let mut response = Vec::new();
    client.read_to_end(&mut response).unwrap();
    String::from_utf8(response).unwrap()
}

/// Sends a request as the admin.
async fn ask(server: &Server, method: &str, path: &str, body: &str) -> String {
    let (address, key) = (server.address(), server.admin_key().to_owned());
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         Authorization: Bearer {key}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    blocking(move || send(address, request.as_bytes())).await
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

#[track_caller]
fn assert_status(response: &str, status: u16) {
    assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{response}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_survives_a_restart() {
    let folder = tempdir().unwrap();
    let server = Server::start(options(folder.path())).await.unwrap();
    let key = server.admin_key().to_owned();
    let created = ask(&server, "POST", "/v1/sessions", r#"{"session_id":"s"}"#).await;
    assert_status(&created, 201);
    assert_eq!(ServerFile::read(folder.path()).unwrap().url, server.url());
    server.stop().await;
    assert_eq!(ServerFile::read(folder.path()), None);
    let server = Server::start(options(folder.path())).await.unwrap();
    assert_eq!(server.admin_key(), key);
    assert_status(&ask(&server, "GET", "/v1/sessions/s", "").await, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_server_on_a_folder_is_rejected() {
    let folder = tempdir().unwrap();
    let server = Server::start(options(folder.path())).await.unwrap();
    let rejected = Server::start(options(folder.path())).await.unwrap_err().to_string();
    let pid = std::process::id();
    assert!(rejected.contains(&format!("{} (process {pid})", server.url())), "{rejected}");
    assert!(rejected.contains(&folder.path().display().to_string()), "{rejected}");
    assert_status(&ask(&server, "GET", "/healthz", "").await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_in_use_is_named_and_unlocks_the_folder() {
    let folder = tempdir().unwrap();
    let other = std::net::TcpListener::bind(LOOPBACK).unwrap();
    let address = other.local_addr().unwrap();
    let taken = ServerOptions { address, ..options(folder.path()) };
    let rejected = Server::start(taken).await.unwrap_err().to_string();
    assert!(rejected.contains(&format!("port {}", address.port())), "{rejected}");
    assert!(rejected.contains("choose another port"), "{rejected}");
    Server::start(options(folder.path())).await.unwrap().stop().await;
    // A data folder with keys once stayed behind.
    let new = folder.path().join("new");
    let taken = ServerOptions { address, ..options(&new) };
    let rejected = Server::start(taken).await.unwrap_err().to_string();
    assert!(rejected.contains("choose another port"), "{rejected}");
    assert!(!new.exists());
}

/// The system once queued 128 connections until they were accepted, and dropped the first
/// packet of further ones. In a flood one client in a hundred waited a second longer.
#[tokio::test]
async fn many_can_connect_before_one_is_accepted() {
    let listener = bind(LOOPBACK).unwrap().listen(BACKLOG).unwrap();
    let (address, at_most) = (listener.local_addr().unwrap(), Duration::from_millis(500));
    let connect = |_| Client::connect_timeout(&address, at_most);
    let connected = (0..300).map(connect).collect::<Result<Vec<_>, _>>();
    assert_eq!(connected.unwrap().len(), 300);
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_can_be_given_and_must_be_long() {
    let folder = tempdir().unwrap();
    let mut given = options(folder.path());
    given.secret = Some("s".repeat(32));
    given.admin_key = Some("short".to_owned());
    let rejected = Server::start(given.clone()).await.unwrap_err().to_string();
    assert!(rejected.contains("admin key has 5 bytes"), "{rejected}");
    given.admin_key = Some("a".repeat(32));
    let server = Server::start(given).await.unwrap();
    assert_eq!(server.admin_key(), "a".repeat(32));
    assert_eq!(Secrets::read(folder.path()), Ok(None), "what is given is not kept");
    assert_status(&ask(&server, "GET", "/v1/sessions", "").await, 200);
}

/// Debug output of a server once contained its admin key.
#[tokio::test(flavor = "multi_thread")]
async fn debug_output_hides_secrets() {
    let folder = tempdir().unwrap();
    let mut given = options(folder.path());
    given.secret = Some("a secret that signs the credentials".to_owned());
    given.admin_key = Some("an-admin-key-of-more-than-32-bytes".to_owned());
    let shown = format!("{given:?}");
    let server = Server::start(given).await.unwrap();
    let shown = format!("{shown} {server:?}");
    assert!(shown.contains("127.0.0.1"), "{shown}");
    assert!(!shown.contains("a secret that") && !shown.contains("an-admin-key"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_10_mb_is_rejected_with_an_error() {
    let folder = tempdir().unwrap();
    let server = Server::start(options(folder.path())).await.unwrap();
    let body = "x".repeat(10 << 20);
    let rejected = ask(&server, "POST", "/v1/sessions/s/shared_context", &body).await;
    assert_status(&rejected, 413);
    assert!(rejected.contains("REQUEST_TOO_LARGE"), "{rejected}");
    let just_too_long = "x".repeat(BODY_BYTES_MAX + 1);
    assert_status(&ask(&server, "POST", "/v1/sessions", &just_too_long).await, 413);
    let just_fits = "x".repeat(BODY_BYTES_MAX);
    assert_status(&ask(&server, "POST", "/v1/sessions", &just_fits).await, 400);
    assert_status(&ask(&server, "GET", "/healthz", "").await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_in_pieces_is_read_whole() {
    let folder = tempdir().unwrap();
    let server = Server::start(options(folder.path())).await.unwrap();
    let (address, key) = (server.address(), server.admin_key().to_owned());
    let response = blocking(move || {
        let mut client = Client::connect(address).unwrap();
        let head = format!(
            "POST /v1/sessions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
             Authorization: Bearer {key}\r\nContent-Type: application/json\r\n\
             Transfer-Encoding: chunked\r\n\r\n"
        );
        client.write_all(head.as_bytes()).unwrap();
        for piece in ["{\"session", "_id\":", "\"pieces\"", "}"] {
            std::thread::sleep(Duration::from_millis(20));
            write!(client, "{:x}\r\n{piece}\r\n", piece.len()).unwrap();
        }
        write!(client, "0\r\n\r\n").unwrap();
        let mut response = String::new();
        client.read_to_string(&mut response).unwrap();
        response
    });
    assert_status(&response.await, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_break_off_or_send_garbage_do_no_harm() {
    let folder = tempdir().unwrap();
    let server = Server::start(options(folder.path())).await.unwrap();
    let address = server.address();
    blocking(move || {
        assert_status(&send(address, b"\0\x01\x02 what?\r\n\r\n"), 400);
        for cut in ["", "GET", "POST /v1/sessions HTTP/1.1\r\nContent-Length: 9\r\n\r\n{"] {
            let mut client = Client::connect(address).unwrap();
            client.write_all(cut.as_bytes()).unwrap();
            client.shutdown(Shutdown::Both).unwrap();
        }
    })
    .await;
    assert_status(&ask(&server, "GET", "/healthz", "").await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_does_not_end_is_rejected() {
    let folder = tempdir().unwrap();
    let server = Server::start(options(folder.path())).await.unwrap();
    let address = server.address();
    let head = format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(2 * BUFFER_BYTES_MAX));
    assert_status(&blocking(move || send(address, head.as_bytes())).await, 431);
    assert_status(&ask(&server, "GET", "/healthz", "").await, 200);
}

/// New connections once waited, unserved, until an idle one was closed by its timeout.
#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_are_closed_for_new_ones() {
    let folder = tempdir().unwrap();
    let few = ServerOptions { connections_max: 2, ..options(folder.path()) };
    let server = Server::start(few).await.unwrap();
    let address = server.address();
    let mut idle: Vec<_> =
        blocking(move || (0..2).map(|_| Client::connect(address).unwrap()).collect()).await;
    assert_status(&ask(&server, "GET", "/healthz", "").await, 200);
    blocking(move || idle[0].read_to_end(&mut Vec::new()).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_closes_idle_connections_and_the_port() {
    let folder = tempdir().unwrap();
    let server = Server::start(options(folder.path())).await.unwrap();
    let address = server.address();
    let mut idle = blocking(move || {
        let mut client = Client::connect(address).unwrap();
        client.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut first = [0; 16];
        client.read_exact(&mut first).unwrap();
        client
    })
    .await;
    timeout(STOP_TIME_MAX, server.stop()).await.unwrap();
    blocking(move || {
        idle.read_to_end(&mut Vec::new()).unwrap();
        Client::connect(address).unwrap_err();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_uses_the_given_clock() {
    struct SettableClock(AtomicU64);
    impl Clock for SettableClock {
        fn now(&self) -> Timestamp {
            Timestamp(self.0.load(Ordering::SeqCst))
        }
    }
    let folder = tempdir().unwrap();
    let clock = Arc::new(SettableClock(AtomicU64::new(1_771_597_800_000)));
    let set = ServerOptions { clock: clock.clone(), ..options(folder.path()) };
    let server = Server::start(set).await.unwrap();
    let created = ask(&server, "POST", "/v1/sessions", r#"{"session_id":"s"}"#).await;
    assert!(created.contains(r#""created_at":"2026-02-20T14:30:00Z""#), "{created}");
    clock.0.fetch_add(1_000, Ordering::SeqCst);
    let created = ask(&server, "POST", "/v1/sessions", r#"{"session_id":"t"}"#).await;
    assert!(created.contains(r#""created_at":"2026-02-20T14:30:01Z""#), "{created}");
}
