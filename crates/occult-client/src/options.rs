//! What a client is connected with.

use crate::{Address, Config};
use std::collections::HashMap;
use std::time::Duration;

/// What servers that are spoken to by TLS are known by, and know this client by. All of it is text in PEM form.
#[cfg(feature = "tls")]
#[derive(Clone, Default)]
pub struct Tls {
    /// The authorities whose certificates are accepted; without them, those that the system trusts.
    pub authorities: Option<Vec<u8>>,
    /// This client's certificate and its private key, where servers ask for one.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
}

#[cfg(feature = "tls")]
impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (authorities, identity) = (self.authorities.is_some(), self.identity.is_some());
        f.debug_struct("Tls")
            .field("authorities", &authorities)
            .field("identity", &identity)
            .finish_non_exhaustive()
    }
}

/// How a client connects and behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// Servers of the cluster, as `redis://[user:password@]host:port`. One that answers is enough. With the feature
    /// `tls` also `rediss://...`: all of them or none, and then all servers are spoken to by TLS.
    pub seeds: Vec<String>,
    /// For `rediss://`: certificates.
    #[cfg(feature = "tls")]
    pub tls: Tls,
    /// The datacenter that is near, as the module's setting `datacenter` numbers them. Without it reads go to masters.
    pub datacenter: Option<u8>,
    /// How operations retry.
    pub config: Config,
    /// Where servers are reached from here, if not at the address that they announce.
    pub addresses: HashMap<Address, Address>,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// How long an answer may take.
    pub response_timeout: Duration,
    /// After how long it is asked again who serves which slot, if nothing has failed before.
    pub refresh: Duration,
    /// How often a transaction is tried; the pauses between are random, up to twice as long each time, from
    /// [`Config::delay`] to [`Config::max_delay`].
    pub attempts: u32,
}

impl Options {
    /// With these servers, and all else as usual.
    pub fn new<S: Into<String>>(seeds: impl IntoIterator<Item = S>) -> Self {
        Self {
            seeds: seeds.into_iter().map(Into::into).collect(),
            #[cfg(feature = "tls")]
            tls: Tls::default(),
            datacenter: None,
            config: Config::default(),
            addresses: HashMap::new(),
            connect_timeout: Duration::from_secs(1),
            response_timeout: Duration::from_secs(2),
            refresh: Duration::from_secs(10),
            attempts: 50,
        }
    }

    /// Reads go to copies in this datacenter.
    #[must_use]
    pub fn in_datacenter(mut self, datacenter: u8) -> Self {
        self.datacenter = Some(datacenter);
        self
    }
}
