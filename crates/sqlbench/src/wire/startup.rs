//! How a connection begins: where the server is, and who the user is.

use super::socket::{Socket, Stream, lost};
use super::{message, refusal};
use crate::client::Failure;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

const PORT: u16 = 5432;
/// The protocol's version 3.0.
const VERSION: u32 = 3 << 16;

/// Connects as libpq would with these parameters.
pub(super) fn open(parameters: &str) -> Result<Socket, Failure> {
    let config: Config = parameters.parse().map_err(|error: tokio_postgres::Error| {
        let cause = std::error::Error::source(&error).map_or(String::new(), |cause| format!(": {cause}"));
        lost(format!("{error}{cause}"))
    })?;
    let port = config.get_ports().first().copied().unwrap_or(PORT);
    let stream = match config.get_hosts().first() {
        Some(Host::Unix(directory)) => {
            Stream::Unix(UnixStream::connect(directory.join(format!(".s.PGSQL.{port}"))).map_err(lost)?)
        }
        Some(Host::Tcp(host)) => Stream::Tcp(tcp(host, port)?),
        None => Stream::Tcp(tcp("localhost", port)?),
    };
    let mut socket = Socket::new(stream);
    let user = config.get_user().ok_or_else(|| lost("no user is named"))?;
    let database = config.get_dbname().unwrap_or(user);
    let first = [("user", user), ("database", database), ("client_encoding", "UTF8")];
    // a message without a tag: the one that is written for it is taken away
    message(&mut socket.out, 0, |out| {
        out.extend_from_slice(&VERSION.to_be_bytes());
        for (name, value) in first.into_iter().chain(config.get_options().map(|value| ("options", value))) {
            for text in [name, value] {
                out.extend_from_slice(text.as_bytes());
                out.push(0);
            }
        }
        out.push(0);
    });
    socket.out.remove(0);
    socket.send()?;
    authenticate(&mut socket, config.get_password())?;
    loop {
        match socket.message()? {
            (b'Z', _) => return Ok(socket),
            (b'E', body) => return Err(refusal(body)),
            _ => {}
        }
    }
}

fn tcp(host: &str, port: u16) -> Result<TcpStream, Failure> {
    let stream = TcpStream::connect((host, port)).map_err(lost)?;
    stream.set_nodelay(true).map_err(lost)?;
    Ok(stream)
}

/// Answers what the server asks for, until it lets the user in.
fn authenticate(socket: &mut Socket, password: Option<&[u8]>) -> Result<(), Failure> {
    let password = || password.ok_or_else(|| lost("the server asks for a password"));
    let mut scram: Option<ScramSha256> = None;
    loop {
        let (tag, body) = socket.message()?;
        let (kind, data) = match (tag, body.split_first_chunk()) {
            (b'R', Some((kind, data))) => (u32::from_be_bytes(*kind), data),
            (b'E', _) => return Err(refusal(body)),
            _ => continue,
        };
        match (kind, &mut scram) {
            (0, _) => return Ok(()),
            // the password as it is
            (3, _) => message(&mut socket.out, b'p', |out| {
                out.extend_from_slice(password()?);
                out.push(0);
                Ok(())
            })?,
            // SASL, by the one mechanism that servers offer without TLS
            (10, _) => {
                let exchange = ScramSha256::new(password()?, ChannelBinding::unsupported());
                let first = exchange.message();
                message(&mut socket.out, b'p', |out| {
                    out.extend_from_slice(SCRAM_SHA_256.as_bytes());
                    out.push(0);
                    out.extend_from_slice(&(first.len() as u32).to_be_bytes());
                    out.extend_from_slice(first);
                });
                scram = Some(exchange);
            }
            (11, Some(exchange)) => {
                exchange.update(data).map_err(lost)?;
                message(&mut socket.out, b'p', |out| out.extend_from_slice(exchange.message()));
            }
            (12, Some(exchange)) => exchange.finish(data).map_err(lost)?,
            _ => return Err(lost("the server asks for an authentication that is not known here")),
        }
        socket.send()?;
    }
}
