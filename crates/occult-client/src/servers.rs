//! Connections to the servers, and which of them a command goes to.

use crate::topology::{Places, SLOTS, Topology};
use crate::{Address, Error, Options, Shape};
use redis::aio::MultiplexedConnection;
use redis::{Cmd, RedisError, RedisResult, Value};
use scaledb_occult::client::{Failure, Target};
use scaledb_occult::wire::{Command, Refused, Reply};
use scaledb_occult::{Malformed, Micros};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{Mutex, watch};

/// How many redirections one command follows.
const MAX_REDIRECTIONS: usize = 4;

/// What is known of the cluster.
#[derive(Clone, Debug, Default)]
struct Map {
    topology: Topology,
    places: Places,
    /// Slots whose masters were told by redirections since.
    moved: HashMap<u16, Address>,
    asked: Option<Instant>,
}

/// The servers of a cluster.
#[derive(Debug)]
pub(crate) struct Servers {
    options: Options,
    seeds: Vec<redis::ConnectionInfo>,
    map: watch::Sender<Arc<Map>>,
    connections: Mutex<HashMap<Address, MultiplexedConnection>>,
    /// Held by who asks for the map.
    refreshing: Mutex<()>,
    begin: Instant,
}

impl Servers {
    /// Connects to the first server that answers, and learns of the others; the shape of their timestamps.
    pub(crate) async fn connect(options: Options) -> Result<(Arc<Self>, Shape), Error> {
        let seeds: Result<Vec<redis::ConnectionInfo>, RedisError> = options
            .seeds
            .iter()
            .map(|seed| redis::IntoConnectionInfo::into_connection_info(seed.as_str()))
            .collect();
        let seeds = seeds.map_err(|error| Error::Address(error.to_string()))?;
        // all servers are spoken to as the first seed says
        let encrypted =
            |seed: &redis::ConnectionInfo| matches!(seed.addr(), redis::ConnectionAddr::TcpTls { .. });
        if seeds.iter().any(encrypted) && !seeds.iter().all(encrypted) {
            return Err(Error::Address("redis:// and rediss:// together".to_owned()));
        }
        // certificates that are none are told here, and not as servers that do not answer
        #[cfg(feature = "tls")]
        if seeds.iter().any(encrypted) {
            check_authorities(&options)?;
        }
        for seed in &seeds {
            let of = if encrypted(seed) { Error::Certificates } else { Error::Address };
            client_of(&options, seed.clone()).map_err(|error| of(error.to_string()))?;
        }
        let servers = Arc::new(Self {
            options,
            seeds,
            map: watch::Sender::new(Arc::default()),
            connections: Mutex::new(HashMap::new()),
            refreshing: Mutex::new(()),
            begin: Instant::now(),
        });
        let shape = servers.refresh().await?;
        Ok((servers, shape))
    }

    /// A clock that does not go back.
    pub(crate) fn now(&self) -> Micros {
        Micros(u64::try_from(self.begin.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    /// How transactions are tried.
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Sends a command: whether a master has answered, and what.
    pub(crate) async fn send(&self, to: Target, command: &Command) -> (bool, Result<Reply, Failure>) {
        let slot = command.slot().get();
        let (address, master) = self.choose(slot, to);
        let Some(mut address) = address else {
            self.learn().await;
            return (true, Err(Failure::NotSent));
        };
        let mut master = master;
        let mut request = Cmd::new();
        for argument in command.to_args() {
            request.arg(argument);
        }
        let mut asking = false;
        for _ in 0..MAX_REDIRECTIONS {
            let Ok(mut connection) = self.connection(&address).await else {
                self.learn().await;
                return (master, Err(Failure::NotSent));
            };
            let result = if asking {
                let mut both = redis::pipe();
                both.cmd("ASKING").ignore().add_command(request.clone());
                both.query_async::<(Vec<u8>,)>(&mut connection).await.map(|(bytes,)| bytes)
            } else {
                request.query_async::<Vec<u8>>(&mut connection).await
            };
            let error = match result {
                Ok(bytes) => return (master, Reply::from_bytes(&bytes).map_err(|_| Failure::Unknown)),
                Err(error) => error,
            };
            let redirected =
                error.redirect_node().and_then(|(node, slot)| Some((Address::parse(node)?, slot)));
            match redirected {
                Some((node, slot)) => {
                    asking = error.kind() == redis::ErrorKind::Server(redis::ServerErrorKind::Ask);
                    if !asking {
                        self.note_moved(slot, &node);
                    }
                    // an address without a host is the one that was asked
                    let host = if node.host.is_empty() { address.host.clone() } else { node.host };
                    address = Address { host, port: node.port };
                    master = true;
                }
                None => return (master, Err(self.failure(&address, &error).await)),
            }
        }
        self.learn().await;
        (master, Err(Failure::NotSent))
    }

    /// Whom to ask, and whether he is the master.
    fn choose(&self, slot: u16, to: Target) -> (Option<Address>, bool) {
        let map = self.map.borrow();
        let master = map.moved.get(&slot).or_else(|| map.topology.master(slot));
        if to == Target::Nearest
            && let Some(near) = self.options.datacenter
        {
            let is_near = |address: &&Address| map.places.get(*address) == Some(&near);
            if master.as_ref().is_some_and(is_near) {
                return (master.cloned(), true);
            }
            let replicas = map.topology.replicas(slot);
            let near: Vec<&Address> = replicas.iter().filter(is_near).collect();
            if !near.is_empty() {
                // sessions of one client spread over the copies by time: nothing depends on it
                let at = self.begin.elapsed().subsec_nanos() as usize % near.len();
                return (Some(near[at].clone()), false);
            }
        }
        (master.cloned(), true)
    }

    fn note_moved(&self, slot: u16, to: &Address) {
        if slot < SLOTS {
            self.map.send_modify(|map| {
                Arc::make_mut(map).moved.insert(slot, to.clone());
            });
        }
    }

    /// What an error means for who has sent.
    async fn failure(&self, address: &Address, error: &RedisError) -> Failure {
        let Some(code) = error.code() else {
            // the connection, or the time: it may have been executed
            self.connections.lock().await.remove(address);
            self.learn().await;
            return Failure::Unknown;
        };
        let text = format!("{code} {}", error.detail().unwrap_or_default());
        if let Ok(refused) = text.parse() {
            return Failure::Refused(refused);
        }
        match code {
            // not executed, and may be later, or elsewhere
            "CLUSTERDOWN" | "LOADING" | "MASTERDOWN" | "READONLY" | "BUSY" | "NOREPLICAS" | "MISCONF" => {
                self.learn().await;
                Failure::NotSent
            }
            _ => refused("the server has refused the command: is the module loaded there, in this version?"),
        }
    }

    /// A connection to a server, at the address that it announces.
    async fn connection(&self, address: &Address) -> RedisResult<MultiplexedConnection> {
        let mut connections = self.connections.lock().await;
        if let Some(connection) = connections.get(address) {
            return Ok(connection.clone());
        }
        // others wait for this one meanwhile, for as long as a connection may take: most often they want the same
        let connection = self.open(address).await?;
        connections.insert(address.clone(), connection.clone());
        Ok(connection)
    }

    async fn open(&self, address: &Address) -> RedisResult<MultiplexedConnection> {
        let reached = self.options.addresses.get(address).unwrap_or(address);
        // user, password and database are those of the first server that was named
        let info = match self.seeds.first() {
            Some(seed) => seed.clone(),
            None => redis::IntoConnectionInfo::into_connection_info("redis://127.0.0.1")?,
        };
        let (host, port) = (reached.host.clone(), reached.port);
        let at = match info.addr() {
            redis::ConnectionAddr::TcpTls { .. } => {
                redis::ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None }
            }
            _ => redis::ConnectionAddr::Tcp(host, port),
        };
        self.open_at(info.set_addr(at)).await
    }

    async fn open_at(&self, info: redis::ConnectionInfo) -> RedisResult<MultiplexedConnection> {
        let config = redis::AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.options.connect_timeout))
            .set_response_timeout(Some(self.options.response_timeout));
        let client = client_of(&self.options, info)?;
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        // replicas answer reads only to those who say that they know; to a master it means nothing
        let _: Value = redis::cmd("READONLY").query_async(&mut connection).await?;
        Ok(connection)
    }

    /// Asks for the map again, unless it was asked just now.
    async fn learn(&self) {
        let recent =
            |map: &Map| map.asked.is_some_and(|asked| asked.elapsed() < self.options.connect_timeout / 20);
        if !recent(&self.map.borrow()) {
            // an error is one of the next command, too
            let _ = self.refresh().await;
        }
    }

    /// Whether the map is so old that it should be asked for.
    pub(crate) fn is_old(&self) -> bool {
        self.map.borrow().asked.is_none_or(|asked| asked.elapsed() > self.options.refresh)
    }

    /// Asks a server for the map, and those servers that are new to it where they stand.
    pub(crate) async fn refresh(&self) -> Result<Shape, Error> {
        let _one = self.refreshing.lock().await;
        let before = Arc::clone(&self.map.borrow());
        let mut why = "none was named".to_owned();
        let known: Vec<Address> = before.topology.servers().into_iter().cloned().collect();
        for address in known {
            match self.ask_map(&address).await {
                Ok(topology) if !topology.servers().is_empty() => return self.take(topology).await,
                Ok(_) => why = format!("{address} knows of no slots"),
                Err(error) => why = format!("{address}: {error}"),
            }
        }
        for seed in &self.seeds {
            let (redis::ConnectionAddr::Tcp(host, port) | redis::ConnectionAddr::TcpTls { host, port, .. }) =
                seed.addr()
            else {
                why = "only TCP is spoken here, with TLS or without".to_owned();
                continue;
            };
            let address = Address { host: host.clone(), port: *port };
            match self.ask_map(&address).await {
                Ok(topology) if !topology.servers().is_empty() => return self.take(topology).await,
                Ok(_) => why = format!("{address} knows of no slots"),
                Err(error) => why = format!("{address}: {error}"),
            }
        }
        Err(Error::NoServer(why))
    }

    async fn ask_map(&self, address: &Address) -> RedisResult<Topology> {
        let mut connection = self.connection(address).await?;
        let asked: RedisResult<Value> = redis::cmd("CLUSTER").arg("SLOTS").query_async(&mut connection).await;
        if asked.is_err() {
            self.connections.lock().await.remove(address);
        }
        Ok(Topology::parse(&asked?, address).unwrap_or_default())
    }

    async fn take(&self, topology: Topology) -> Result<Shape, Error> {
        let mut places = Places::new();
        let mut shape = None;
        let before = Arc::clone(&self.map.borrow());
        for address in topology.servers() {
            if let Some(place) = before.places.get(address) {
                places.insert(address.clone(), *place);
                continue;
            }
            // one that does not answer now is asked the next time
            if let Ok((place, of)) = self.ask_place(address).await {
                places.insert(address.clone(), place);
                shape = shape.or(Some(of));
            }
        }
        let nobody = places.is_empty();
        self.map.send_replace(Arc::new(Map {
            topology,
            places,
            moved: HashMap::new(),
            asked: Some(Instant::now()),
        }));
        if nobody {
            return Err(Error::NoServer("they do not have the module (OCCULT.SERVER)".to_owned()));
        }
        Ok(shape.unwrap_or_default())
    }

    async fn ask_place(&self, address: &Address) -> RedisResult<(u8, Shape)> {
        let mut connection = self.connection(address).await?;
        let pairs: HashMap<String, String> = redis::cmd("OCCULT.SERVER").query_async(&mut connection).await?;
        let field = |name| pairs.get(name).map_or("", String::as_str);
        let place = field("datacenter").parse().ok().zip(field("shape").parse().ok());
        place.ok_or_else(|| RedisError::from((redis::ErrorKind::UnexpectedReturnType, "OCCULT.SERVER")))
    }
}

/// Text in which there is no certificate would be taken for no authority at all: no server could be trusted.
#[cfg(feature = "tls")]
fn check_authorities(options: &Options) -> Result<(), Error> {
    use rustls::pki_types::{CertificateDer, pem::PemObject as _};
    let Some(pem) = &options.tls.authorities else { return Ok(()) };
    match CertificateDer::pem_slice_iter(pem).next() {
        Some(Ok(_)) => Ok(()),
        Some(Err(error)) => Err(Error::Certificates(error.to_string())),
        None => Err(Error::Certificates("there is none in the text of the authorities (PEM)".to_owned())),
    }
}

/// What connects to a server, with the certificates for those that are spoken to by TLS.
#[cfg(feature = "tls")]
fn client_of(options: &Options, info: redis::ConnectionInfo) -> RedisResult<redis::Client> {
    if !matches!(info.addr(), redis::ConnectionAddr::TcpTls { .. }) {
        return redis::Client::open(info);
    }
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // somebody else may be faster: theirs will do
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    let identity = options.tls.identity.clone();
    let client_tls =
        identity.map(|(client_cert, client_key)| redis::ClientTlsConfig { client_cert, client_key });
    let root_cert = options.tls.authorities.clone();
    redis::Client::build_with_tls(info, redis::TlsCertificates { client_tls, root_cert })
}

/// What connects to a server.
#[cfg(not(feature = "tls"))]
fn client_of(_: &Options, info: redis::ConnectionInfo) -> RedisResult<redis::Client> {
    redis::Client::open(info)
}

fn refused(text: &'static str) -> Failure {
    Failure::Refused(Refused::Malformed(Malformed(text)))
}
