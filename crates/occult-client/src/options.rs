//! What a client is connected with.

use crate::{Address, Config};
use std::collections::HashMap;
use std::time::Duration;

/// How a client connects and behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// Servers of the cluster, as `redis://[user:password@]host:port`. One that answers is enough.
    pub seeds: Vec<String>,
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
    /// How often a transaction is tried.
    pub attempts: u32,
}

impl Options {
    /// With these servers, and all else as usual.
    pub fn new<S: Into<String>>(seeds: impl IntoIterator<Item = S>) -> Self {
        Self {
            seeds: seeds.into_iter().map(Into::into).collect(),
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
