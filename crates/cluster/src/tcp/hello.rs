//! The first bytes of a connection: is this the right cluster, version, node and life?
//!
//! ```text
//!   both   "SCALEDBn"  format: u32      the same in all versions
//!   dialer frame: Hello        acceptor frame: Welcome
//! ```

use crate::codec::{self, FORMAT};
use scaledb_scar::NodeId;
use scaledb_scar::link::Incarnation;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};

const MAGIC: [u8; 8] = *b"SCALEDBn";

/// The bytes of a hello or a welcome, at most.
const MAX: usize = 4096;

/// What the dialer says.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    pub(super) cluster: String,
    pub(super) from: (NodeId, Incarnation),
    pub(super) to: (NodeId, Incarnation),
}

/// What the acceptor answers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum Welcome {
    Come,
    Refused(String),
}

/// Sends the bytes that each version understands, and a value of this one.
pub(super) fn write<T: Serialize>(to: &mut impl Write, value: &T) -> io::Result<()> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(FORMAT.to_le_bytes());
    codec::push_frame(value, &mut bytes).map_err(io::Error::other)?;
    to.write_all(&bytes)?;
    to.flush()
}

/// Reads the same.
///
/// # Errors
/// It is not a node, or of another version, or has gone.
pub(super) fn read<T: serde::de::DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    let mut start = [0; 12];
    from.read_exact(&mut start)?;
    if start[..8] != MAGIC {
        return Err(io::Error::other("it is not a node of a cluster"));
    }
    let format = u32::from_le_bytes([start[8], start[9], start[10], start[11]]);
    if format != FORMAT {
        return Err(io::Error::other(format!("it speaks format {format}, this node speaks {FORMAT}")));
    }
    let mut buffer = Vec::new();
    codec::read_frame(from, MAX, &mut buffer)?;
    codec::decode(&buffer).map_err(io::Error::other)
}
