//! The server: sockets in, whole requests to `wire`, responses out.
//!
//! Not here: routes, credentials and rate limits (`wire`), the rules (the
//! component). Invariants:
//!
//! - What one client sends, or does not send, takes a bounded amount of memory
//!   and time, and so does what all of them send together.
//! - However many clients there are, who connects is served or told in a moment
//!   that nobody new is, and the operator is served.
//! - Stopping finishes what has begun but for waiting, which it ends, and takes
//!   seconds at most.

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
    http::{Http, Options, RateLimit},
};
use tokio::{
    net::{TcpListener, TcpSocket},
    sync::oneshot,
    task::JoinHandle,
    time::{sleep, timeout},
};

pub(crate) use self::seated::Seated;
use self::{answers::Answers, bodies::Bodies, seats::Seats};
use crate::{
    Component, ComponentOptions, Engine, SqliteKv, SqliteOptions, StartError, SystemClock,
    TracingLog, failures,
    folder::{Secrets, ServerFile},
};

mod answers;
mod bodies;
mod connection;
mod open_files;
mod room;
mod seated;
mod seats;
#[cfg(test)]
mod tests;
mod unheard;

/// How long a client may take to send a request's body.
const BODY_TIME_MAX: Duration = Duration::from_secs(30);
/// How much of a request, and of an answer, a connection keeps in memory besides
/// the body; a head cannot be longer.
const BUFFER_BYTES_MAX: usize = 64 << 10;
/// How long stopping waits for clients, and then for the disk.
const STOP_TIME_MAX: Duration = Duration::from_secs(5);
/// How long to wait when the system gives no further connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How many connections the system keeps until they are taken. Of what comes beyond, the
/// system drops the first packet, and the client's sends it again only after a second.
const BACKLOG: u32 = 4_096;

/// How a server is set up.
#[derive(Clone)]
#[non_exhaustive]
pub struct ServerOptions {
    /// The data folder.
    pub folder: PathBuf,
    /// Where to listen; port 0 takes any free one.
    pub address: SocketAddr,
    /// What credentials are signed with; `None`: what is in the data folder.
    pub secret: Option<String>,
    /// What proves the operator; `None`: what is in the data folder.
    pub admin_key: Option<String>,
    /// How much each participant and each session may ask for; `None` for any number.
    pub rate_limit: Option<RateLimit>,
    /// Its address for the world, when it has another one than it listens on: that
    /// of a proxy in front of it.
    pub public_url: Option<Uri>,
    /// How many connections may be open, as far as the system lets the process
    /// open files. For one more the connection is closed that has been idle the
    /// longest; when all are busy, only the operator is served. Half of them may be live
    /// streams; for one more, one that has nothing to tell is ended in good order.
    pub connections_max: usize,
    /// How long a client may take to send a request's head, and how long a
    /// connection may be idle.
    pub head_time_max: Duration,
    /// How long a client may leave an answer unread, or the events of a stream.
    pub unread_time_max: Duration,
    /// Whether what has expired is removed at its instant; if not, it is with the
    /// next change of its session. Readers see it in neither case.
    pub removes_expired: bool,
    /// The time.
    pub clock: Arc<dyn Clock + Send + Sync>,
    /// How the component is run.
    pub component: ComponentOptions,
    /// How the database is kept.
    pub storage: SqliteOptions,
}

impl ServerOptions {
    /// Creates a server on `address` over the data folder `folder`, all else as usual.
    pub fn new(folder: impl Into<PathBuf>, address: SocketAddr) -> Self {
        Self {
            folder: folder.into(),
            address,
            secret: None,
            admin_key: None,
            rate_limit: Some(RateLimit::default()),
            public_url: None,
            connections_max: 4_096,
            head_time_max: Duration::from_mins(1),
            unread_time_max: Duration::from_secs(30),
            removes_expired: true,
            clock: Arc::new(SystemClock),
            component: ComponentOptions::default(),
            storage: SqliteOptions::default(),
        }
    }
}

/// A running server. Dropping it stops it too, without waiting.
pub struct Server {
    address: SocketAddr,
    admin_key: String,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
}

/// What all connections share.
struct Shared {
    http: Http,
    engine: Engine,
    unread_time_max: Duration,
    head_time_max: Duration,
    seats: Arc<Seats>,
    bodies: Bodies,
    answers: Answers,
}

impl Server {
    /// Opens the data folder, loads the component and begins to answer, on the
    /// tokio runtime this is called on.
    ///
    /// # Errors
    ///
    /// What [`SqliteKv::open`] and [`Component::new`] refuse; secrets that are
    /// too short; an address that cannot be listened on.
    pub async fn start(options: ServerOptions) -> Result<Self, StartError> {
        let ServerOptions { address, removes_expired, folder, .. } = options.clone();
        let opened = tokio::task::spawn_blocking(move || open(&options)).await;
        let (shared, admin_key) = opened.map_err(|it| StartError::new(it.to_string()))??;
        let listener = listen(address).map_err(|it| not_bound(address, &it))?;
        let address = listener.local_addr().map_err(|it| not_bound(address, &it))?;
        // It is only a hint: a disk that is full has no room for it.
        if let Err(error) = ServerFile::write(&folder, &url(address)) {
            tracing::warn!(%error, "programs on this machine will not find this server by itself");
        }
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(async move {
            let shared = Arc::new(shared);
            tokio::select! {
                () = accept(listener, &shared, stopped) => {}
                () = shared.engine.keep_time(), if removes_expired => {}
            }
            // While the folder is still ours: the next server writes its own.
            ServerFile::remove(&folder);
            if timeout(STOP_TIME_MAX, shared.engine.close()).await.is_err() {
                tracing::error!("the disk does not answer: what was not acknowledged may be lost");
            }
        });
        Ok(Self { address, admin_key, stop: Some(stop), serving })
    }

    /// Returns where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns its URL for programs on this machine, such as `http://127.0.0.1:8080`.
    pub fn url(&self) -> String {
        url(self.address)
    }

    /// Returns what proves the operator.
    pub fn admin_key(&self) -> &str {
        &self.admin_key
    }

    /// Takes no further connection, finishes the requests that have begun, ends
    /// live streams, waits for the disk, and gives the data folder free.
    pub async fn stop(mut self) {
        drop(self.stop.take());
        drop(self.serving.await);
    }
}

/// Returns all of a server that may take a while to get.
fn open(options: &ServerOptions) -> Result<(Shared, String), StartError> {
    let kv = SqliteKv::open(&options.folder, &options.storage)?;
    let Secrets { secret, admin_key } = match (&options.secret, &options.admin_key) {
        (Some(secret), Some(admin_key)) => {
            Secrets { secret: secret.clone(), admin_key: admin_key.clone() }
        }
        (secret, admin_key) => {
            let kept = Secrets::read_or_make(&options.folder)?;
            Secrets {
                secret: secret.clone().unwrap_or(kept.secret),
                admin_key: admin_key.clone().unwrap_or(kept.admin_key),
            }
        }
    };
    let keys =
        Keys::new(secret.as_bytes(), &admin_key).map_err(|it| StartError::new(it.to_string()))?;
    let mut wire = Options::new(keys.bound_to(kv.identity()));
    wire.rate_limit.clone_from(&options.rate_limit);
    wire.public_url.clone_from(&options.public_url);
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
        seats: Arc::new(Seats::new(connections_max)),
        bodies: Bodies::new(),
        answers: Answers::new(),
    };
    Ok((shared, admin_key))
}

/// Listens on `address`.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // As every server on this system does: it can start anew at once.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves connections until told to stop, then lets them finish.
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
        let Some(seat) = shared.seats.take() else {
            connection::refuse(stream, shared);
            continue;
        };
        let seat = Arc::new(seat);
        let connection = connection::connection(stream, Arc::clone(shared), Arc::clone(&seat));
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            tokio::select! {
                biased;
                () = seat.ended() => {}
                // What goes wrong with a connection is its client's to notice.
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

/// Returns where a program on this machine finds the server.
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
    /// Without the admin key.
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
