//! `\copy`: COPY with a file of the user's side.

use super::command::fail;
use super::connection::CopyData;
use super::input::Input;
use super::printer::CopySource;
use super::repl::{Done, Lines, Redirect, Shell};
use super::variables;
use scaledb_sql::lex::{Kind, Lexer, Token, text_of};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};

/// Bytes of a file that are sent at once.
const CHUNK: u64 = 64 << 10;

/// `\copy` in its parts: `{table | (query)} {from | to} {'file' | stdin | stdout} [options]`.
#[derive(Debug, PartialEq, Eq)]
struct Copy<'a> {
    what: &'a str,
    into_table: bool,
    file: CopyFile,
    options: &'a str,
}

/// The user's side of a copy.
#[derive(Debug, PartialEq, Eq)]
enum CopyFile {
    File(String),
    /// The lines behind the command, or where results go.
    Here,
}

/// Reads the line of a `\copy`.
fn parse(line: &str) -> Option<Copy<'_>> {
    let mut depth = 0usize;
    let mut tokens = Lexer::new(line);
    let direction = tokens.find(|token| {
        match token.of(line) {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (token.is(line, "from") || token.is(line, "to"))
    })?;
    let what = line[..direction.start].trim();
    // a path without quotes goes up to the next space
    let start = direction.end + line[direction.end..].find(|c: char| !c.is_whitespace())?;
    let (file, end) = match tokens.next()? {
        token @ Token { kind: Kind::Text, .. } => (text_of(token, line)?, token.end),
        Token { kind: Kind::Open, .. } => return None,
        _ => {
            let end = line[start..].find(char::is_whitespace).map_or(line.len(), |end| start + end);
            (line[start..end].to_owned(), end)
        }
    };
    let quoted = line[start..].starts_with('\'');
    let here = !quoted
        && ["stdin", "stdout", "pstdin", "pstdout"].iter().any(|word| file.eq_ignore_ascii_case(word));
    let file = if here { CopyFile::Here } else { CopyFile::File(file) };
    let options = line[end..].trim().trim_end_matches(';');
    (!what.is_empty()).then_some(Copy { what, into_table: direction.is(line, "from"), file, options })
}

/// Runs a `\copy`.
pub(crate) fn run(shell: &mut Shell, line: &str, input: &mut dyn Input) -> Done {
    let line = variables::expand(line, &shell.settings.variables).into_owned();
    let Some(copy) = parse(&line) else {
        let what = "\\copy: {table [(column, ...)] | (query)} {from | to} {'file' | stdin | stdout} [options] is expected";
        return fail(shell, what);
    };
    let Copy { what, options, .. } = copy;
    let direction = if copy.into_table { "FROM STDIN" } else { "TO STDOUT" };
    let sql = format!("COPY {what} {direction} {options}").trim_end().to_owned();
    match copy.file {
        CopyFile::Here => {
            let mut nothing = Nothing;
            let mut lines = Lines { input, ended: false };
            shell.redirected(&sql, &mut nothing, Redirect { copy_to: None, copy_from: Some(&mut lines) })
        }
        CopyFile::File(path) if copy.into_table => match File::open(&path) {
            Ok(file) => {
                let mut data = Data(file);
                shell.redirected(&sql, input, Redirect { copy_to: None, copy_from: Some(&mut data) })
            }
            Err(error) => fail(shell, &format!("{path}: {error}")),
        },
        CopyFile::File(path) => match File::create(&path) {
            Ok(file) => {
                let mut file = BufWriter::new(file);
                let redirect = Redirect { copy_to: Some(&mut file), copy_from: None };
                let done = shell.redirected(&sql, input, redirect);
                match file.flush() {
                    Ok(()) => done,
                    Err(error) => fail(shell, &format!("{path}: {error}")),
                }
            }
            Err(error) => fail(shell, &format!("{path}: {error}")),
        },
    }
}

/// An input without lines: the data has a source of its own.
struct Nothing;

impl Input for Nothing {
    fn line(&mut self, _: &str, _: &str) -> io::Result<super::input::Line> {
        Ok(super::input::Line::End)
    }
}

/// The data of a file.
struct Data(File);

impl CopySource for Data {
    fn more(&mut self, buffer: &mut Vec<u8>) -> CopyData {
        match (&mut self.0).take(CHUNK).read_to_end(buffer) {
            Ok(0) => CopyData::End,
            Ok(_) => CopyData::More,
            Err(error) => CopyData::GiveUp(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> CopyFile {
        CopyFile::File(path.to_owned())
    }

    #[test]
    fn the_parts_of_a_copy_are_found() {
        let copy = parse("s.t (a, \"from\") from 'a ''b' with (format csv, header)").unwrap();
        assert_eq!((copy.what, copy.into_table), ("s.t (a, \"from\")", true));
        assert_eq!((copy.file, copy.options), (file("a 'b"), "with (format csv, header)"));
        let copy = parse("(select 'to' from t) TO /tmp/a-b.csv csv;").unwrap();
        assert_eq!((copy.what, copy.into_table), ("(select 'to' from t)", false));
        assert_eq!((copy.file, copy.options), (file("/tmp/a-b.csv"), "csv"));
        assert_eq!(parse("t from stdin").unwrap().file, CopyFile::Here);
        assert_eq!(parse("t from 'stdin'").unwrap().file, file("stdin"));
        for line in ["", "t", "t from", "t from 'a", "from a", "(select 1"] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
