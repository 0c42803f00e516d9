//! What goes between members, and how.

use super::asking::{Asked, Told};
use super::rows::{Rows, Value};
use super::state::Entrance;
use super::store::ClusterView;
use scaledb_locks::keeper::Letter;
use scaledb_scar::{Body, Message, NodeId};

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
    /// About a conflict; the number is the question's.
    Ask(u64, Asked),
    /// The answer to the question of this number.
    Told(u64, Told),
    /// About locks of SQL.
    Lock(Letter),
}

impl Packet {
    /// About how many bytes it takes while it waits.
    pub(crate) fn weight(&self) -> usize {
        const SMALL: usize = 128;
        let message = match self {
            Self::Message(message) => message,
            Self::Told(_, Told::Texts(texts)) => return SMALL + texts.iter().map(String::len).sum::<usize>(),
            Self::Lock(letter) => return SMALL + letter.weight(),
            _ => return SMALL,
        };
        let value = |value: &Option<Value>| value.as_ref().map_or(0, |value| value.0.len());
        SMALL
            + match &message.body {
                Body::ReadReply(_, key, found, _) => key.bytes.len() + value(found),
                Body::Write(_, _, writes, _) => {
                    writes.iter().map(|(key, written)| SMALL + key.bytes.len() + value(written)).sum()
                }
                Body::Claim(_, _, claim) => {
                    let locks = claim.locks.iter().map(|(key, _)| SMALL + key.bytes.len());
                    locks.sum::<usize>() + claim.reads.len() * SMALL
                }
                Body::ClaimReply(_, _, Ok(granted)) => granted.len() * SMALL,
                Body::WriteAck(acks) => acks.len() * SMALL,
                Body::Promised(items) => items.len() * SMALL,
                Body::Unlock(_, keys) => keys.len() * SMALL,
                Body::ScanReply(_, _, _, rows, seen) => {
                    let rows = rows.iter().map(|(key, value)| SMALL + key.bytes.len() + value.0.len());
                    rows.sum::<usize>() + seen.len() * SMALL
                }
                Body::Fetch(_, _, wanted, _) => {
                    wanted.keys.iter().map(|key| SMALL + key.bytes.len()).sum::<usize>()
                        + wanted.ranges.len() * SMALL
                }
                Body::FetchReply(_, _, brought) => {
                    let keys =
                        brought.keys.iter().map(|(key, found, _)| SMALL + key.bytes.len() + value(found));
                    let ranges = brought.ranges.iter().map(|(_, _, rows, seen)| {
                        let rows = rows.iter().map(|(key, value)| SMALL + key.bytes.len() + value.0.len());
                        rows.sum::<usize>() + seen.len() * SMALL
                    });
                    keys.sum::<usize>() + ranges.sum::<usize>()
                }
                Body::Read(_, key, _) => key.bytes.len(),
                _ => SMALL,
            }
    }
}

/// Carries packets to other members: each arrives, and once, or the member counts as dead.
pub trait Network: Send + Sync + 'static {
    /// Begins to deliver what arrives, until it is closed.
    ///
    /// # Errors
    /// The system gives no thread.
    fn attach(&self, entrance: Entrance) -> std::io::Result<()>;

    /// There is a newer view: its members are those to speak with. Who leaves may be one again, and is spoken with then
    /// where it was left off.
    fn follow(&self, view: &ClusterView);

    /// Sends a packet without waiting; called with the member locked.
    fn send(&self, to: NodeId, packet: Packet);

    /// Bytes that it has written for other members; none where packets are no bytes.
    fn written(&self) -> u64 {
        0
    }

    /// The member ends: no more is delivered when this returns, and the entrance is dropped.
    fn close(&self);
}
