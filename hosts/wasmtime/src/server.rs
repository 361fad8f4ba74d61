//! The server: accepts connections, passes complete requests to `wire`, and sends the
//! responses.
//!
//! Routes, credentials and rate limits are in `wire`; the rules are in the component.
//! Invariants:
//!
//! - One client, and all clients together, use a bounded amount of memory and time,
//!   whatever they send or leave unsent.
//! - With any number of clients, a new connection is served or quickly rejected, and the
//!   operator is always served.
//! - Stopping finishes the requests that have begun, ends waits, and takes seconds at most.

use std::{
    fmt, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
    pin::pin,
    sync::Arc,
    time::Duration,
};

use http::Uri;
use hyper_util::server::graceful::GracefulShutdown;
use shared_context_core::port::Clock;
use shared_context_wire::{
    credential::Keys,
    http::{CorsOrigins, Http, Options, RateLimit},
};
use tokio::{
    net::{TcpListener, TcpSocket},
    sync::oneshot,
    task::JoinHandle,
    time::{sleep, timeout},
};

pub(crate) use self::connection_engine::ConnectionEngine;
use self::{answers::Answers, bodies::Bodies, connection_slots::ConnectionSlots};
use crate::{
    Component, ComponentOptions, Engine, SqliteKv, SqliteOptions, StartError, SystemClock,
    TracingLog, failures,
    folder::{DATABASE_FILE, Secrets, ServerFile},
};

mod answers;
mod bodies;
mod connection;
mod connection_engine;
mod connection_slots;
mod memory_budget;
mod open_files;
#[cfg(test)]
mod tests;
mod unheard;

/// The time limit for a client to send a request's body.
const BODY_TIME_MAX: Duration = Duration::from_secs(30);
/// The buffer of a connection for requests and responses, besides bodies. A request's head
/// cannot be longer.
const BUFFER_BYTES_MAX: usize = 64 << 10;
/// The time limit for clients when the server stops, and then for the disk.
const STOP_TIME_MAX: Duration = Duration::from_secs(5);
/// The maximum number of sessions with an instance that waits for their next request. All of them
/// together use less than 128 MiB of memory, and usually a tenth of that.
const WARM_INSTANCES_MAX: u32 = 64;
/// The pause after the system failed to accept a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The number of connections that the system queues until they are accepted. It drops the first
/// packet of further ones, and the client's system repeats that only after a second.
const BACKLOG: u32 = 4_096;

/// The options of a server.
#[derive(Clone)]
#[non_exhaustive]
pub struct ServerOptions {
    /// The data folder.
    pub folder: PathBuf,
    /// The address to listen on; port 0 takes any free port.
    pub address: SocketAddr,
    /// The secret that signs credentials; `None` for the one in the data folder.
    pub secret: Option<String>,
    /// The key that authenticates the operator; `None` for the one in the data folder.
    pub admin_key: Option<String>,
    /// The rate limit of each participant and each session; `None` for no limit.
    pub rate_limit: Option<RateLimit>,
    /// The public URL if it differs from the address, for example that of a proxy in front
    /// of the server.
    pub public_url: Option<Uri>,
    /// The origins whose web pages may use the server from a browser, besides its own.
    pub cors_origins: CorsOrigins,
    /// The maximum number of open connections, further limited by the files that the
    /// process may open. At the limit the server closes the longest-idle connection. If
    /// none is idle, only the operator is served. Half of the connections may be live
    /// streams; for one more, the stream without changes for the longest is ended in good
    /// order.
    pub connections_max: usize,
    /// The time limit for a client to send a request's head, and for a connection to be idle.
    pub head_time_max: Duration,
    /// The time limit for a client to read a response or the events of a stream.
    pub unread_time_max: Duration,
    /// True if entries are removed at the instant they expire; otherwise they are removed by the
    /// next change of their session. Readers never see an expired entry.
    pub removes_expired: bool,
    /// True if memories of all projects are archived and removed by the rules, at the start and
    /// then once a day.
    pub maintains_daily: bool,
    /// The clock.
    pub clock: Arc<dyn Clock + Send + Sync>,
    /// The options of the component.
    pub component: ComponentOptions,
    /// The options of the database.
    pub storage: SqliteOptions,
}

impl ServerOptions {
    /// Creates the default options for a server on `address` with the data folder `folder`.
    pub fn new(folder: impl Into<PathBuf>, address: SocketAddr) -> Self {
        Self {
            folder: folder.into(),
            address,
            secret: None,
            admin_key: None,
            rate_limit: Some(RateLimit::default()),
            public_url: None,
            cors_origins: CorsOrigins::None,
            connections_max: 4_096,
            head_time_max: Duration::from_mins(1),
            unread_time_max: Duration::from_secs(30),
            removes_expired: true,
            maintains_daily: false,
            clock: Arc::new(SystemClock),
            component: ComponentOptions {
                warm_instances_max: WARM_INSTANCES_MAX,
                ..ComponentOptions::default()
            },
            storage: SqliteOptions::default(),
        }
    }
}

/// A running server. Dropping it also stops it, without waiting.
pub struct Server {
    address: SocketAddr,
    admin_key: String,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
}

/// The state that all connections share.
struct Shared {
    http: Http,
    engine: Engine,
    unread_time_max: Duration,
    head_time_max: Duration,
    slots: Arc<ConnectionSlots>,
    bodies: Bodies,
    answers: Answers,
}

impl Server {
    /// Opens the data folder, loads the component and starts to serve, on the current tokio
    /// runtime.
    ///
    /// # Errors
    ///
    /// The errors of [`SqliteKv::open`] and [`Component::new`]; secrets that are too short;
    /// an address that cannot be listened on.
    pub async fn start(options: ServerOptions) -> Result<Self, StartError> {
        let ServerOptions { address, removes_expired, maintains_daily, folder, .. } =
            options.clone();
        let bound = bind(address).map_err(|it| not_bound(address, &it));
        // A folder in use is the better reason, but none is created in vain.
        let bound = if folder.exists() { bound } else { Ok(bound?) };
        let opened = tokio::task::spawn_blocking(move || open(&options)).await;
        let (shared, admin_key) = opened.map_err(|it| StartError::new(it.to_string()))??;
        let listener = bound?.listen(BACKLOG).map_err(|it| not_bound(address, &it))?;
        let address = listener.local_addr().map_err(|it| not_bound(address, &it))?;
        // The file is only a hint, and a full disk has no room for it.
        if let Err(error) = ServerFile::write(&folder, &url(address)) {
            tracing::warn!(%error, "programs on this machine will not find this server by itself");
        }
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(async move {
            let shared = Arc::new(shared);
            tokio::select! {
                () = accept(listener, &shared, stopped) => {}
                () = shared.engine.keep_time(), if removes_expired => {}
                () = shared.engine.maintain_daily(), if maintains_daily => {}
            }
            // Removed while the folder is locked: the next server writes its own.
            ServerFile::remove(&folder);
            if timeout(STOP_TIME_MAX, shared.engine.close()).await.is_err() {
                tracing::error!("the disk does not answer: what was not acknowledged may be lost");
            }
        });
        Ok(Self { address, admin_key, stop: Some(stop), serving })
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the server's URL for programs on this machine, such as
    /// `http://127.0.0.1:8080`.
    pub fn url(&self) -> String {
        url(self.address)
    }

    /// Returns the key that authenticates the operator.
    pub fn admin_key(&self) -> &str {
        &self.admin_key
    }

    /// Accepts no further connections, finishes the requests that have begun, ends live
    /// streams, waits for the disk, and unlocks the data folder.
    pub async fn stop(mut self) {
        drop(self.stop.take());
        drop(self.serving.await);
    }
}

/// Opens everything that may block: the database, the secrets and the component.
fn open(options: &ServerOptions) -> Result<(Shared, String), StartError> {
    let was_used = options.folder.join(DATABASE_FILE).exists();
    let kv = SqliteKv::open(&options.folder, &options.storage)?;
    let Secrets { secret, admin_key } = match (&options.secret, &options.admin_key) {
        (Some(secret), Some(admin_key)) => {
            Secrets { secret: secret.clone(), admin_key: admin_key.clone() }
        }
        (secret, admin_key) => {
            let stored = Secrets::read_or_make(&options.folder, was_used)?;
            Secrets {
                secret: secret.clone().unwrap_or(stored.secret),
                admin_key: admin_key.clone().unwrap_or(stored.admin_key),
            }
        }
    };
    let keys =
        Keys::new(secret.as_bytes(), &admin_key).map_err(|it| StartError::new(it.to_string()))?;
    let mut wire = Options::new(keys.bound_to(kv.identity()));
    wire.rate_limit.clone_from(&options.rate_limit);
    wire.public_url.clone_from(&options.public_url);
    wire.cors_origins.clone_from(&options.cors_origins);
    wire.is_local = options.address.ip().is_loopback();
    wire.request_id_seed = getrandom::u64()
        .map_err(|it| StartError::new(format!("the system gives no random bytes: {it}")))?;
    let connections_max = open_files::connections_allowed(options.connections_max);
    wire.connections_max = u32::try_from(connections_max).ok();
    let component = Component::new(&options.component)?;
    let engine = Engine::new(component, kv, Arc::clone(&options.clock), Arc::new(TracingLog));
    let shared = Shared {
        http: Http::new(wire),
        engine,
        unread_time_max: options.unread_time_max,
        head_time_max: options.head_time_max,
        slots: Arc::new(ConnectionSlots::new(connections_max)),
        bodies: Bodies::new(),
        answers: Answers::new(),
    };
    Ok((shared, admin_key))
}

/// Returns a socket of `address` that does not listen yet.
fn bind(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // As servers on Unix usually do, so that a restart can bind at once.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// Serves connections until `stopped` fires, then lets them finish.
async fn accept(listener: TcpListener, shared: &Arc<Shared>, stopped: oneshot::Receiver<()>) {
    let graceful = GracefulShutdown::new();
    let mut stopped = pin!(stopped);
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    if let Some(suppressed) = failures::admit(&error.to_string()) {
                        tracing::warn!(%error, suppressed, "a connection could not be taken");
                    }
                    sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
            _ = &mut stopped => break,
        };
        let Some(slot) = shared.slots.take() else {
            connection::reject(stream, shared);
            continue;
        };
        let slot = Arc::new(slot);
        let connection = connection::connection(stream, Arc::clone(shared), Arc::clone(&slot));
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            tokio::select! {
                biased;
                () = slot.closed() => {}
                // An error on a connection is for its client to handle.
                _ = connection => {}
            }
        });
    }
    drop(listener);
    shared.engine.end_waits();
    if timeout(STOP_TIME_MAX, graceful.shutdown()).await.is_err() {
        tracing::warn!("some clients did not let go of their connections");
    }
}

/// Returns the URL of the server for programs on this machine.
fn url(mut address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    format!("http://{address}")
}

fn not_bound(address: SocketAddr, error: &io::Error) -> StartError {
    let (port, host) = (address.port(), address.ip());
    StartError::new(match error.kind() {
        io::ErrorKind::AddrInUse => format!(
            "port {port} of {host} is in use by another program; \
             choose another port (0 takes any free one), or stop that program"
        ),
        io::ErrorKind::PermissionDenied => format!(
            "this user may not listen on port {port} of {host}; \
             choose a port from 1024 on, or 0 for any free one"
        ),
        io::ErrorKind::AddrNotAvailable => format!(
            "{host} is not an address of this machine; \
             127.0.0.1 always is, 0.0.0.0 stands for all of them"
        ),
        _ => format!("cannot listen on {address}: {error}"),
    })
}

impl fmt::Debug for Server {
    /// Omits the admin key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

impl fmt::Debug for ServerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerOptions")
            .field("folder", &self.folder)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
