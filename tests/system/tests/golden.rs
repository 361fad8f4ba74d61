//! Data folders of earlier versions of the program, stopped and killed: every later version opens
//! them and shows their content.
//!
//! The folder in `golden/format-1` was written by the last version before checksums, that in
//! `golden/format-2` by the last one before the index of what expires. The documents that they
//! exported are beside their databases. These files are never written again: a new format gets a
//! new folder.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::{fs, path::Path};

use serde_json::Value;
use shared_context_system::{Client, Server};
use tempfile::tempdir;

/// Checks that each document of `golden` is what the server exports, and that there
/// are no other sessions.
#[track_caller]
fn check(admin: &Client, golden: &Path) {
    let mut ids = Vec::new();
    for file in fs::read_dir(golden).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|it| it == "json") {
            let id = path.file_stem().unwrap().to_str().unwrap();
            let document: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            let exported = admin.get(&format!("/v1/sessions/{id}/export")).expect(200);
            assert_eq!(exported, document, "{}", path.display());
            ids.push(id.to_owned());
        }
    }
    assert!(ids.len() >= 3, "{ids:?}");
    ids.sort_unstable();
    let listed = admin.get("/v1/sessions").expect(200);
    let listed: Vec<_> = listed["sessions"].as_array().unwrap().iter().collect();
    let listed: Vec<_> = listed.iter().map(|it| it["session_id"].as_str().unwrap()).collect();
    assert_eq!(listed, ids);
}

#[test]
fn a_data_folder_of_an_earlier_format_shows_what_was_in_it() {
    // A session that was deleted long ago goes on where it was.
    for (format, next_revision) in [(1, 5), (2, 6)] {
        for end in ["stopped", "killed"] {
            let golden = Path::new(env!("CARGO_MANIFEST_DIR"));
            let golden = golden.join(format!("golden/format-{format}")).join(end);
            let folder = tempdir().unwrap();
            for file in ["shared-context.db", "shared-context.db-wal", "shared-context.mark"] {
                if golden.join(file).exists() {
                    fs::copy(golden.join(file), folder.path().join(file)).unwrap();
                }
            }
            let server = Server::start(folder.path());
            check(&server.admin(), &golden);
            server.kill();
            let server = Server::start(folder.path());
            check(&server.admin(), &golden);
            let analyst = server.admin().mint("ticket-7", "subagent:analysis");
            let written = analyst.write("ticket-7", "findings", "Three.").expect(200);
            assert_eq!(written["version"], 3);
            let orchestrator = server.admin().create_session("gone", &serde_json::json!({}));
            let written = orchestrator.write("gone", "scope", "New.").expect(200);
            assert_eq!(written["revision"], next_revision);
            server.stop();
            drop(Server::start(folder.path()));
        }
    }
}
