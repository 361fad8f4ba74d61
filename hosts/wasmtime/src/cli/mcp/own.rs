//! A server of this process's own, for when none runs on the data folder.
//!
//! # Invariant
//!
//! It is found as any other server is: by the file it leaves in the data folder.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    time::Duration,
};

use shared_context_wasmtime::{Server, StartError};
use tokio::{runtime::Runtime, time::timeout};

use crate::cli::{problem::Problem, serve, signals::no_thread};

/// A server, and what it runs on.
#[derive(Debug)]
pub(super) struct OwnServer {
    runtime: Runtime,
    server: Server,
}

/// Why no server could be started.
#[derive(Debug)]
pub(super) enum NotStarted {
    /// Another process uses the data folder: its server is the one to ask.
    FolderInUse(Problem),
    /// It cannot be.
    Other(Problem),
}

impl OwnServer {
    /// Starts one on the data folder `folder`, at a free port of this machine.
    ///
    /// # Errors
    ///
    /// Another process uses the folder; what keeps any server from starting.
    pub(super) fn start(folder: &Path) -> Result<Self, NotStarted> {
        let runtime = Runtime::new().map_err(|error| NotStarted::Other(no_thread(&error)))?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = runtime.block_on(Server::start(serve::options(folder, address)))?;
        Ok(Self { runtime, server })
    }

    /// Returns where it answers.
    pub(super) fn url(&self) -> String {
        self.server.url()
    }

    /// Finishes what has begun, as far as it is done by `time_max`, and gives the
    /// data folder free.
    pub(super) fn stop(self, time_max: Duration) {
        let Self { runtime, server } = self;
        // What takes longer is nothing that was acknowledged.
        let _ = runtime.block_on(async { timeout(time_max, server.stop()).await });
        runtime.shutdown_background();
    }
}

impl From<StartError> for NotStarted {
    fn from(error: StartError) -> Self {
        let is_folder_in_use = error.is_folder_in_use();
        let problem = Problem::from(error);
        if is_folder_in_use { Self::FolderInUse(problem) } else { Self::Other(problem) }
    }
}
