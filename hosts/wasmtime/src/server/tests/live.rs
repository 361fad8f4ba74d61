//! Streams of changes over sockets, and clients that wait.

use super::*;

/// The time limit for a change to reach a client that waits for it.
const SOON: Duration = Duration::from_secs(10);

/// Sends a request as the admin on its own connection, and returns the connection.
fn connect(server: &Server, method: &str, path: &str, headers: &str) -> Client {
    let mut client = Client::connect(server.address()).unwrap();
    client.set_read_timeout(Some(SOON)).unwrap();
    let key = server.admin_key();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n{headers}\r\n"
    );
    client.write_all(request.as_bytes()).unwrap();
    client
}

/// Opens a stream of the changes of session `s`.
fn watch(server: &Server, query: &str) -> Client {
    let path = format!("/v1/sessions/s/changes{query}");
    connect(server, "GET", &path, "Accept: text/event-stream\r\n")
}

/// Reads until `wanted` arrives, and returns all that was read.
fn read_to(client: &mut Client, wanted: &str) -> String {
    let mut read = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&read);
        if text.contains(wanted) {
            return text.into_owned();
        }
        let count = client.read(&mut chunk).unwrap();
        assert!(count > 0, "the stream ended without {wanted}: {text}");
        read.extend_from_slice(&chunk[..count]);
    }
}

fn read_to_end(client: &mut Client) -> String {
    let mut rest = String::new();
    client.read_to_string(&mut rest).unwrap();
    rest
}

async fn create(server: &Server) -> String {
    let created = ask(server, "POST", "/v1/sessions", r#"{"session_id":"s"}"#).await;
    assert_status(&created, 201);
    let (_, body) = created.split_once("\r\n\r\n").unwrap();
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    body["credential"].as_str().unwrap().to_owned()
}

/// Writes an entry as the orchestrator.
async fn write(server: &Server, credential: &str, key: &str) {
    let body = format!(r#"{{"action":"write","key":"{key}","value":"x"}}"#);
    call(server, credential, &body).await;
}

/// Calls the tool as the orchestrator.
async fn call(server: &Server, credential: &str, body: &str) {
    let request = format!(
        "POST /v1/sessions/s/shared_context HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         Authorization: Bearer {credential}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let address = server.address();
    assert_status(&blocking(move || send(address, request.as_bytes())).await, 200);
}

async fn metrics(server: &Server) -> String {
    ask(server, "GET", "/metrics", "").await
}

async fn open_streams(server: &Server) -> String {
    let metrics = metrics(server).await;
    let line = metrics.lines().find_map(|it| it.strip_prefix("shared_context_open_streams "));
    line.unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_gets_changes_and_resumes_after_a_restart() {
    let folder = tempdir().unwrap();
    let server = Server::start(options(folder.path())).await.unwrap();
    let credential = create(&server).await;
    let mut stream = watch(&server, "");
    let head = read_to(&mut stream, "id: 1\n");
    assert_status(&head, 200);
    assert!(head.contains("content-type: text/event-stream\r\n"), "{head}");
    for (revision, key) in [(2, "a"), (3, "b")] {
        write(&server, &credential, key).await;
        let event = read_to(&mut stream, "\n\n");
        assert!(event.contains(&format!("id: {revision}\nevent: change\n")), "{event}");
        assert!(event.contains(&format!(r#""key":"{key}""#)), "{event}");
    }
    write(&server, &credential, "c").await;
    timeout(STOP_TIME_MAX, server.stop()).await.unwrap();
    let rest = read_to_end(&mut stream);
    assert!(rest.contains("id: 4\nevent: change\n"), "{rest}");
    assert!(rest.contains(": the server ends this stream; connect again\n\n"), "{rest}");

    let server = Server::start(options(folder.path())).await.unwrap();
    let resumed = "Accept: text/event-stream\r\nLast-Event-ID: 3\r\n";
    let mut stream = connect(&server, "GET", "/v1/sessions/s/changes?since=0", resumed);
    let text = read_to(&mut stream, "id: 4\nevent: change\n");
    assert!(!text.contains("id: 2\n"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_poll_ends_when_the_change_is_made() {
    let folder = tempdir().unwrap();
    let server = Server::start(options(folder.path())).await.unwrap();
    let credential = create(&server).await;
    let mut client = connect(&server, "GET", "/v1/sessions/s/changes?since=1&wait=60", "");
    client.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    client.read(&mut [0]).unwrap_err();
    client.set_read_timeout(Some(SOON)).unwrap();
    write(&server, &credential, "a").await;
    let answer = read_to(&mut client, r#""next_since":2"#);
    assert_status(&answer, 200);
    // Stopping does not wait for them either: they get an empty list of changes.
    let mut client = connect(&server, "GET", "/v1/sessions/s/changes?since=2&wait=60", "");
    assert_status(&ask(&server, "GET", "/healthz", "").await, 200);
    timeout(STOP_TIME_MAX, server.stop()).await.unwrap();
    let answer = read_to_end(&mut client);
    assert!(answer.is_empty() || answer.contains(r#""changes":[]"#), "{answer}");
}

/// The engine of a connection did not pass the counts on.
#[tokio::test(flavor = "multi_thread")]
async fn repeated_reads_are_counted() {
    let folder = tempdir().unwrap();
    let server = Server::start(options(folder.path())).await.unwrap();
    let credential = create(&server).await;
    write(&server, &credential, "a").await;
    for _ in 0..3 {
        call(&server, &credential, r#"{"action":"read","key":"a"}"#).await;
    }
    let metrics = metrics(&server).await;
    assert!(metrics.contains("shared_context_entry_reads_total 3\n"), "{metrics}");
    assert!(metrics.contains("shared_context_kept_entry_reads_total 2\n"), "{metrics}");
}

/// A project could not be watched.
#[tokio::test(flavor = "multi_thread")]
async fn a_project_is_watched_and_waited_for() {
    let folder = tempdir().unwrap();
    let server = Server::start(options(folder.path())).await.unwrap();
    assert_status(&ask(&server, "PUT", "/v1/projects/p", "").await, 201);
    let path = "/v1/projects/p/changes";
    let mut stream = connect(&server, "GET", path, "Accept: text/event-stream\r\n");
    read_to(&mut stream, "id: 1\n");
    let mut poll = connect(&server, "GET", "/v1/projects/p/changes?since=1&wait=60", "");
    let memory = r#"{"memories":[{"memory_type":"learning","title":"Pools",
        "content":{"lesson":"They run dry."}}]}"#;
    assert_status(&ask(&server, "POST", "/v1/projects/p/memories", memory).await, 201);
    let event = read_to(&mut stream, "\n\n");
    assert!(event.contains("id: 2\nevent: change\n"), "{event}");
    read_to(&mut poll, r#""next_since":2"#);
    timeout(STOP_TIME_MAX, server.stop()).await.unwrap();
    assert!(read_to_end(&mut stream).contains("the server ends this stream"));
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_streams_hold_no_instance() {
    let folder = tempdir().unwrap();
    let mut few = options(folder.path());
    few.component.instances_max = 1;
    let server = Server::start(few).await.unwrap();
    let credential = create(&server).await;
    let mut streams: Vec<Client> = (0..50).map(|_| watch(&server, "")).collect();
    for stream in &mut streams {
        read_to(stream, "id: 1\n");
    }
    assert_eq!(open_streams(&server).await, "50");
    write(&server, &credential, "a").await;
    for stream in &mut streams {
        read_to(stream, "id: 2\nevent: change\n");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_its_client() {
    let folder = tempdir().unwrap();
    let server = Server::start(options(folder.path())).await.unwrap();
    create(&server).await;
    let mut stream = watch(&server, "");
    read_to(&mut stream, "id: 1\n");
    assert_eq!(open_streams(&server).await, "1");
    drop(stream);
    timeout(SOON, async {
        while open_streams(&server).await != "0" {
            sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_a_deleted_session_reports_it_and_ends() {
    let folder = tempdir().unwrap();
    let server = Server::start(options(folder.path())).await.unwrap();
    create(&server).await;
    let mut stream = watch(&server, "");
    read_to(&mut stream, "id: 1\n");
    assert_status(&ask(&server, "DELETE", "/v1/sessions/s", "").await, 200);
    // The stream has ended, the connection has not.
    let end = read_to(&mut stream, "\r\n0\r\n\r\n");
    assert!(end.contains("event: end\ndata: {\"error\":{\"code\":\"SESSION_NOT_FOUND\""), "{end}");
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    assert_status(&read_to_end(&mut stream), 200);
}

/// A client with a small receive buffer that reads nothing. Its stream is closed, and it
/// loses no change.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_reads_nothing_is_closed_and_resumes() {
    const COMMITS: usize = 200;
    let folder = tempdir().unwrap();
    let mut impatient = options(folder.path());
    impatient.unread_time_max = Duration::from_millis(200);
    impatient.rate_limit = None;
    let server = Server::start(impatient).await.unwrap();
    let credential = create(&server).await;
    let long = "x".repeat(60);
    let writes: Vec<String> =
        (0..100).map(|nth| format!(r#"{{"key":"{long}_{nth}","value":""}}"#)).collect();
    let batch = format!(r#"{{"action":"write_batch","writes":[{}]}}"#, writes.join(","));
    for _ in 0..COMMITS {
        call(&server, &credential, &batch).await;
    }
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let slow = socket.connect(server.address()).await.unwrap();
    let key = server.admin_key();
    let request = format!(
        "GET /v1/sessions/s/changes?since=1 HTTP/1.1\r\nHost: x\r\n\
         Authorization: Bearer {key}\r\nAccept: text/event-stream\r\n\r\n"
    );
    let mut slow = slow.into_std().unwrap();
    slow.set_nonblocking(false).unwrap();
    slow.write_all(request.as_bytes()).unwrap();
    timeout(SOON, async {
        while !metrics(&server).await.contains(r#"route="/v1/sessions/{session}/changes""#)
            || open_streams(&server).await != "0"
        {
            sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .unwrap();
    // The stream is cut off at some point. The last complete event says where to continue.
    let mut received = Vec::new();
    drop(slow.read_to_end(&mut received));
    let received = String::from_utf8_lossy(&received).into_owned();
    let whole = received.rfind("\n\n").map_or("", |end| received.get(..end).unwrap());
    let seen = ids(whole);
    assert!(seen.len() < COMMITS, "all of it fits into the buffers");
    let last = seen.last().copied().unwrap_or(1);
    let headers = format!("Accept: text/event-stream\r\nLast-Event-ID: {last}\r\n");
    let mut stream = connect(&server, "GET", "/v1/sessions/s/changes", &headers);
    let rest = read_to(&mut stream, &format!("id: {}\n", COMMITS + 1));
    let all: Vec<usize> = seen.into_iter().chain(ids(&rest)).collect();
    assert_eq!(all, (2..=COMMITS + 1).collect::<Vec<_>>());
}

/// Returns the ids of the events in a part of a stream.
fn ids(text: &str) -> Vec<usize> {
    let lines = text.lines().collect::<Vec<_>>();
    let events = lines.windows(2).filter(|it| it[1] == "event: change");
    events.map(|it| it[0].strip_prefix("id: ").unwrap().parse().unwrap()).collect()
}
