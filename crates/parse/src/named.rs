//! What stands where a type, a function or the name of a relation does in a text that was printed from its syntax tree.

use super::lex::{Lexer, Token, name_of, text_of};

/// Functions whose first argument names a sequence.
const OF_SEQUENCES: [&str; 3] = ["nextval", "currval", "setval"];

/// What a literal names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    Relation,
    Type,
}

/// The tokens of a text, as it was printed from its syntax tree.
pub struct Tokens<'a> {
    text: &'a str,
    pub all: Vec<Token>,
}

impl<'a> Tokens<'a> {
    pub fn of(text: &'a str) -> Self {
        Self { text, all: Lexer::new(text).collect() }
    }

    pub fn sign(&self, at: usize, sign: &str) -> bool {
        self.all.get(at).is_some_and(|token| token.is_sign(self.text, sign))
    }

    pub fn word(&self, at: usize) -> Option<String> {
        self.all.get(at).and_then(|token| name_of(*token, self.text))
    }

    /// Whether a name without a schema stands where a type does.
    pub fn is_type(&self, at: usize) -> bool {
        self.begins_type(at) && !self.sign(at + 1, ".")
    }

    /// Whether the name of a type begins here.
    pub fn begins_type(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else { return false };
        self.sign(before, "::") || self.is(before, "as") && self.is_in_cast(before)
    }

    pub fn is(&self, at: usize, word: &str) -> bool {
        self.all.get(at).is_some_and(|token| token.is(self.text, word))
    }

    /// Whether the innermost parenthesis that is open at a place is that of CAST.
    fn is_in_cast(&self, at: usize) -> bool {
        let mut open = 0usize;
        for before in (0..at).rev() {
            if self.sign(before, ")") {
                open += 1;
            } else if self.sign(before, "(") {
                match open.checked_sub(1) {
                    Some(fewer) => open = fewer,
                    None => return before.checked_sub(1).is_some_and(|word| self.is(word, "cast")),
                }
            }
        }
        false
    }

    /// Whether a name without a schema is that of a function that is called.
    pub fn is_call(&self, at: usize) -> bool {
        self.sign(at + 1, "(") && !(at > 0 && self.sign(at - 1, "."))
    }

    /// The type at a place, if literals of it name something.
    fn type_at(&self, at: usize) -> Option<Named> {
        let at = if self.word(at).as_deref() == Some("pg_catalog") && self.sign(at + 1, ".") {
            at + 2
        } else {
            at
        };
        match self.word(at)?.as_str() {
            "regclass" => Some(Named::Relation),
            "regtype" => Some(Named::Type),
            _ => None,
        }
    }

    /// What a literal names: `'t'::regclass`, `CAST('t' AS regclass)`, `regclass 't'`, `nextval('s')`, whatever
    /// parentheses are around it.
    pub fn named_by(&self, at: usize) -> Option<Named> {
        if let Some(named) = at.checked_sub(1).and_then(|before| self.type_at(before)) {
            return Some(named);
        }
        let (mut first, mut last) = (at, at);
        loop {
            if self.sign(last + 1, "::")
                || self.all.get(last + 1).is_some_and(|token| token.is(self.text, "as"))
            {
                return self.type_at(last + 2);
            }
            let opens = first.checked_sub(1).filter(|&before| self.sign(before, "("))?;
            let function = opens.checked_sub(1).and_then(|before| self.word(before));
            if function.is_some_and(|name| OF_SEQUENCES.contains(&name.as_str())) {
                return Some(Named::Relation);
            }
            if !self.sign(last + 1, ")") {
                return None;
            }
            (first, last) = (opens, last + 1);
        }
    }

    /// The content of a literal.
    pub fn literal(&self, at: usize) -> Option<String> {
        let token = self.all[at];
        let whole = token.of(self.text);
        text_of(token, self.text).or_else(|| {
            let tag = whole.strip_prefix('$')?.find('$')? + 2;
            Some(whole.get(tag..whole.len().checked_sub(tag)?)?.to_owned())
        })
    }
}
