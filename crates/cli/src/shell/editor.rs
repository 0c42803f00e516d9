//! The terminal: editing of lines, history, completion by TAB.

use super::complete::Completer;
use super::input::{Input, Line};
use rustyline::completion::Pair;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;

/// Statements that are remembered.
const MAX_HISTORY: usize = 10_000;

/// Completes what is typed.
struct Assistant(Completer);

impl rustyline::completion::Completer for Assistant {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, candidates) = self.0.candidates(line, at);
        let pair = |text: String| Pair { display: text.trim_end().to_owned(), replacement: text };
        Ok((start, candidates.into_iter().map(pair).collect()))
    }
}

impl Hinter for Assistant {
    type Hint = String;
}

impl Highlighter for Assistant {}

impl Validator for Assistant {}

impl Helper for Assistant {}

/// A person at a terminal.
pub(crate) struct Terminal {
    editor: Editor<Assistant, FileHistory>,
    history: Option<PathBuf>,
}

impl Terminal {
    /// Takes the terminal; the history comes from its file, if there is one.
    pub(crate) fn open(completer: Completer) -> rustyline::Result<Self> {
        let config = Config::builder()
            .max_history_size(MAX_HISTORY)?
            .history_ignore_dups(true)?
            .history_ignore_space(true)
            .completion_type(CompletionType::List)
            .build();
        let mut editor = Editor::with_config(config)?;
        editor.set_helper(Some(Assistant(completer)));
        let history = history_file();
        if let Some(path) = &history {
            // the first time there is none
            let _ = editor.load_history(path);
        }
        Ok(Self { editor, history })
    }
}

/// `SCALEDB_HISTORY`, or `.scaledb_history` of the home directory; none if the variable is empty.
fn history_file() -> Option<PathBuf> {
    match std::env::var_os("SCALEDB_HISTORY") {
        Some(path) if path.is_empty() => None,
        Some(path) => Some(path.into()),
        None => Some(std::env::home_dir()?.join(".scaledb_history")),
    }
}

impl Input for Terminal {
    fn line(&mut self, prompt: &str, before: &str) -> io::Result<Line> {
        if let Some(assistant) = self.editor.helper_mut() {
            assistant.0.before(before);
        }
        match self.editor.readline(prompt) {
            Ok(mut line) => {
                line.push('\n');
                Ok(Line::Text(line))
            }
            Err(ReadlineError::Interrupted) => Ok(Line::Interrupted),
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(ReadlineError::Io(error)) => Err(error),
            Err(error) => Err(io::Error::other(error.to_string())),
        }
    }

    fn interactive(&self) -> bool {
        true
    }

    fn remember(&mut self, statement: &str) {
        let added = self.editor.add_history_entry(statement).unwrap_or(false);
        if let (true, Some(path)) = (added, &self.history) {
            // at once: another shell, or a crash, does not lose it. A disk that is full is no reason to stop.
            let _ = self.editor.append_history(path);
        }
    }
}

/// Lets the user edit a file, or the text in a file of its own, and returns what it holds then.
pub(crate) fn edit(file: Option<&str>, text: &str) -> io::Result<String> {
    let mut temporary = tempfile::Builder::new().prefix("scaledb-").suffix(".sql").tempfile()?;
    temporary.write_all(text.as_bytes())?;
    temporary.write_all(b"\n")?;
    temporary.flush()?;
    let path = file.map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    let editor = ["SCALEDB_EDITOR", "VISUAL", "EDITOR"].into_iter().find_map(std::env::var_os);
    let editor = editor.unwrap_or_else(|| "vi".into());
    // the variable may hold options, too: a shell splits it
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(format!("{} \"$1\"", editor.to_string_lossy())).arg("sh").arg(&path);
    let status = command.status()?;
    if !status.success() {
        return Err(io::Error::other(format!("the editor ended with {status}")));
    }
    // by its name: editors may put a new file in the place of the old one
    let mut edited = std::fs::read_to_string(path)?;
    if !edited.ends_with('\n') {
        edited.push('\n');
    }
    Ok(edited)
}
