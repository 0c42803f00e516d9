//! What goes between members, and how.

use super::member::Entrance;
use super::rows::Rows;
use scaledb_scar::{Message, NodeId};

/// What a member sends to another.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Packet {
    /// For the other's state machine.
    Message(Message<Rows>),
    /// I am there.
    Heartbeat,
    /// To the leader: there is something to commit.
    Busy,
    /// The metadata store has a newer view: ask it.
    NewView,
}

/// Carries packets to other members: each arrives, and once, or the member counts as dead.
pub trait Network: Send + Sync + 'static {
    /// Begins to deliver what arrives, until it is closed.
    ///
    /// # Errors
    /// The system gives no thread.
    fn attach(&self, entrance: Entrance) -> std::io::Result<()>;

    /// Sends a packet without waiting; called with the member locked.
    fn send(&self, to: NodeId, packet: Packet);

    /// The member ends: no more is delivered when this returns, and the entrance is dropped.
    fn close(&self);
}
