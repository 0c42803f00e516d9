//! A write and its sync as one submission to io_uring.
//!
//! ```text
//!  write ──link──> fdatasync        the sync starts when the whole write is done
//!    │                │
//!    │ all written    │ result      done, or the error of the sync
//!    │ part written   │ cancelled   the rest by calls, then a sync by a call
//!    │ error          │ cancelled   the error of the write
//! ```
//! A thread that writes has a ring for itself for the time of the write. So completions need no owner, and
//! threads do not wait for each other's syncs.

use super::real::{sync_data, write_all};
use io_uring::{IoUring, Probe, opcode, squeue, types};
use scaledb_sync::lock::Mutex;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// A ring holds one write and one sync.
const ENTRIES: u32 = 2;

/// The largest write that the system does as one.
const MAX_WRITE: usize = 1 << 30;

const WRITE: u64 = 0;
const SYNC: u64 = 1;

/// Rings that no thread uses now. There are never more of them than threads that wrote at the same time.
pub(super) struct Rings {
    idle: Mutex<Vec<IoUring>>,
}

impl fmt::Debug for Rings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rings").field("idle", &self.idle.lock().len()).finish()
    }
}

impl Rings {
    /// Finds out whether the kernel has what is needed, and lets us use it.
    pub(super) fn probe() -> io::Result<Self> {
        let mut ring = IoUring::new(ENTRIES)?;
        let mut known = Probe::new();
        ring.submitter().register_probe(&mut known)?;
        if !known.is_supported(opcode::Write::CODE) || !known.is_supported(opcode::Fsync::CODE) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        // a filter of system calls may let rings be made, and then refuse their use
        // SAFETY: a no-operation names no memory.
        unsafe { ring.submission().push(&opcode::Nop::new().build()) }.map_err(io::Error::other)?;
        ring.submit_and_wait(1)?;
        if ring.completion().next().is_none_or(|done| done.result() < 0) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok(Self { idle: Mutex::new(vec![ring]) })
    }

    /// Writes all of `from` at `offset`, then syncs the file.
    pub(super) fn write_and_sync(&self, fd: impl AsFd, from: &[u8], offset: u64) -> io::Result<()> {
        let by_calls = |written: usize| {
            write_all(&fd, &from[written..], offset + written as u64)?;
            sync_data(&fd)
        };
        if from.len() > MAX_WRITE {
            return by_calls(0);
        }
        let idle = self.idle.lock().pop();
        let Some(mut ring) = idle.or_else(|| IoUring::new(ENTRIES).ok()) else { return by_calls(0) };
        let Some(outcome) = Outcome::of(&mut ring, &fd, from, offset) else { return by_calls(0) };
        self.idle.lock().push(ring);
        match outcome.decide(from.len()) {
            Next::Done => Ok(()),
            Next::Fail(error) => Err(error),
            Next::Finish { written } => by_calls(written),
        }
    }
}

/// What the system answered: bytes written and zero, or an error number each, negated.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    /// False: the sync may have run before the write was done.
    linked: bool,
    write: i32,
    sync: i32,
}

#[derive(Debug)]
enum Next {
    Done,
    Fail(io::Error),
    /// The rest is to be written, and then synced.
    Finish {
        written: usize,
    },
}

impl Outcome {
    /// Submits, and waits for both answers. `None`: the system took nothing, and the ring is of no use.
    fn of(ring: &mut IoUring, fd: &impl AsFd, from: &[u8], offset: u64) -> Option<Self> {
        let fd = types::Fd(fd.as_fd().as_raw_fd());
        let write = opcode::Write::new(fd, from.as_ptr(), from.len() as u32).offset(offset).build();
        let write = write.flags(squeue::Flags::IO_LINK).user_data(WRITE);
        let sync = opcode::Fsync::new(fd).flags(types::FsyncFlags::DATASYNC).build().user_data(SYNC);
        // SAFETY: `from` is borrowed, and the descriptor open, until this function returns. It returns when the
        // completions of both entries are seen, or when the system has taken neither of them: then the caller
        // drops the ring with the entries in it.
        unsafe { ring.submission().push_multiple(&[write, sync]) }.ok()?;
        let (mut linked, mut first) = (true, true);
        let mut answers = [None; 2];
        loop {
            let result = ring.submit_and_wait(answers.iter().filter(|answer| answer.is_none()).count());
            if first {
                let left = ring.submission().len();
                if result.is_err() && left == 2 {
                    return None;
                }
                // an entry that is taken alone is not linked to the next
                linked = left == 0;
                first = false;
            }
            for done in ring.completion() {
                answers[usize::from(done.user_data() == SYNC)] = Some(done.result());
            }
            if let [Some(write), Some(sync)] = answers {
                return Some(Self { linked, write, sync });
            }
            if result.is_err() {
                // interrupted, or short of memory: what was taken completes nevertheless
                scaledb_sync::thread::yield_now();
            }
        }
    }

    fn decide(self, len: usize) -> Next {
        let error = |number: i32| io::Error::from_raw_os_error(-number);
        let again = |number: i32| {
            matches!(error(number).kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
        };
        let cancelled = |number: i32| -number == CANCELED;
        if self.write < 0 && !again(self.write) {
            return Next::Fail(error(self.write));
        }
        let written = usize::try_from(self.write).unwrap_or(0);
        if self.sync < 0 && !cancelled(self.sync) && !again(self.sync) {
            // the file may have lost data: a later sync that succeeds says nothing about it
            return Next::Fail(error(self.sync));
        }
        if written < len || !self.linked || self.sync != 0 {
            return Next::Finish { written };
        }
        Next::Done
    }
}

const CANCELED: i32 = rustix::io::Errno::CANCELED.raw_os_error();

#[cfg(test)]
mod tests {
    use super::*;

    const IO: i32 = rustix::io::Errno::IO.raw_os_error();
    const NOSPC: i32 = rustix::io::Errno::NOSPC.raw_os_error();
    const INTR: i32 = rustix::io::Errno::INTR.raw_os_error();

    fn decide(write: i32, sync: i32) -> Next {
        Outcome { linked: true, write, sync }.decide(4096)
    }

    #[test]
    fn only_a_whole_write_with_its_sync_is_done() {
        assert!(matches!(decide(4096, 0), Next::Done));
        assert!(matches!(decide(512, -CANCELED), Next::Finish { written: 512 }));
        assert!(matches!(decide(512, 0), Next::Finish { written: 512 }));
        assert!(matches!(decide(0, -CANCELED), Next::Finish { written: 0 }));
        assert!(matches!(decide(-INTR, -CANCELED), Next::Finish { written: 0 }));
        assert!(matches!(decide(4096, -CANCELED), Next::Finish { written: 4096 }));
        assert!(matches!(decide(4096, -INTR), Next::Finish { written: 4096 }));
        let apart = Outcome { linked: false, write: 4096, sync: 0 };
        assert!(matches!(apart.decide(4096), Next::Finish { written: 4096 }));
    }

    #[test]
    fn an_error_of_either_is_not_papered_over() {
        let number = |next| match next {
            Next::Fail(error) => error.raw_os_error(),
            next => panic!("{next:?}"),
        };
        assert_eq!(number(decide(-NOSPC, -CANCELED)), Some(NOSPC));
        assert_eq!(number(decide(-IO, 0)), Some(IO));
        assert_eq!(number(decide(4096, -IO)), Some(IO));
        assert_eq!(number(decide(512, -IO)), Some(IO), "the sync ran and failed");
    }
}
