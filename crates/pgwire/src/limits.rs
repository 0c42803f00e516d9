//! What a client may ask for at most. Each limit is checked where the value enters.

/// Bytes of a start-up packet (PostgreSQL's limit).
pub const MAX_STARTUP_BYTES: usize = 10_000;
/// Bytes of a message that carries no data: Describe, Execute, Close, Sync and their like (PostgreSQL's limit).
pub const MAX_SMALL_BYTES: usize = 10_000;
/// Bytes of a message while a client authenticates (PostgreSQL's limit).
pub const MAX_AUTH_BYTES: usize = 65_535;
/// Bytes of one message that we send: clients refuse more than 1 GiB.
pub const MAX_REPLY_BYTES: usize = (1 << 30) - 1;
/// Output that waits for its end of batch; a longer result is sent in pieces of this size.
pub const FLUSH_BYTES: usize = 64 << 10;
/// Output that is held back until it is known whether its statement goes on as it has begun.
pub const HOLD_BYTES: usize = 256 << 10;
/// Bytes that are read at once.
pub(crate) const READ_BYTES: usize = 8 << 10;
/// A buffer that grew beyond this for one message is given back after it.
pub(crate) const KEEP_BYTES: usize = 256 << 10;

/// What one connection may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of one message with data: Query, Parse, Bind, CopyData.
    pub message_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { message_bytes: 64 << 20 }
    }
}
