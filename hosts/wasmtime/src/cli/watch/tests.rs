//! Broken, repeated and ended streams, from a scripted server.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    ops::ControlFlow,
    sync::mpsc::{Receiver, channel},
    thread,
};

use clap::Parser;
use shared_context_wasmtime::folder::SECRETS_FILE;
use tempfile::{NamedTempFile, TempDir, tempdir};

use super::*;
use crate::cli::caller::ProjectCallerArgs;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    watch: Arguments,
}

/// A server that gives one scripted answer per connection, and then no more.
struct ScriptedServer {
    folder: TempDir,
    url: String,
    /// The request line and the `Last-Event-ID` of each connection.
    asked: Receiver<String>,
}

const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

impl ScriptedServer {
    fn new(answers: Vec<String>) -> Self {
        let folder = tempdir().unwrap();
        let mut keys = NamedTempFile::new_in(folder.path()).unwrap();
        let [secret, admin_key] = ["s", "k"].map(|it| it.repeat(64));
        write!(keys, r#"{{"secret":"{secret}","admin_key":"{admin_key}"}}"#).unwrap();
        keys.persist(folder.path().join(SECRETS_FILE)).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, asked) = channel();
        thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let head = BufReader::new(&stream).lines().map(Result::unwrap);
                let head: Vec<String> = head.take_while(|line| !line.is_empty()).collect();
                let after = head.iter().find_map(|line| line.strip_prefix("last-event-id: "));
                sender.send(format!("{} {}", head[0], after.unwrap_or("-"))).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        Self { folder, url, asked }
    }

    /// Follows from revision 4 on. Returns the updates in short, the result, and the
    /// requests that the server received.
    fn follow(self) -> (Vec<String>, Result<(), Problem>, Vec<String>) {
        self.follow_after(4)
    }

    /// Follows from the revision `after` on, as [`ScriptedServer::follow`].
    fn follow_after(self, after: u64) -> (Vec<String>, Result<(), Problem>, Vec<String>) {
        let data = self.folder.path().to_str().unwrap();
        let arguments = ["watch", "a", "--keys", "x*", "--url", &self.url, "--data", data];
        let arguments = Command::try_parse_from(arguments).unwrap().watch;
        let Arguments { keys, caller, server, .. } = arguments;
        let feed = Feed::Session { id: "a".to_owned(), keys, caller };
        self.follow_feed(feed, server, after)
    }

    /// Follows the project `p` from the revision `after` on.
    fn follow_project(self, after: u64) -> (Vec<String>, Result<(), Problem>, Vec<String>) {
        let data = self.folder.path().to_str().unwrap();
        let arguments = Command::try_parse_from(["watch", "--url", &self.url, "--data", data]);
        let feed = Feed::Project { id: "p".to_owned(), caller: ProjectCallerArgs::default() };
        self.follow_feed(feed, arguments.unwrap().watch.server, after)
    }

    fn follow_feed(
        self,
        feed: Feed,
        server_args: ServerArgs,
        after: u64,
    ) -> (Vec<String>, Result<(), Problem>, Vec<String>) {
        let server = server_args.server().unwrap();
        let follow = Follow { feed, server_args, server, after };
        let mut all = Vec::new();
        let ended = follow.run(|update| {
            all.push(match update {
                Update::Connected(_) => "connected".to_owned(),
                Update::Commit(_, commit) => commit.revision.to_string(),
                Update::Lost(_) => "lost".to_owned(),
            });
            if all.last().is_some_and(|it| it == "99") {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        (all, ended, self.asked.try_iter().collect())
    }
}

fn change(revision: u64) -> String {
    format!("id: {revision}\nevent: change\ndata: {{\"revision\":{revision},\"changes\":[]}}\n\n")
}

fn end(code: &str) -> String {
    format!("event: end\ndata: {{\"error\":{{\"code\":\"{code}\",\"message\":\"m\"}}}}\n\n")
}

#[test]
fn a_broken_stream_resumes_after_the_last_commit() {
    let (updates, ended, asked) = ScriptedServer::new(vec![
        format!("{STREAM}{}: heartbeat\n\n{}event: change\ndata: {{\"rev", change(5), change(7)),
        format!("{STREAM}{}{}{}id: 11\n: heartbeat\n\nid: 12\n", change(5), change(7), change(8)),
        format!("{STREAM}{}", change(99)),
    ])
    .follow();
    assert_eq!(
        updates,
        ["connected", "5", "7", "lost", "connected", "8", "lost", "connected", "99"]
    );
    assert!(ended.is_ok());
    let asked_for = |after| format!("GET /v1/sessions/a/changes?keys=x%2A HTTP/1.1 {after}");
    assert_eq!(asked, [asked_for(4), asked_for(7), asked_for(11)]);
}

/// A project had no live changes, so who waited for a handoff asked again and again.
#[test]
fn a_project_is_followed_like_a_session() {
    let (updates, ended, asked) = ScriptedServer::new(vec![
        format!("{STREAM}{}{}", change(5), change(6)),
        format!("{STREAM}{}{}", change(6), end("PROJECT_NOT_FOUND")),
    ])
    .follow_project(4);
    assert_eq!(updates, ["connected", "5", "6", "lost", "connected"]);
    assert_eq!(ended.unwrap_err().code(), "PROJECT_NOT_FOUND");
    let asked_for = |after| format!("GET /v1/projects/p/changes HTTP/1.1 {after}");
    assert_eq!(asked, [asked_for(4), asked_for(6)]);
}

#[test]
fn a_refusal_that_passes_is_waited_for_and_another_is_the_end() {
    let unavailable = r#"{"error":{"code":"STORAGE_UNAVAILABLE","message":"m"}}"#;
    let unavailable = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-length: {}\r\n\r\n{unavailable}",
        unavailable.len()
    );
    let (updates, ended, _) = ScriptedServer::new(vec![
        format!("{STREAM}{}{}", change(5), end("STORAGE_UNAVAILABLE")),
        unavailable,
        format!("{STREAM}{}{}", change(6), end("SESSION_NOT_FOUND")),
    ])
    .follow();
    assert_eq!(updates, ["connected", "5", "lost", "connected", "6"]);
    assert_eq!(ended.unwrap_err().code(), "SESSION_NOT_FOUND");
}

#[test]
fn without_a_first_connection_there_is_nothing_to_wait_for() {
    let page = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
    let (updates, ended, _) = ScriptedServer::new(vec![page.to_owned()]).follow();
    let problem = ended.unwrap_err();
    assert_eq!((updates.len(), problem.code()), (0, "NOT_A_SERVER"), "{problem:?}");
    let (updates, ended, _) = ScriptedServer::new(vec![String::new()]).follow();
    assert_eq!((updates.len(), ended.unwrap_err().code()), (0, "SERVER_UNREACHABLE"));
}

/// `--since 0` failed once changes were no longer kept, although it is for all that is.
#[test]
fn zero_begins_with_the_oldest_that_is_kept() {
    let truncated = |oldest| {
        let body = format!(
            r#"{{"error":{{"code":"CHANGES_TRUNCATED","message":"m","oldest":{oldest},"revision":9}}}}"#
        );
        format!("HTTP/1.1 410 Gone\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    };
    let (updates, _, asked) =
        ScriptedServer::new(vec![truncated(7), truncated(8), format!("{STREAM}{}", change(99))])
            .follow_after(0);
    assert_eq!(updates, ["connected", "99"]);
    let asked_for = |after| format!("GET /v1/sessions/a/changes?keys=x%2A HTTP/1.1 {after}");
    assert_eq!(asked, [asked_for(0), asked_for(7), asked_for(8)]);

    let (_, ended, asked) = ScriptedServer::new(vec![truncated(7)]).follow_after(4);
    let problem = advised(ended.unwrap_err());
    assert_eq!((problem.code(), asked.len()), ("CHANGES_TRUNCATED", 1));
    assert!(problem.next_step().is_some_and(|it| it.contains("--since 7")), "{problem:?}");
    // A server that says the same again is not asked for ever.
    let (_, ended, _) = ScriptedServer::new(vec![truncated(0)]).follow_after(0);
    assert_eq!(ended.unwrap_err().code(), "CHANGES_TRUNCATED");
}
