//! The loop: read, run, print.

use super::arguments::Invocation;
use super::connection::{Connection, CopyData, Failure, Report, Transaction};
use super::input::{Input, Line};
use super::interrupt::Interrupt;
use super::printer::{CopySource, Keeper, Printer};
use super::report;
use super::rows::Rows;
use super::scanner::{Piece, Scanner, Within};
use super::settings::Settings;
use super::variables;
use super::{EXIT_FAILURE, EXIT_LOST, EXIT_STOPPED, unwritten};
use crate::output::complain;
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use std::time::Instant;

/// Files that include one another, at most.
const MAX_INCLUDES: usize = 32;

/// What a shell works with.
pub(crate) struct Shell {
    pub(crate) connection: Rc<RefCell<Box<dyn Connection>>>,
    pub(crate) settings: Settings,
    pub(crate) interrupt: Interrupt,
    pub(crate) out: Box<dyn Write>,
    /// Where the statement that runs stands: errors say it.
    place: Option<String>,
    includes: usize,
}

/// How a run of lines ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// At their end.
    Done,
    /// The shell is to end with this status.
    Exit(u8),
}

/// What a statement or command came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// The input was run without an error.
    Well,
    /// A statement or command failed, and the error has been printed.
    Badly,
    /// The shell is to end with this status.
    Exit(u8),
}

/// What to do with the result of the next statement.
#[derive(Default)]
pub(crate) struct Redirect<'a> {
    /// Where data of COPY TO STDOUT goes.
    pub(crate) copy_to: Option<&'a mut dyn Write>,
    /// Where data of COPY FROM STDIN comes from.
    pub(crate) copy_from: Option<&'a mut dyn CopySource>,
}

impl Shell {
    pub(crate) fn new(connection: Box<dyn Connection>, settings: Settings, interrupt: Interrupt) -> Self {
        Self {
            connection: Rc::new(RefCell::new(connection)),
            settings,
            interrupt,
            out: Box::new(io::BufWriter::new(io::stdout())),
            place: None,
            includes: 0,
        }
    }

    /// psql's prompt: the database, what is open, and the state of the transaction.
    fn prompt(&self, within: Within) -> String {
        let connection = self.connection.borrow();
        let state = match connection.transaction() {
            Transaction::Idle => "",
            Transaction::Open => "*",
            Transaction::Failed => "!",
        };
        format!("{}{}{state}> ", connection.database(), within.sign())
    }

    /// Runs all lines of an input.
    pub(crate) fn run(&mut self, input: &mut dyn Input) -> Outcome {
        let mut scanner = Scanner::default();
        // what was typed since the last complete statement
        let mut typed = String::new();
        loop {
            if let Err(error) = self.out.flush() {
                return Outcome::Exit(unwritten(&error));
            }
            let line = match input.line(&self.prompt(scanner.within()), scanner.statement()) {
                Ok(line) => line,
                Err(error) => {
                    self.complain(&error.to_string());
                    return Outcome::Exit(EXIT_FAILURE);
                }
            };
            if input.interactive() {
                self.interrupt.forget();
            }
            let last = match line {
                Line::Text(text) => {
                    if scanner.within() == Within::Nothing
                        && let Some(outcome) = self.plain_word(&text, input)
                    {
                        match outcome {
                            Done::Exit(status) => return Outcome::Exit(status),
                            _ => continue,
                        }
                    }
                    typed.push_str(&text);
                    scanner.push(&text);
                    false
                }
                Line::Interrupted => {
                    scanner.clear();
                    typed.clear();
                    continue;
                }
                Line::End if input.interactive() => {
                    let _ = writeln!(self.out, "\\q");
                    let _ = self.out.flush();
                    return Outcome::Done;
                }
                Line::End => true,
            };
            self.place = input.place();
            while let Some(piece) = scanner.next() {
                let done = match piece {
                    Piece::Statement(sql) => self.statement(&sql, input),
                    Piece::Command(line) => self.command(&line, &mut scanner, input),
                };
                if input.interactive() && self.interrupt.came() {
                    scanner.clear();
                } else if let Some(outcome) = self.after(done, input) {
                    return outcome;
                }
            }
            if scanner.within() == Within::Nothing && !typed.trim().is_empty() {
                input.remember(typed.trim());
                typed.clear();
            }
            if last {
                let rest = scanner.take();
                let done = if rest.is_empty() { Done::Well } else { self.statement(&rest, input) };
                return self.after(done, input).unwrap_or(Outcome::Done);
            }
        }
    }

    /// `exit`, `quit` and `help`, typed alone.
    fn plain_word(&mut self, line: &str, input: &mut dyn Input) -> Option<Done> {
        if !input.interactive() {
            return None;
        }
        match line.trim().trim_end_matches(';') {
            "exit" | "quit" => Some(Done::Exit(0)),
            "help" => Some(self.command("?", &mut Scanner::default(), input)),
            _ => None,
        }
    }

    /// Whether the run ends here.
    fn after(&mut self, done: Done, input: &dyn Input) -> Option<Outcome> {
        match done {
            Done::Exit(status) => Some(Outcome::Exit(status)),
            _ if self.interrupt.came() => Some(Outcome::Exit(EXIT_STOPPED)),
            Done::Badly if self.settings.stops_on_error() && !input.interactive() => {
                Some(Outcome::Exit(EXIT_STOPPED))
            }
            _ => None,
        }
    }

    /// Runs the lines of a file.
    pub(crate) fn include(&mut self, input: &mut dyn Input) -> Done {
        if self.includes >= MAX_INCLUDES {
            self.complain(&format!("files include one another more than {MAX_INCLUDES} times"));
            return Done::Badly;
        }
        self.includes += 1;
        let place = self.place.take();
        let outcome = self.run(input);
        self.place = place;
        self.includes -= 1;
        match outcome {
            Outcome::Done => Done::Well,
            Outcome::Exit(status) => Done::Exit(status),
        }
    }

    /// Runs a backslash command.
    fn command(&mut self, line: &str, scanner: &mut Scanner, input: &mut dyn Input) -> Done {
        super::command::run(self, &Invocation::parse(line), scanner, input)
    }

    /// Runs a statement and prints its result.
    pub(crate) fn statement(&mut self, sql: &str, input: &mut dyn Input) -> Done {
        if sql.is_empty() {
            return Done::Well;
        }
        let sql = variables::expand(sql, &self.settings.variables);
        self.redirected(&sql, input, Redirect::default())
    }

    /// Runs a statement whose data comes from or goes to somewhere else.
    pub(crate) fn redirected(&mut self, sql: &str, input: &mut dyn Input, redirect: Redirect<'_>) -> Done {
        let began = Instant::now();
        let Redirect { copy_to, copy_from } = redirect;
        let result = {
            let mut lines = Lines { input, ended: false };
            let copy_from: &mut dyn CopySource = match copy_from {
                Some(source) => source,
                None => &mut lines,
            };
            let copy_to = copy_to.map(|out| out as &mut dyn Write);
            let mut printer = Printer::new(&self.settings, sql, &mut *self.out, copy_to, copy_from);
            let mut connection = self.connection.borrow_mut();
            self.interrupt.arm(connection.canceller());
            let result = connection.run(sql, &mut printer);
            self.interrupt.disarm();
            result
        };
        let elapsed = began.elapsed();
        let mut done = self.finish(result, sql);
        if self.settings.timing && !matches!(done, Done::Exit(_)) {
            let _ = writeln!(self.out, "Time: {:.3} ms", elapsed.as_secs_f64() * 1_000.0);
        }
        // seen before the next statement runs, which may take long
        if let (Err(error), Done::Well) = (self.out.flush(), done) {
            done = Done::Exit(unwritten(&error));
        }
        done
    }

    /// Says what went wrong.
    fn finish(&mut self, result: Result<(), Failure>, sql: &str) -> Done {
        match result {
            Ok(()) => Done::Well,
            Err(Failure::Report(report)) => {
                self.report(&report, sql);
                Done::Badly
            }
            Err(Failure::Lost(why)) => {
                self.complain(&format!("the connection to the server is lost: {why}"));
                Done::Exit(EXIT_LOST)
            }
            Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                Done::Exit(unwritten(&error))
            }
            Err(Failure::Output(error)) => {
                self.complain(&error.to_string());
                Done::Badly
            }
        }
    }

    /// Runs a statement of the shell's own and keeps the result; on failure says so.
    pub(crate) fn query(&mut self, sql: &str) -> Option<Rows> {
        let mut keeper = Keeper::default();
        let result = {
            let mut connection = self.connection.borrow_mut();
            self.interrupt.arm(connection.canceller());
            let result = connection.run(sql, &mut keeper);
            self.interrupt.disarm();
            result
        };
        match result {
            Ok(()) => Some(keeper.rows),
            Err(failure) => {
                self.finish(Err(failure), sql);
                None
            }
        }
    }

    fn report(&mut self, error: &Report, sql: &str) {
        // what was printed before it stands before it
        let _ = self.out.flush();
        let place = self.place.as_ref().map_or(String::new(), |place| format!("{place}: "));
        complain!("{place}{}", report::text(error, sql));
    }

    /// An error of the shell's own.
    pub(crate) fn complain(&mut self, what: &str) {
        let _ = self.out.flush();
        let place = self.place.as_ref().map_or(String::new(), |place| format!("{place}: "));
        complain!("{place}error: {what}\n");
    }
}

/// Data of COPY FROM STDIN in the lines behind the statement, up to `\.`.
pub(crate) struct Lines<'a> {
    pub(crate) input: &'a mut dyn Input,
    pub(crate) ended: bool,
}

/// Bytes of data that are sent at once.
const COPY_CHUNK: usize = 64 << 10;

impl CopySource for Lines<'_> {
    fn more(&mut self, buffer: &mut Vec<u8>) -> CopyData {
        while !self.ended && buffer.len() < COPY_CHUNK {
            match self.input.line(">> ", "") {
                Ok(Line::Text(line)) if line.trim_end_matches(['\r', '\n']) == "\\." => self.ended = true,
                Ok(Line::Text(line)) => buffer.extend_from_slice(line.as_bytes()),
                Ok(Line::End) => self.ended = true,
                Ok(Line::Interrupted) => return CopyData::GiveUp("canceled by user".to_owned()),
                Err(error) => return CopyData::GiveUp(error.to_string()),
            }
        }
        if self.ended { CopyData::End } else { CopyData::More }
    }
}
