//! A client of tests: transactions over a session.

use scaledb_cluster::{Key, Lost, NoAnswer, Session, Value};
use scaledb_scar::{Answer, Kind, PartitionId, Refused, TxnId, Why};
use scaledb_sync::thread;
use std::time::Duration;

/// Why a transaction did not commit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// Nothing of it happened.
    Aborted(Why),
    /// It is not known what has become of it.
    Unknown(Lost),
}

pub(crate) struct Txn<'a> {
    session: &'a mut Session,
    id: TxnId,
}

fn answered(
    answer: Result<Answer<scaledb_cluster::Rows>, NoAnswer>,
) -> Result<Answer<scaledb_cluster::Rows>, Failed> {
    match answer {
        Ok(Answer::Aborted(_, why, _)) => Err(Failed::Aborted(why)),
        Ok(answer) => Ok(answer),
        // a change of view ends transactions, also between two calls
        Err(NoAnswer::Refused(Refused::NoTransaction)) => Err(Failed::Aborted(Why::View)),
        Err(NoAnswer::Refused(refused)) => panic!("{refused:?}"),
        Err(NoAnswer::Lost(lost)) => Err(Failed::Unknown(lost)),
    }
}

impl<'a> Txn<'a> {
    pub(crate) fn begin(session: &'a mut Session) -> Result<Self, Failed> {
        loop {
            match session.begin(Kind::Serializable) {
                Ok(id) => return Ok(Self { session, id }),
                Err(Refused::View) if session.has_left() => return Err(Failed::Unknown(Lost::Left)),
                Err(Refused::View) => thread::sleep(Duration::from_millis(1)),
                Err(refused) => panic!("{refused:?}"),
            }
        }
    }

    pub(crate) fn get(&mut self, key: &Key) -> Result<Option<Value>, Failed> {
        let id = self.id;
        match answered(self.session.ask(|node, out| node.read(id, key.clone(), out)))? {
            Answer::Read(txn, of, value) if txn == id && of == *key => Ok(value),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn put(&mut self, key: Key, value: Value) -> Result<(), Failed> {
        let id = self.id;
        match self.session.call(|node, _| node.write(id, key, Some(value))) {
            Ok(()) => Ok(()),
            Err(Refused::NoTransaction) => Err(Failed::Aborted(Why::View)),
            Err(refused) => panic!("{refused:?}"),
        }
    }

    /// Commits, and waits until the result may leave.
    pub(crate) fn commit(self) -> Result<(), Failed> {
        let id = self.id;
        let first = answered(self.session.ask(|node, out| node.commit(id, out)))?;
        assert!(matches!(first, Answer::Decided(txn, ..) if txn == id), "{first:?}");
        match answered(self.session.next_answer().map_err(NoAnswer::Lost))? {
            Answer::Committed(txn) if txn == id => Ok(()),
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn key(partition: u64, partitions: u64, space: u32, bytes: impl AsRef<[u8]>) -> Key {
    Key { partition: PartitionId((partition % partitions) as u16), space, bytes: bytes.as_ref().into() }
}

pub(crate) fn number(value: &Value) -> u64 {
    u64::from_le_bytes(value.0[..8].try_into().unwrap())
}

pub(crate) fn value(number: u64) -> Value {
    Value(number.to_le_bytes().as_slice().into())
}
