//! How a session begins: encryption, and authentication; and how its statements are cancelled.

use crate::address::Address;
use crate::error::Error;
use crate::message::{self, report, take, take_text, text};
use crate::socket::Socket;
use crate::tls::Encryption;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use std::io;
use tokio_postgres::Config;

/// The protocol's version 3.0.
const VERSION: u32 = 3 << 16;
/// What a cancel request has in place of a version.
const CANCEL: u32 = 80_877_102;

/// The user, where the parameters do not name one.
pub struct Login<'a> {
    /// The user.
    pub user: Option<String>,
    /// The database; without one, that of the user's name.
    pub database: Option<String>,
    /// Asked for a password when the server wants one and the parameters have none.
    pub password: &'a mut dyn FnMut(&str) -> Option<Vec<u8>>,
    /// Whether the server may ask for the password in clear text: whatever answers at the address learns it.
    pub cleartext: bool,
    /// The `application_name`, where the parameters give none.
    pub application: &'a str,
}

/// A session that is ready for its first statement.
pub struct Session {
    /// Its messages.
    pub socket: Socket,
    /// Where the server is.
    pub address: Address,
    /// The user.
    pub user: String,
    /// The database.
    pub database: String,
    /// Cancels what it runs, if the server can.
    pub canceller: Option<Canceller>,
}

/// Cancels what a session runs, from any thread.
#[derive(Clone, Debug)]
pub struct Canceller {
    address: Address,
    encryption: Encryption,
    /// The server's name for the session, and its secret.
    key: [u8; 8],
}

/// Connects to the first address that answers, and logs in.
///
/// # Errors
/// There is no address or user, none answers, or the server does not let the user in.
pub fn connect(config: &Config, encryption: Encryption, login: Login<'_>) -> Result<Session, Error> {
    let mut last = None;
    for address in Address::all(config) {
        match address.open(&encryption) {
            Ok(stream) => return begin(config, address, encryption, Socket::new(stream), login),
            Err(error) => last = Some(Error::Unreachable(address.to_string(), error)),
        }
    }
    Err(last.unwrap_or_else(|| Error::Parameters("no host is named".to_owned())))
}

fn begin(
    config: &Config,
    address: Address,
    encryption: Encryption,
    mut socket: Socket,
    login: Login<'_>,
) -> Result<Session, Error> {
    let user = config.get_user().map(str::to_owned).or(login.user);
    let user = user.ok_or_else(|| Error::Parameters("no user is named".to_owned()))?;
    let database = config.get_dbname().map(str::to_owned).or(login.database).unwrap_or_else(|| user.clone());
    let mut parameters = vec![
        ("user", user.as_str()),
        ("database", database.as_str()),
        ("client_encoding", "UTF8"),
        ("application_name", config.get_application_name().unwrap_or(login.application)),
    ];
    parameters.extend(config.get_options().map(|options| ("options", options)));
    if parameters.iter().any(|(_, value)| value.contains('\0')) {
        return Err(Error::Parameters("a parameter holds a zero byte".to_owned()));
    }
    // a message without a tag: the tag that was written for it is taken away
    message::write(&mut socket.out, 0, |out| {
        out.extend_from_slice(&VERSION.to_be_bytes());
        for (name, value) in parameters {
            text(out, name);
            text(out, value);
        }
        out.push(0);
    });
    socket.out.remove(0);
    socket.send()?;
    let mut given = config.get_password().map(<[u8]>::to_vec);
    authenticate(&mut socket, login.cleartext, &mut || given.take().or_else(|| (login.password)(&user)))?;

    let mut key = None;
    loop {
        match socket.message()? {
            (b'K', mut body) => key = Some(take(&mut body)?),
            (b'Z', _) => break,
            (b'E', body) => return Err(Error::Refused(report(body))),
            _ => {}
        }
    }
    let canceller = key.map(|key| Canceller { address: address.clone(), encryption, key });
    Ok(Session { socket, address, user, database, canceller })
}

fn wrong(what: impl ToString) -> Error {
    Error::Login(what.to_string())
}

/// Answers what the server asks for, until it lets the user in.
fn authenticate(
    socket: &mut Socket,
    cleartext: bool,
    password: &mut dyn FnMut() -> Option<Vec<u8>>,
) -> Result<(), Error> {
    let mut password = || password().ok_or(Error::PasswordWanted);
    let mut scram: Option<ScramSha256> = None;
    let mut proved = false;
    loop {
        let (kind, mut data) = match socket.message()? {
            (b'R', mut body) => (u32::from_be_bytes(take(&mut body)?), body),
            (b'E', body) => return Err(Error::Refused(report(body))),
            (b'N' | b'v', _) => continue,
            _ => return Err(wrong("the server's authentication is out of order")),
        };
        match (kind, &mut scram) {
            (0, Some(_)) if !proved => {
                return Err(wrong("the server did not prove that it knows the password"));
            }
            (0, _) => return Ok(()),
            (3, _) if cleartext => {
                let password = password()?;
                message::write(&mut socket.out, b'p', |out| {
                    out.extend_from_slice(&password);
                    out.push(0);
                });
            }
            (10, _) => {
                let mut offered = false;
                while let Ok(mechanism) = take_text(&mut data)
                    && !mechanism.is_empty()
                {
                    offered |= mechanism == SCRAM_SHA_256.as_bytes();
                }
                if !offered {
                    return Err(wrong("the server offers no way to authenticate that is known here"));
                }
                let exchange = ScramSha256::new(&password()?, ChannelBinding::unsupported());
                let first = exchange.message();
                message::write(&mut socket.out, b'p', |out| {
                    text(out, SCRAM_SHA_256);
                    out.extend_from_slice(&(first.len() as u32).to_be_bytes());
                    out.extend_from_slice(first);
                });
                scram = Some(exchange);
            }
            (11, Some(exchange)) => {
                exchange.update(data)?;
                message::write(&mut socket.out, b'p', |out| out.extend_from_slice(exchange.message()));
            }
            // the server proves that it knows the password, too
            (12, Some(exchange)) => {
                exchange.finish(data)?;
                proved = true;
            }
            (11 | 12, None) => return Err(wrong("the server's authentication is out of order")),
            _ => return Err(wrong("the server asks for an authentication other than SCRAM-SHA-256")),
        }
        socket.send()?;
    }
}

impl Canceller {
    /// Asks the server, by a connection of its own, to cancel what the session runs. When this returns the server has
    /// taken the request: what runs afterwards is not hit by it.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub fn cancel(&self) -> io::Result<()> {
        let mut stream = self.address.open(&self.encryption)?;
        let mut request = Vec::new();
        request.extend_from_slice(&16_u32.to_be_bytes());
        request.extend_from_slice(&CANCEL.to_be_bytes());
        request.extend_from_slice(&self.key);
        stream.write_all(&request)?;
        // the server closes it once the request was taken
        let _ = stream.read(&mut [0])?;
        Ok(())
    }
}
