//! The server: listeners, a thread per connection, and the watch.

use crate::config::{Config, StartError};
use crate::control::{Cancel, Control, Ending, Phase, Ticks};
use crate::door::{ConnectionSlot, Door, ServerState, Sessions};
use crate::handle::Handle;
use crate::live::{Admission, Live};
use crate::metrics::Metrics;
use crate::registry::Registry;
use crate::stream::{Socket, Stream, Way};
use scaledb_pgwire::{End, Limits, random, serve};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicBool, Ordering};
use scaledb_sync::thread::{self, JoinHandle, try_spawn};
use std::cell::{Cell, RefCell};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often the watch looks at the connections.
const TURN: Duration = Duration::from_millis(20);
/// Turns of the watch between two looks for clients that hung up: a system call for each that is busy.
const GONE_TURNS: u64 = 25;
/// Turns of the watch between two reports of a disk that has failed: a minute.
const REPORT_TURNS: u64 = 3_000;
/// A transaction that has idled for as long may be ended when memory is short.
const HOLDER_MILLIS: u64 = 1_000;
/// Turns of the watch from there to the next one: what it held is freed meanwhile.
const RELIEF_TURNS: u64 = 25;
/// How long cancelled statements, and then closed connections, may take to end.
const LAST_GRACE: Duration = Duration::from_secs(2);
/// How long a listener waits when the system has no more files or threads.
const BREATH: Duration = Duration::from_millis(50);

/// A server that runs. Dropping it does not end it: see [`stop`](Self::stop).
pub struct Server {
    addresses: Vec<SocketAddr>,
    socket: Option<PathBuf>,
    registry: Arc<Registry>,
    handle: Handle,
    stopping: Arc<AtomicBool>,
    grace: Duration,
    metrics: Option<Metrics>,
    listeners: Vec<JoinHandle<Listener>>,
    watch: JoinHandle<()>,
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    fn accept(&self) -> std::io::Result<Socket> {
        match self {
            Self::Tcp(listener) => listener.accept().map(|(stream, _)| Socket::new(Way::Tcp(stream))),
            Self::Unix(listener) => listener.accept().map(|(stream, _)| Socket::new(Way::Unix(stream))),
        }
    }
}

impl Server {
    /// Starts to listen. Port 0 is a free one: [`addresses`](Self::addresses) tells which.
    ///
    /// # Errors
    ///
    /// See [`StartError`].
    pub fn start<S: Sessions>(config: Config, sessions: S) -> Result<Self, StartError> {
        Self::start_at(config, sessions, Vec::new())
    }

    /// Starts to listen where another server has listened: see [`hand_over`](Self::hand_over). Without listeners, where
    /// the configuration says.
    ///
    /// # Errors
    ///
    /// See [`StartError`].
    pub fn start_at<S: Sessions>(
        config: Config,
        sessions: S,
        mut listening: Vec<TcpListener>,
    ) -> Result<Self, StartError> {
        let live = Arc::new(Live::new(config.clone())?);
        let secret = random().map_err(|report| StartError::System(report.fields.message.into_owned()))?;
        let mut listeners = Vec::new();
        let mut addresses = Vec::new();
        if listening.is_empty() {
            for address in &config.listen {
                let error = |error| StartError::Listen { at: address.to_string(), error };
                listening.push(TcpListener::bind(address).map_err(error)?);
            }
        }
        for listener in listening {
            addresses.push(listener.local_addr().map_err(|error| StartError::System(error.to_string()))?);
            listeners.push(Listener::Tcp(listener));
        }
        let port = addresses.first().map_or(5432, SocketAddr::port);
        let socket = config.socket.as_ref().map(|directory| directory.join(format!(".s.PGSQL.{port}")));
        if let Some(path) = &socket {
            listeners.push(Listener::Unix(unix(path)?));
        }
        let registry = Arc::new(Registry::default());
        let stopping = Arc::new(AtomicBool::new(false));
        let ticks = Arc::new(Ticks::new());
        let (grace, metrics) = (config.shutdown_grace, config.metrics);
        let shared =
            Arc::new(ServerState { live: live.clone(), registry: registry.clone(), secret, sessions });
        let metrics = metrics.map(|address| Metrics::start(address, shared.clone())).transpose()?;

        let spawned = |error: std::io::Error| StartError::System(error.to_string());
        let watch = {
            let (shared, stopping, ticks) = (shared.clone(), stopping.clone(), ticks.clone());
            try_spawn("watch", move || watch(&shared, &stopping, &ticks)).map_err(spawned)?
        };
        let listeners = listeners.into_iter().map(|listener| {
            let (shared, stopping, ticks) = (shared.clone(), stopping.clone(), ticks.clone());
            let accepts = move || {
                listen(&listener, &shared, &stopping, &ticks);
                listener
            };
            try_spawn("listen", accepts)
        });
        let listeners = listeners.collect::<Result<_, _>>().map_err(spawned)?;
        let reload = {
            let shared = shared.clone();
            Arc::new(move |config: &Config| shared.sessions.reload(config))
        };
        let handle = Handle { live, registry: registry.clone(), addresses: addresses.clone().into(), reload };
        Ok(Self { addresses, socket, registry, handle, stopping, grace, metrics, listeners, watch })
    }

    /// What steers the server while it runs.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// The TCP addresses that are listened at.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The Unix socket that is listened at.
    pub fn socket(&self) -> Option<&PathBuf> {
        self.socket.as_ref()
    }

    /// Where metrics are served.
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().map(Metrics::address)
    }

    /// How many clients are connected.
    pub fn connections(&self) -> usize {
        self.registry.len()
    }

    /// Ends the server: no new clients; statements that run may end within the grace, idle sessions are told
    /// 57P01; then what still runs is cancelled, and what does not end is cut off.
    pub fn stop(self) {
        drop(self.end(false));
    }

    /// [`stop`](Self::stop), for a server that goes on at the same addresses: clients that come meanwhile wait for it.
    #[must_use = "clients wait until somebody accepts them"]
    pub fn hand_over(self) -> Vec<TcpListener> {
        self.end(true)
    }

    fn end(self, keeps: bool) -> Vec<TcpListener> {
        self.stopping.store(true, Ordering::SeqCst);
        // listeners wake up when a connection comes
        for address in &self.addresses {
            let ip = match address.ip() {
                IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
                IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
                ip => ip,
            };
            let _ = TcpStream::connect_timeout(&SocketAddr::new(ip, address.port()), LAST_GRACE);
        }
        if let Some(path) = &self.socket {
            let _ = UnixStream::connect(path);
        }
        let mut kept = Vec::new();
        for listener in self.listeners {
            if let Ok(Listener::Tcp(listener)) = listener.join()
                && keeps
            {
                kept.push(listener);
            }
        }
        if let Some(path) = &self.socket {
            let _ = std::fs::remove_file(path);
        }
        let empty = |patience: Duration| {
            let deadline = Instant::now() + patience;
            while self.registry.len() > 0 && Instant::now() < deadline {
                thread::sleep(TURN);
            }
            self.registry.len() == 0
        };
        // the watch ends those that are idle, and those that become so
        if !empty(self.grace) {
            self.registry.for_each(|control| control.cancel(Cancel::Shutdown));
            if !empty(LAST_GRACE) {
                self.registry.for_each(|control| control.socket.close(Shutdown::Both));
                empty(LAST_GRACE);
            }
        }
        // the watch ends with the last connection; one whose thread hangs is not waited for
        if self.registry.len() == 0 {
            let _ = self.watch.join();
        }
        if let Some(metrics) = self.metrics {
            metrics.stop();
        }
        kept
    }
}

fn unix(path: &PathBuf) -> Result<UnixListener, StartError> {
    let error = |error| StartError::Listen { at: path.display().to_string(), error };
    match UnixListener::bind(path) {
        // left behind by a server that did not end in order, unless a server answers there
        Err(busy) if busy.kind() == std::io::ErrorKind::AddrInUse && UnixStream::connect(path).is_err() => {
            std::fs::remove_file(path).map_err(error)?;
            UnixListener::bind(path).map_err(error)
        }
        bound => bound.map_err(error),
    }
}

fn listen<S: Sessions>(
    listener: &Listener,
    shared: &Arc<ServerState<S>>,
    stopping: &AtomicBool,
    ticks: &Arc<Ticks>,
) {
    loop {
        let accepted = listener.accept();
        if stopping.load(Ordering::SeqCst) {
            return;
        }
        match accepted {
            Ok(socket) => greet(socket, shared, ticks),
            Err(error) => {
                // out of file descriptors, most likely: they are freed when connections end
                tracing::warn!(%error, "cannot accept a connection");
                thread::sleep(BREATH);
            }
        }
    }
}

/// Gives a client its thread.
fn greet<S: Sessions>(socket: Socket, shared: &Arc<ServerState<S>>, ticks: &Arc<Ticks>) {
    let registry = &shared.registry;
    // statistics
    registry.accepted.fetch_add(1, Ordering::Relaxed);
    let refuse = |why: &str| {
        tracing::debug!(why, "connection refused");
        registry.refused.fetch_add(1, Ordering::Relaxed); // a statistic
    };
    let admission = shared.live.admission();
    let Some(place) = ConnectionSlot::take(registry, admission.max_unauthenticated) else {
        return refuse("too many clients that have not proved who they are");
    };
    let Ok(peer) = socket.prepare(admission.write_timeout).and_then(|()| socket.peer()) else {
        return refuse("gone already");
    };
    let control = Arc::new(Control::new(Arc::new(socket), peer, ticks.clone()));
    let number = registry.add(control.clone());
    let started = {
        let (shared, control) = (shared.clone(), control.clone());
        try_spawn("client", move || run(&shared, admission, &control, place, number))
    };
    if let Err(error) = started {
        tracing::warn!(%error, "no thread for a connection");
        registry.remove(number, None);
        refuse("no thread");
        thread::sleep(BREATH);
    }
}

/// Serves a client, on its thread.
fn run<S: Sessions>(
    shared: &ServerState<S>,
    admission: Arc<Admission>,
    control: &Arc<Control>,
    place: ConnectionSlot,
    number: u64,
) {
    let limits = Limits { message_bytes: admission.max_message_bytes };
    let (log_end, begun) = (admission.log_disconnections, Instant::now());
    let door = Door { shared, admission, control, place: RefCell::new(Some(place)), pid: Cell::new(None) };
    let stream = Stream(control.socket.clone());
    let end = catch_unwind(AssertUnwindSafe(|| serve(stream, &door, &limits)));
    let peer = control.peer;
    match end {
        // the class of SQLSTATE for clients that failed to authenticate, or are not authorized
        Ok(End::Fatal(report)) if report.code.class() == "28" => {
            tracing::warn!(%peer, why = &*report.message, "login refused");
        }
        // texts of clients are logged in quotes: they may hold line breaks
        Ok(End::Fatal(report)) => tracing::info!(%peer, why = &*report.message, "connection ended"),
        Ok(End::Io(error)) => tracing::info!(%peer, %error, "connection lost"),
        Ok(end) => tracing::debug!(%peer, %end, "connection ended"),
        Err(_) => tracing::error!(%peer, "connection ended by a panic"),
    }
    if let (true, Some(pid)) = (log_end, door.pid.get()) {
        let [statements, errors, _] = control.counts.take();
        let seconds = begun.elapsed().as_millis() as f64 / 1e3;
        tracing::info!(%peer, pid, seconds, statements, errors, "disconnected");
    }
    control.socket.close(Shutdown::Both);
    shared.registry.remove(number, door.pid.get());
}

/// Looks at all connections again and again: whose time is up, and who must go because the server does. And at the
/// database: whether its disk has failed.
fn watch<S: Sessions>(shared: &ServerState<S>, stopping: &AtomicBool, ticks: &Ticks) {
    let registry = &shared.registry;
    let (mut next_report, mut next_end) = (0, 0);
    for turn in 0_u64.. {
        let now = ticks.turn();
        let stop = stopping.load(Ordering::SeqCst);
        let admission = shared.live.admission();
        let authentication = admission.authentication_timeout.as_millis();
        let authentication = u64::try_from(authentication).unwrap_or(u64::MAX);
        if turn >= next_end && end_holder(shared, now, admission.idle_in_transaction_memory_percent) {
            next_end = turn + RELIEF_TURNS;
        }
        registry.for_each(|control| {
            control.watch(now, authentication, turn.is_multiple_of(GONE_TURNS));
            if stop {
                control.end(Ending::Shutdown);
                if !matches!(control.state().0, Phase::Busy | Phase::Copying) {
                    control.socket.close(Shutdown::Read);
                }
            }
        });
        if turn >= next_report
            && turn.is_multiple_of(GONE_TURNS)
            && let Some(why) = shared.sessions.failure()
        {
            tracing::error!(
                why,
                "the disk has failed: nothing is written any more, and commits are refused with 58030; see to the disk, \
                 and start the server again"
            );
            next_report = turn + REPORT_TURNS;
        }
        if stop && registry.len() == 0 {
            return;
        }
        thread::sleep(TURN);
    }
}

/// While memory is short: ends the transaction that others' garbage waits for, if its client does nothing with it.
/// True: it was ended.
fn end_holder<S: Sessions>(shared: &ServerState<S>, now: u64, percent: u8) -> bool {
    let Some(pid) = shared.sessions.holder(percent) else { return false };
    let Some(control) = shared.registry.session(pid) else { return false };
    if !control.end_idle(now, HOLDER_MILLIS, Ending::HoldsMemory) {
        return false;
    }
    shared.registry.holders_ended.fetch_add(1, Ordering::Relaxed); // a statistic
    tracing::warn!(
        pid,
        peer = %control.peer,
        "memory is short, and an idle transaction kept some from being used again: it was ended with 72000"
    );
    true
}
