//! Where lines come from: the terminal, a file, a pipe, an argument.

use std::io::{self, BufRead};

/// What was read.
#[derive(Debug)]
pub(crate) enum Line {
    /// A line, with its line feed.
    Text(String),
    /// The user has given up the line.
    Interrupted,
    /// The input is at its end.
    End,
}

/// Lines to run.
pub(crate) trait Input {
    /// The next line; a terminal shows the prompt. `before` is the statement that it may go on with.
    fn line(&mut self, prompt: &str, before: &str) -> io::Result<Line>;

    /// Where the last line stands, for messages: `file:number`.
    fn place(&self) -> Option<String> {
        None
    }

    /// Whether a person types the lines.
    fn interactive(&self) -> bool {
        false
    }

    /// Keeps a statement for the user to come back to.
    fn remember(&mut self, _statement: &str) {}
}

/// Lines of a file or pipe.
pub(crate) struct Reader<R> {
    reader: R,
    name: Option<String>,
    number: usize,
    bytes: Vec<u8>,
}

impl<R: BufRead> Reader<R> {
    /// The lines of `reader`; messages name it if it has a name.
    pub(crate) fn new(reader: R, name: Option<String>) -> Self {
        Self { reader, name, number: 0, bytes: Vec::new() }
    }
}

impl<R: BufRead> Input for Reader<R> {
    fn line(&mut self, _: &str, _: &str) -> io::Result<Line> {
        self.bytes.clear();
        if self.reader.read_until(b'\n', &mut self.bytes)? == 0 {
            return Ok(Line::End);
        }
        self.number += 1;
        let mut text = std::str::from_utf8(&self.bytes)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "the input is not UTF-8"))?
            .to_owned();
        if self.number == 1 {
            // a byte order mark, as some editors write it
            text = text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned);
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
        Ok(Line::Text(text))
    }

    fn place(&self) -> Option<String> {
        self.name.as_ref().map(|name| format!("{name}:{}", self.number))
    }
}
