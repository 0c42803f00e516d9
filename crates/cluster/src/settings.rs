//! Times of a member. All members of a cluster should have the same.

use std::time::Duration;

/// How often things happen, and how long is too long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// How long an epoch lasts while there is something to commit.
    pub epoch: Duration,
    /// How long it lasts while there is nothing.
    pub idle_epoch: Duration,
    /// How often a member says that it is there.
    pub heartbeat: Duration,
    /// A member that has said nothing for so long counts as dead. Several heartbeats.
    pub suspect_after: Duration,
    /// How often a member asks the metadata store for a newer view; it also asks when another tells it to.
    pub ask_store: Duration,
    /// The lease of a member in the metadata store: renewed each third of it.
    pub lease: Duration,
    /// How long a connection may take to be made, and to say who it is.
    pub handshake: Duration,
    /// How long a member waits before it tries again to connect.
    pub reconnect: Duration,
    /// A connection that is silent for so long is closed, and made again.
    pub connection_silence: Duration,
    /// How long a member that comes back with its disk waits for the others to come back, before it takes one that it
    /// has not heard for dead: all may have lost power.
    pub restart: Duration,
    /// A checkpoint is made when the log is so long.
    pub checkpoint_bytes: u64,
    /// How long a client's call waits for the cluster before it fails.
    pub patience: Duration,
}

impl Settings {
    /// How long a life that the view names may take until it is first heard: it finds that out by asking the store, and
    /// so do the others, who refuse its connection until then; and it has to start.
    pub fn arrival(&self) -> Duration {
        let finds_out = 2 * (self.ask_store + self.reconnect);
        self.suspect_after.max(finds_out + Duration::from_secs(1))
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            epoch: Duration::from_millis(10),
            idle_epoch: Duration::from_millis(500),
            heartbeat: Duration::from_millis(100),
            suspect_after: Duration::from_secs(1),
            ask_store: Duration::from_millis(250),
            lease: Duration::from_secs(3),
            handshake: Duration::from_secs(5),
            reconnect: Duration::from_millis(100),
            connection_silence: Duration::from_secs(30),
            restart: Duration::from_secs(30),
            checkpoint_bytes: 64 << 20,
            patience: Duration::from_secs(30),
        }
    }
}
