//! The standard output. Its reader may go away, as `head` does: the rest is dropped then, and that is no error.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;

/// The error that has ended the output; work that is under way goes on.
static ENDED: OnceLock<io::Error> = OnceLock::new();

/// Writes, unless the output has ended.
pub(crate) fn write(text: fmt::Arguments<'_>) {
    if ENDED.get().is_some() {
        return;
    }
    let mut out = io::stdout().lock();
    // a line that is not complete is shown all the same
    if let Err(error) = out.write_fmt(text).and_then(|()| out.flush()) {
        // the first one counts
        let _ = ENDED.set(error);
    }
}

/// Writes a line.
pub(crate) fn line(text: fmt::Arguments<'_>) {
    write(format_args!("{text}\n"));
}

/// Whether the reader of the output is gone: what only makes output may end.
pub(crate) fn is_unread() -> bool {
    ENDED.get().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// Why the output is not complete, unless its reader has gone.
pub(crate) fn error() -> Option<&'static io::Error> {
    ENDED.get().filter(|error| error.kind() != ErrorKind::BrokenPipe)
}

/// `print`, for an output whose reader may go away.
macro_rules! show {
    ($($text:tt)*) => { $crate::output::write(format_args!($($text)*)) };
}

/// `println`, for an output whose reader may go away.
macro_rules! say {
    ($($text:tt)*) => { $crate::output::line(format_args!($($text)*)) };
}

/// `eprint`, for an output whose reader may go away.
macro_rules! complain {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        // there is no reader left to tell
        let _ = write!(std::io::stderr(), $($text)*);
    }};
}

pub(crate) use {complain, say, show};
