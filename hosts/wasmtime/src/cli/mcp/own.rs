//! A server in this process, for when none runs on the data folder.
//!
//! # Invariant
//!
//! It is found like any other server: by the file that it writes to the data folder.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    time::Duration,
};

use shared_context_wasmtime::{Server, StartError};
use tokio::{runtime::Runtime, time::timeout};

use crate::cli::{problem::Problem, serve, signals::no_thread};

/// A server and its runtime.
#[derive(Debug)]
pub(super) struct OwnServer {
    runtime: Runtime,
    server: Server,
}

/// The reason why the server was not started.
#[derive(Debug)]
pub(super) enum StartFailure {
    /// Another process uses the data folder; its server is the one to call.
    FolderInUse(Problem),
    /// Any other problem.
    Other(Problem),
}

impl OwnServer {
    /// Starts a server on the data folder `folder`, at a free port of this machine.
    ///
    /// # Errors
    ///
    /// Another process uses the folder, or the server cannot start.
    pub(super) fn start(folder: &Path) -> Result<Self, StartFailure> {
        let runtime = Runtime::new().map_err(|error| StartFailure::Other(no_thread(&error)))?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = runtime.block_on(Server::start(serve::options(folder, address)))?;
        Ok(Self { runtime, server })
    }

    /// Returns the server's address.
    pub(super) fn url(&self) -> String {
        self.server.url()
    }

    /// Stops the server, with up to `time_max` for pending requests, and releases the data
    /// folder.
    pub(super) fn stop(self, time_max: Duration) {
        let Self { runtime, server } = self;
        // Requests that take longer were not acknowledged.
        let _ = runtime.block_on(async { timeout(time_max, server.stop()).await });
        runtime.shutdown_background();
    }
}

impl From<StartError> for StartFailure {
    fn from(error: StartError) -> Self {
        let is_folder_in_use = error.is_folder_in_use();
        let problem = Problem::from(error);
        if is_folder_in_use { Self::FolderInUse(problem) } else { Self::Other(problem) }
    }
}
