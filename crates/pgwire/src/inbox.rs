//! The input buffer: bytes of the client, cut into messages.
//!
//! Memory follows what has arrived, never what a length field announces.

use crate::limits::{KEEP_BYTES, READ_BYTES};
use crate::report::{Report, Result as Told};
use std::io::{self, Read};
use std::ops::Range;

/// Why there is no next message.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    /// The client has gone.
    #[error("the connection ended")]
    Closed,
    /// The system says so.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// No such message; where the next one begins is unknown.
    #[error("invalid frontend message type {0}")]
    Tag(u8),
    /// A length that no message of its type has.
    #[error("invalid message length {0}")]
    Length(i32),
    /// There is no room for the message.
    #[error(transparent)]
    Full(Box<Report>),
}

/// Asks for the memory that the inbox needs beyond [`KEEP_BYTES`], and gives it back with a zero.
pub(crate) type Room<'a> = &'a mut dyn FnMut(usize) -> Told<()>;

/// For messages that are small, whatever the client says.
pub(crate) fn uncounted(_: usize) -> Told<()> {
    Ok(())
}

/// A message: its body is at `body` in the inbox until the next one is read.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) tag: u8,
    pub(crate) body: Range<usize>,
}

/// Bytes that arrived and are not used yet: `buffer[start..end]`, `start <= end <= buffer.len()`.
#[derive(Debug)]
pub(crate) struct Inbox {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Messages that begin before this have been shown by [`ahead`](Self::ahead).
    shown: usize,
}

impl Inbox {
    pub(crate) fn new() -> Self {
        Self { buffer: vec![0; READ_BYTES], start: 0, end: 0, shown: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    pub(crate) fn bytes(&self, range: &Range<usize>) -> &[u8] {
        &self.buffer[range.clone()]
    }

    /// The type of the next message, if some of it has arrived.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.buffer[self.start..self.end].first().copied()
    }

    /// The next message. `limit` says how long its body may be, or that there is no such type.
    ///
    /// # Errors
    ///
    /// See [`ReadError`].
    pub(crate) fn next(
        &mut self,
        from: &mut dyn Read,
        limit: impl FnOnce(u8) -> Option<usize>,
        room: Room<'_>,
    ) -> Result<Frame, ReadError> {
        self.trim(room)?;
        self.fill(from, 1, room)?;
        let tag = self.buffer[self.start];
        let limit = limit(tag).ok_or(ReadError::Tag(tag))?;
        self.fill(from, 5, room)?;
        let length = self.int(1);
        let body = usize::try_from(length).ok().and_then(|length| length.checked_sub(4));
        let body = body.filter(|body| *body <= limit).ok_or(ReadError::Length(length))?;
        self.fill(from, 5 + body, room)?;
        let at = self.start + 5;
        self.start = at + body;
        Ok(Frame { tag, body: at..at + body })
    }

    /// The messages behind the last one, as far as they have arrived whole, unless they were shown already.
    pub(crate) fn ahead(&mut self) -> Ahead<'_> {
        let left = if self.shown > self.start { &[][..] } else { &self.buffer[self.start..self.end] };
        self.shown = self.shown.max(self.start);
        Ahead { left, shown: &mut self.shown }
    }

    /// The next packet of the start-up phase, which has no tag: a length and at least four bytes.
    ///
    /// # Errors
    ///
    /// See [`ReadError`].
    pub(crate) fn packet(&mut self, from: &mut dyn Read, limit: usize) -> Result<Range<usize>, ReadError> {
        self.fill(from, 4, &mut uncounted)?;
        let length = self.int(0);
        let size = usize::try_from(length).ok().filter(|size| (8..=limit).contains(size));
        let size = size.ok_or(ReadError::Length(length))?;
        self.fill(from, size, &mut uncounted)?;
        let at = self.start;
        self.start += size;
        Ok(at + 4..at + size)
    }

    fn int(&self, at: usize) -> i32 {
        let at = self.start + at;
        let bytes = &self.buffer[at..at + 4];
        i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    /// Reads until there are at least `need` bytes.
    fn fill(&mut self, from: &mut dyn Read, need: usize, room: Room<'_>) -> Result<(), ReadError> {
        while self.end - self.start < need {
            if self.start + need > self.buffer.len() && self.start > 0 {
                self.buffer.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.shown = self.shown.saturating_sub(self.start);
                self.start = 0;
            }
            if self.end == self.buffer.len() {
                // twice what has arrived: a client that announces much and sends little gets little
                let size = need.min(2 * self.buffer.len());
                if size > KEEP_BYTES {
                    room(size).map_err(ReadError::Full)?;
                }
                self.buffer.resize(size, 0);
            }
            match from.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Err(ReadError::Closed),
                Ok(n) => self.end += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn trim(&mut self, room: Room<'_>) -> Result<(), ReadError> {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            self.shown = 0;
            if self.buffer.len() > KEEP_BYTES {
                self.buffer.truncate(READ_BYTES);
                self.buffer.shrink_to_fit();
                room(0).map_err(ReadError::Full)?;
            }
        }
        Ok(())
    }
}

/// Messages that have arrived and are not read yet: types and bodies.
pub(crate) struct Ahead<'a> {
    left: &'a [u8],
    shown: &'a mut usize,
}

impl<'a> Iterator for Ahead<'a> {
    type Item = (u8, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (&tag, rest) = self.left.split_first()?;
        let length = u32::from_be_bytes(*rest.first_chunk()?);
        let (message, left) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        let body = message.get(4..)?;
        self.left = left;
        *self.shown += 1 + message.len();
        Some((tag, body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte at a time.
    struct Drip<'a>(&'a [u8]);

    impl Read for Drip<'_> {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else { return Ok(0) };
            to[0] = *first;
            self.0 = rest;
            Ok(1)
        }
    }

    #[test]
    fn a_length_alone_allocates_nothing() {
        let mut inbox = Inbox::new();
        let mut bytes = b"Q\x3f\xff\xff\xff".to_vec();
        // more than fits the buffer at first, much less than is announced
        bytes.resize(2 * READ_BYTES, b'x');
        assert!(matches!(
            inbox.next(&mut &bytes[..], |_| Some(1 << 30), &mut uncounted),
            Err(ReadError::Closed)
        ));
        assert!(inbox.buffer.len() <= 4 * READ_BYTES);
    }

    #[test]
    fn a_message_may_come_byte_by_byte() {
        let mut inbox = Inbox::new();
        let mut from = Drip(b"Q\0\0\0\x06a\0S\0\0\0\x04");
        let frame = inbox.next(&mut from, |_| Some(100), &mut uncounted).unwrap();
        assert_eq!((frame.tag, inbox.bytes(&frame.body)), (b'Q', &b"a\0"[..]));
        let frame = inbox.next(&mut from, |_| Some(100), &mut uncounted).unwrap();
        assert_eq!((frame.tag, inbox.bytes(&frame.body)), (b'S', &b""[..]));
        assert!(matches!(inbox.next(&mut from, |_| Some(100), &mut uncounted), Err(ReadError::Closed)));
    }

    #[test]
    fn messages_behind_are_shown_once_and_whole() {
        let bodies = [b"one", b"two", b"six", b"ten"];
        let message = |body: &[u8; 3]| [b"B\0\0\0\x07", &body[..]].concat();
        let batch: Vec<u8> = bodies.iter().flat_map(|body| message(body)).collect();
        for cut in 8..batch.len() {
            let mut inbox = Inbox::new();
            let (first, mut second) = batch.split_at(cut);
            inbox.next(&mut &first[..], |_| Some(100), &mut uncounted).unwrap();
            let mut shown: Vec<Vec<u8>> = inbox.ahead().take(1).map(|(_, body)| body.to_vec()).collect();
            assert_eq!(shown.len(), usize::from(cut >= 16));
            // those that were left come when the one that was shown has been read
            assert!(shown.is_empty() || inbox.ahead().next().is_none());
            for _ in 0..3 {
                inbox.next(&mut second, |_| Some(100), &mut uncounted).unwrap();
                shown.extend(inbox.ahead().map(|(_, body)| body.to_vec()));
            }
            let order = shown.iter().map(|body| bodies.iter().position(|b| body == b).unwrap());
            assert!(order.is_sorted_by(|a, b| a < b), "{shown:?}");
            assert!(cut < 24 || shown.len() >= 2, "{cut}: {shown:?}");
        }
        // lengths that no message has, and what is not there yet
        for bytes in [&b"B\0\0\0\x03abc"[..], b"B\xff\xff\xff\xffabc", b"B\0\0\0\x09abc", b"B\0\0", b"B"] {
            let mut inbox = Inbox::new();
            let all = [b"S\0\0\0\x04", bytes].concat();
            inbox.next(&mut &all[..], |_| Some(100), &mut uncounted).unwrap();
            assert!(inbox.ahead().next().is_none(), "{bytes:?}");
        }
    }

    #[test]
    fn a_large_message_gives_its_memory_back() {
        let mut inbox = Inbox::new();
        let size = 3 << 20;
        let mut bytes = vec![b'd'];
        bytes.extend_from_slice(&(size as i32 + 4).to_be_bytes());
        bytes.resize(size + 5, 7);
        bytes.extend_from_slice(b"S\0\0\0\x04");
        let mut from = &bytes[..];
        let frame = inbox.next(&mut from, |_| Some(size), &mut uncounted).unwrap();
        assert_eq!(frame.body.len(), size);
        assert!(inbox.bytes(&frame.body).iter().all(|b| *b == 7));
        assert_eq!(inbox.next(&mut from, |_| Some(size), &mut uncounted).unwrap().tag, b'S');
        inbox.trim(&mut uncounted).unwrap();
        assert_eq!(inbox.buffer.len(), READ_BYTES);
    }

    /// What a client sends of a message that never ends is counted before it is kept, and until it is gone.
    #[test]
    fn memory_is_asked_for_and_given_back() {
        let size = 3 << 20;
        let mut bytes = vec![b'd'];
        bytes.extend_from_slice(&(size as i32 + 4).to_be_bytes());
        bytes.resize(size + 5, 7);
        let mut inbox = Inbox::new();
        let mut held = Vec::new();
        inbox
            .next(&mut &bytes[..], |_| Some(size), &mut |bytes| {
                held.push(bytes);
                Ok(())
            })
            .unwrap();
        assert!(held.is_sorted() && held.last() == Some(&inbox.buffer.len()), "{held:?}");
        inbox
            .trim(&mut |bytes| {
                held.push(bytes);
                Ok(())
            })
            .unwrap();
        assert_eq!(held.last(), Some(&0));
        let mut narrow = |bytes| if bytes > 1 << 20 { Err(Report::protocol("full")) } else { Ok(()) };
        let mut inbox = Inbox::new();
        let found = inbox.next(&mut &bytes[..], |_| Some(size), &mut narrow);
        assert!(matches!(found, Err(ReadError::Full(_))));
        assert!(inbox.buffer.len() <= 1 << 20);
    }

    #[test]
    fn lengths_out_of_range_are_refused() {
        for length in [-1_i32, 0, 3, 105, i32::MIN, i32::MAX] {
            let mut bytes = vec![b'Q'];
            bytes.extend_from_slice(&length.to_be_bytes());
            let found = Inbox::new().next(&mut &bytes[..], |_| Some(100), &mut uncounted);
            assert!(matches!(found, Err(ReadError::Length(l)) if l == length), "{length}");
            let found = Inbox::new().packet(&mut &bytes[1..], 100);
            assert!(matches!(found, Err(ReadError::Length(_))), "{length}");
        }
    }

    #[test]
    fn an_unknown_type_is_refused_before_its_length() {
        assert!(matches!(
            Inbox::new().next(&mut &b"G"[..], |_| None, &mut uncounted),
            Err(ReadError::Tag(b'G'))
        ));
    }
}
