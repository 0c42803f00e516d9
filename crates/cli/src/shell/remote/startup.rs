//! Where the server is, and how a session with it begins and is cancelled.

use super::socket::Socket;
use super::tls::Encryption;
use super::{Remote, password, report};
use crate::Result;
use crate::shell::connection::Transaction;
use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;
use std::fmt;
use std::io::{self, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

const PORT: u16 = 5432;
/// How long connecting may take, if the user does not say.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where a server is.
#[derive(Clone, Debug)]
pub(super) enum ServerAddress {
    Tcp { host: String, port: u16, patience: Duration },
    Unix(PathBuf),
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port, .. } => write!(f, "host \"{host}\", port {port}"),
            Self::Unix(path) => write!(f, "socket \"{}\"", path.display()),
        }
    }
}

/// Bytes to and from a place.
fn connect(place: &ServerAddress, encryption: &Encryption) -> io::Result<Box<dyn super::socket::Stream>> {
    match place {
        ServerAddress::Unix(path) => Ok(Box::new(UnixStream::connect(path)?)),
        ServerAddress::Tcp { host, port, patience } => {
            let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
            for address in (host.as_str(), *port).to_socket_addrs()? {
                match TcpStream::connect_timeout(&address, *patience) {
                    Ok(stream) => {
                        stream.set_nodelay(true)?;
                        return encryption.of(stream, host);
                    }
                    Err(error) => last = error,
                }
            }
            Err(last)
        }
    }
}

/// The places that a configuration names.
fn places(config: &Config) -> Vec<ServerAddress> {
    let ports = config.get_ports();
    let port = |number: usize| ports.get(number).or(ports.first()).copied().unwrap_or(PORT);
    let patience = config.get_connect_timeout().copied().unwrap_or(PATIENCE);
    let tcp = |host: String, number: usize| ServerAddress::Tcp { host, port: port(number), patience };
    if !config.get_hostaddrs().is_empty() {
        let addresses = config.get_hostaddrs().iter().enumerate();
        return addresses.map(|(number, address)| tcp(address.to_string(), number)).collect();
    }
    if config.get_hosts().is_empty() {
        return vec![tcp("localhost".to_owned(), 0)];
    }
    let hosts = config.get_hosts().iter().enumerate();
    hosts
        .map(|(number, host)| match host {
            Host::Tcp(host) => tcp(host.clone(), number),
            Host::Unix(directory) => {
                ServerAddress::Unix(directory.join(format!(".s.PGSQL.{}", port(number))))
            }
        })
        .collect()
}

/// Connects to the first place that answers, and proves who the user is.
pub(super) fn open(config: &Config, encryption: Encryption) -> Result<Remote> {
    let mut last = None;
    for place in places(config) {
        match connect(&place, &encryption) {
            Ok(stream) => return begin(config, place, encryption, Socket::new(stream)),
            Err(error) => last = Some(format!("{place}: {error}")),
        }
    }
    Err(last.unwrap_or_else(|| "--connect names no host".to_owned()).into())
}

fn begin(
    config: &Config,
    place: ServerAddress,
    encryption: Encryption,
    mut socket: Socket,
) -> Result<Remote> {
    let environment = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let user = config.get_user().map(str::to_owned).or_else(|| environment("PGUSER"));
    let user = user.or_else(|| environment("USER")).ok_or("--connect names no user")?;
    let database = config.get_dbname().map(str::to_owned).or_else(|| environment("PGDATABASE"));
    let database = database.unwrap_or_else(|| user.clone());
    let password = config.get_password().map(<[u8]>::to_vec);
    let password = password.or_else(|| environment("PGPASSWORD").map(String::into_bytes));

    let mut parameters = vec![
        ("user", user.as_str()),
        ("database", database.as_str()),
        ("client_encoding", "UTF8"),
        ("application_name", config.get_application_name().unwrap_or("scaledb shell")),
    ];
    parameters.extend(config.get_options().map(|options| ("options", options)));
    frontend::startup_message(parameters, &mut socket.outgoing)?;
    socket.flush()?;
    authenticate(&mut socket, password, &user)?;

    let mut cancel = None;
    loop {
        match socket.message()? {
            Message::BackendKeyData(body) => cancel = Some((body.process_id(), body.secret_key())),
            Message::ReadyForQuery(_) => break,
            Message::ErrorResponse(body) => return Err(refusal(&report(body.fields())?).into()),
            _ => {}
        }
    }
    Ok(Remote { socket, place, encryption, database, user, transaction: Transaction::Idle, cancel })
}

fn refusal(report: &crate::shell::connection::Report) -> String {
    format!("{}: {}", report.code, report.message)
}

/// Answers what the server asks for, until it lets the user in.
fn authenticate(socket: &mut Socket, given: Option<Vec<u8>>, user: &str) -> Result<()> {
    let asked = "the server asks for a password: set PGPASSWORD, or give one in --connect";
    let mut given = given;
    let mut password = || given.take().or_else(|| password::ask(user)).ok_or(asked);
    let mut scram: Option<ScramSha256> = None;
    let mut proved = false;
    loop {
        match socket.message()? {
            Message::AuthenticationOk if scram.is_some() && !proved => {
                return Err("the server did not prove that it knows the password".into());
            }
            Message::AuthenticationOk => return Ok(()),
            Message::AuthenticationSasl(body) => {
                let mut mechanisms = body.mechanisms();
                let mut offered = false;
                while let Some(mechanism) = mechanisms.next()? {
                    offered |= mechanism == SCRAM_SHA_256;
                }
                if !offered {
                    return Err("the server offers no way to authenticate that is known here".into());
                }
                let exchange = ScramSha256::new(&password()?, ChannelBinding::unsupported());
                frontend::sasl_initial_response(SCRAM_SHA_256, exchange.message(), &mut socket.outgoing)?;
                scram = Some(exchange);
            }
            Message::AuthenticationSaslContinue(body) => {
                let exchange = scram.as_mut().ok_or("the server's authentication is out of order")?;
                exchange.update(body.data())?;
                frontend::sasl_response(exchange.message(), &mut socket.outgoing)?;
            }
            // the server proves that it knows the password, too
            Message::AuthenticationSaslFinal(body) => {
                scram.as_mut().ok_or("the server's authentication is out of order")?.finish(body.data())?;
                proved = true;
            }
            Message::ErrorResponse(body) => return Err(refusal(&report(body.fields())?).into()),
            Message::NoticeResponse(_) => {}
            _ => return Err("the server asks for an authentication other than SCRAM-SHA-256".into()),
        }
        socket.flush()?;
    }
}

/// Asks the server, by a connection of its own, to cancel what a session runs.
pub(super) fn cancel(
    place: &ServerAddress,
    encryption: &Encryption,
    process: i32,
    key: i32,
) -> io::Result<()> {
    let mut stream = connect(place, encryption)?;
    let mut request = BytesMut::new();
    frontend::cancel_request(process, key, &mut request);
    stream.write_all(&request)?;
    stream.flush()?;
    // closed by the server once the request was taken: what runs afterwards is not hit by it
    let mut rest = [0; 1];
    let _ = stream.read(&mut rest)?;
    Ok(())
}
