//! A password that is typed: it is not shown.

use rustyline::completion::Completer;
use rustyline::config::Behavior;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{Config, Editor, Helper};
use std::borrow::Cow;
use std::io::IsTerminal;

/// Shows stars.
struct Stars;

impl Completer for Stars {
    type Candidate = String;
}

impl Hinter for Stars {
    type Hint = String;
}

impl Highlighter for Stars {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        Cow::Owned("*".repeat(line.chars().count()))
    }

    fn highlight_char(&self, _: &str, _: usize, _: CmdKind) -> bool {
        true
    }
}

impl Validator for Stars {}

impl Helper for Stars {}

/// Asks the person at the terminal, if there is one.
pub(super) fn ask(user: &str) -> Option<Vec<u8>> {
    if !std::io::stdin().is_terminal() {
        return None;
    }
    // results may go to a file
    let config = Config::builder().behavior(Behavior::PreferTerm).auto_add_history(false).build();
    let mut editor: Editor<Stars, MemHistory> = Editor::with_history(config, MemHistory::new()).ok()?;
    editor.set_helper(Some(Stars));
    let typed = editor.readline(&format!("Password for user {user}: ")).ok()?;
    Some(typed.into_bytes())
}
