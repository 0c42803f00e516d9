//! Where a server is.

use crate::socket::Stream;
use crate::tls::Encryption;
use std::fmt;
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

const PORT: u16 = 5432;
/// How long connecting may take, if the parameters do not say.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Where a server is.
#[derive(Clone, Debug)]
pub enum Address {
    /// A port of a host, by name or number.
    Tcp {
        /// The host.
        host: String,
        /// The port.
        port: u16,
        /// How long connecting may take.
        timeout: Duration,
    },
    /// A socket in the file system.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port, .. } => write!(f, "host \"{host}\", port {port}"),
            Self::Unix(path) => write!(f, "socket \"{}\"", path.display()),
        }
    }
}

impl Address {
    /// The addresses that parameters name, in their order.
    pub(crate) fn all(config: &Config) -> Vec<Self> {
        let ports = config.get_ports();
        let port = |number: usize| ports.get(number).or(ports.first()).copied().unwrap_or(PORT);
        let timeout = config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT);
        let tcp = |host: String, number: usize| Self::Tcp { host, port: port(number), timeout };
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
                Host::Unix(directory) => Self::Unix(directory.join(format!(".s.PGSQL.{}", port(number)))),
            })
            .collect()
    }

    /// Bytes to and from the server, encrypted if they are to be.
    pub(crate) fn open(&self, encryption: &Encryption) -> io::Result<Stream> {
        match self {
            Self::Unix(path) => Ok(Stream::Unix(UnixStream::connect(path)?)),
            Self::Tcp { host, port, timeout } => {
                let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
                for address in (host.as_str(), *port).to_socket_addrs()? {
                    match TcpStream::connect_timeout(&address, *timeout) {
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
}
