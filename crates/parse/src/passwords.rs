//! Statements that may hold a password, as others may see them.

use super::lex::{Kind, Lexer};

/// Whether a statement is about users, or is none about rows and speaks of passwords.
pub fn may_hold_password(text: &str) -> bool {
    let mut words = Lexer::new(text).filter(|token| matches!(token.kind, Kind::Word | Kind::Quoted));
    let Some(first) = words.next() else { return false };
    let rows =
        ["select", "insert", "update", "delete", "merge", "with", "values", "table", "copy", "execute"];
    if rows.iter().any(|word| first.is(text, word)) {
        return false;
    }
    let about_users = words.clone().next().is_some_and(|second| {
        ["role", "user", "group", "subscription", "server"].iter().any(|word| second.is(text, word))
    });
    let changes = first.is(text, "create") || first.is(text, "alter");
    let speaks = |word: &str| ["password", "passwd", "secret"].iter().any(|hint| word.contains(hint));
    changes && about_users || words.any(|word| speaks(&word.of(text).to_ascii_lowercase()))
}

/// The text with `'***'` in the place of its literals.
pub fn without_literals(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut copied = 0;
    for token in Lexer::new(text) {
        if matches!(token.kind, Kind::Text | Kind::Special | Kind::Open) {
            shown.push_str(&text[copied..token.start]);
            shown.push_str("'***'");
            // what does not end goes on to the end of the text
            copied = if token.kind == Kind::Open { text.len() } else { token.end };
        }
    }
    shown.push_str(&text[copied..]);
    shown
}

/// The text of a statement as other sessions may see it: without what may be a password.
pub fn for_others(text: &str) -> std::borrow::Cow<'_, str> {
    let words = ["create", "alter"];
    let first = Lexer::new(text).next();
    // most statements are about rows
    if first.is_some_and(|first| words.iter().any(|word| first.is(text, word))) && may_hold_password(text) {
        without_literals(text).into()
    } else {
        text.into()
    }
}
