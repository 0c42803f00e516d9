//! Prints what a statement answers.

use super::connection::{Column, CopyData, Receiver, Report};
use super::formats;
use super::report;
use super::rows::Rows;
use super::settings::{Expanded, Format, Settings};
use super::table;
use crate::output::complain;
use std::io::{self, Write};

/// Rows are written when their text has so many bytes; a statement that meets a conflict before is run again.
const CHUNK: usize = 64 << 10;

/// Where the data of COPY FROM STDIN comes from.
pub(crate) trait CopySource {
    /// Some more, into an empty buffer.
    fn more(&mut self, buffer: &mut Vec<u8>) -> CopyData;
}

/// Prints results.
pub(crate) struct Printer<'a> {
    settings: &'a Settings,
    statement: &'a str,
    out: &'a mut dyn Write,
    /// Where data of COPY TO STDOUT goes, if not where results go.
    copy_to: Option<&'a mut dyn Write>,
    copy_from: &'a mut dyn CopySource,
    rows: Option<Rows>,
    /// Rows that are written.
    written: usize,
    /// Whether anything of the statement is.
    begun: bool,
    copied: bool,
}

impl<'a> Printer<'a> {
    pub(crate) fn new(
        settings: &'a Settings,
        statement: &'a str,
        out: &'a mut dyn Write,
        copy_to: Option<&'a mut dyn Write>,
        copy_from: &'a mut dyn CopySource,
    ) -> Self {
        Self {
            settings,
            statement,
            out,
            copy_to,
            copy_from,
            rows: None,
            written: 0,
            begun: false,
            copied: false,
        }
    }

    fn streams(&self) -> bool {
        self.settings.format != Format::Aligned
    }

    /// Writes the rows at hand, in a format that does not need all of them.
    fn write(&mut self) -> io::Result<()> {
        let Some(rows) = &mut self.rows else { return Ok(()) };
        if !self.begun {
            formats::begin(self.out, rows, self.settings)?;
            self.begun = true;
        }
        formats::body(self.out, rows, self.settings, self.written)?;
        self.written += rows.len();
        rows.clear();
        Ok(())
    }

    fn finish_rows(&mut self) -> io::Result<()> {
        if self.streams() {
            self.write()?;
            if self.rows.take().is_some() {
                formats::end(self.out, self.settings, self.written)?;
            }
        } else if let Some(rows) = self.rows.take() {
            print_table(self.out, &rows, self.settings)?;
        }
        self.written = 0;
        self.begun = false;
        Ok(())
    }
}

/// Prints a result as a table, expanded if it is set so or too wide.
pub(crate) fn print_table(out: &mut dyn Write, rows: &Rows, settings: &Settings) -> io::Result<()> {
    let expanded = match settings.expanded {
        Expanded::Off => false,
        Expanded::On => true,
        Expanded::Auto => {
            rows.len() > 0
                && settings.width().is_some_and(|width| table::table_width(rows, &settings.null) > width)
        }
    };
    if expanded {
        table::expanded(out, rows, settings)
    } else {
        table::aligned(out, rows, settings, None, None)
    }
}

impl Receiver for Printer<'_> {
    fn columns(&mut self, columns: Vec<Column>) -> io::Result<()> {
        self.rows = Some(Rows::new(columns));
        Ok(())
    }

    fn value(&mut self, value: Option<&[u8]>) {
        if let Some(rows) = &mut self.rows {
            rows.value(value);
        }
    }

    fn end_row(&mut self) -> io::Result<()> {
        let streams = self.streams();
        let Some(rows) = &mut self.rows else { return Ok(()) };
        rows.end_row();
        if streams && rows.bytes() >= CHUNK { self.write() } else { Ok(()) }
    }

    fn complete(&mut self, tag: &str) -> io::Result<()> {
        let had_rows = self.rows.is_some();
        self.finish_rows()?;
        let copied = std::mem::take(&mut self.copied);
        // psql keeps the tags of what has shown its rows, and of COPY TO, to itself
        let silent = self.settings.quiet || self.settings.format == Format::Json;
        if silent
            || copied
            || had_rows && !["INSERT", "UPDATE", "DELETE"].iter().any(|word| tag.starts_with(word))
        {
            return Ok(());
        }
        writeln!(self.out, "{tag}")
    }

    fn notice(&mut self, notice: &Report) {
        let _ = self.out.flush();
        complain!("{}", report::text(notice, self.statement));
    }

    fn copy_out(&mut self, data: &[u8]) -> io::Result<()> {
        self.copied = true;
        match &mut self.copy_to {
            Some(file) => {
                self.copied = false;
                file.write_all(data)
            }
            None => {
                self.begun = true;
                self.out.write_all(data)
            }
        }
    }

    fn copy_in(&mut self, buffer: &mut Vec<u8>) -> CopyData {
        self.copy_from.more(buffer)
    }

    fn rewind(&mut self) -> bool {
        if self.begun {
            return false;
        }
        if let Some(rows) = &mut self.rows {
            rows.clear();
        }
        true
    }
}

/// Keeps a result for the shell itself.
#[derive(Default)]
pub(crate) struct Keeper {
    pub(crate) rows: Rows,
}

impl Receiver for Keeper {
    fn columns(&mut self, columns: Vec<Column>) -> io::Result<()> {
        self.rows = Rows::new(columns);
        Ok(())
    }

    fn value(&mut self, value: Option<&[u8]>) {
        self.rows.value(value);
    }

    fn end_row(&mut self) -> io::Result<()> {
        self.rows.end_row();
        Ok(())
    }

    fn complete(&mut self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn notice(&mut self, _: &Report) {}

    fn copy_out(&mut self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn copy_in(&mut self, _: &mut Vec<u8>) -> CopyData {
        CopyData::GiveUp("no data".to_owned())
    }

    fn rewind(&mut self) -> bool {
        self.rows.clear();
        true
    }
}
