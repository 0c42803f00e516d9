//! The text of a query or an expression that was printed from its tree, in the words of SQL: the parser's forms of what
//! it does not know become what was written.
//!
//! ```text
//!  (f(x)).""                                         (f(x)).*
//!  ""."ROWS"(f(x), g(y))                             ROWS FROM (f(x), g(y))
//!  (PARTITION BY ""."TIES", a ORDER BY b ROWS ..)    (PARTITION BY a ORDER BY b ROWS .. EXCLUDE TIES)
//!  SELECT ""."NOTHING" WHERE a                        SELECT WHERE a
//!  USING(a, ""."ALIAS".j)                            USING(a) AS j
//!  LIMIT ""."TIES"((a + 1))                          FETCH FIRST (a + 1) ROWS WITH TIES
//!  GROUP BY ""."DISTINCT", a, b                      GROUP BY DISTINCT a, b
//!  WITH .. (..) FROM "WITH SEARCH .."                WITH .. (..) SEARCH ..
//!  FOR UPDATE OF "FOR SHARE".a.b                     FOR SHARE OF a, b
//!  INTERVAL '1.25' (1)                               INTERVAL(1) '1.25'
//! ```

use super::frames;
use super::group_by::DISTINCT;
use super::lex::{Kind, Lexer, Token};
use super::locking;
use super::marked::{ALIAS, NOTHING, ROWS, TIES};
use super::search_cycle;

/// The text with what was written in the place of each form.
pub fn unmarked(text: &str) -> String {
    let tokens: Vec<Token> = Lexer::new(text).collect();
    let mut at =
        Unmarked { text, tokens, out: String::with_capacity(text.len()), copied: 0, open: Vec::new() };
    let mut number = 0;
    while number < at.tokens.len() {
        number = at.token(number);
    }
    let Unmarked { mut out, copied, .. } = at;
    out.push_str(&text[copied..]);
    out
}

struct Unmarked<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    out: String,
    /// Up to where the text has been copied.
    copied: usize,
    /// For each open parenthesis, what stands before its end.
    open: Vec<Option<String>>,
}

impl Unmarked<'_> {
    fn of(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.of(self.text))
    }

    /// Puts a text in the place of tokens.
    fn put(&mut self, from: usize, to: usize, text: &str) {
        self.out.push_str(&self.text[self.copied..self.tokens[from].start]);
        self.out.push_str(text);
        self.copied = self.tokens[to].end;
    }

    /// The name behind `"".` at a place.
    fn mark(&self, at: usize) -> Option<&str> {
        if self.of(at) != "\"\"" || self.of(at + 1) != "." {
            return None;
        }
        self.name(at + 2)
    }

    /// A name in quotes at a place.
    fn name(&self, at: usize) -> Option<&str> {
        self.of(at).strip_prefix('"')?.strip_suffix('"').filter(|mark| !mark.is_empty())
    }

    /// Goes over what begins at a token; the number of the next one.
    fn token(&mut self, at: usize) -> usize {
        let token = self.tokens[at];
        if token.is_sign(self.text, "(") {
            self.open.push(None);
        } else if token.is_sign(self.text, ")") {
            if let Some(own) = self.open.pop().flatten() {
                self.put(at, at, &own);
            }
        } else if token.is_sign(self.text, ".") && self.of(at + 1) == "\"\"" {
            self.put(at + 1, at + 1, "*");
            return at + 2;
        } else if self.mark(at) == Some(ROWS) && self.of(at + 3) == "(" {
            self.put(at, at + 2, "ROWS FROM ");
            return at + 3;
        } else if token.is(self.text, "partition")
            && let Some(form) = self.mark(at + 2).filter(|form| frames::is_form(form))
        {
            let form = form.to_owned();
            if let Some(open) = self.open.last_mut() {
                *open = Some(format!(" EXCLUDE {form})"));
            }
            let others = self.of(at + 5) == ",";
            self.put(at, if others { at + 5 } else { at + 4 }, if others { "PARTITION BY" } else { "" });
            return at + 5 + usize::from(others);
        } else if token.is(self.text, "from")
            && let Some(name) = self.name(at + 1).map(|name| name.replace("\"\"", "\""))
            && let Some(clauses) = search_cycle::text_of(&name)
        {
            self.put(at, at + 1, clauses);
            return at + 2;
        } else if self.mark(at) == Some(NOTHING) {
            self.put(at, at + 2, "");
            return at + 3;
        } else if token.is_sign(self.text, ",") && self.mark(at + 1) == Some(ALIAS) && self.of(at + 6) == ")"
        {
            let named = format!(") AS {}", self.of(at + 5));
            self.open.pop();
            self.put(at, at + 6, &named);
            return at + 7;
        } else if token.is(self.text, "limit") && self.mark(at + 1) == Some(TIES) && self.of(at + 4) == "(" {
            self.put(at, at + 4, "FETCH FIRST ");
            self.open.push(Some(" ROWS WITH TIES".to_owned()));
            return at + 5;
        } else if self.mark(at) == Some(DISTINCT) && self.of(at + 3) == "," {
            self.put(at, at + 3, "DISTINCT");
            return at + 4;
        } else if token.is(self.text, "for")
            && self.of(at + 2).eq_ignore_ascii_case("of")
            && let Some(words) = self.name(at + 3).and_then(locking::words_of)
        {
            let mut end = at + 3;
            let mut names = Vec::new();
            while self.of(end + 1) == "." {
                names.push(self.of(end + 2));
                end += 2;
            }
            let of = if names.is_empty() { "" } else { " OF " };
            let clause = format!("{words}{of}{}", names.join(", "));
            self.put(at, end, &clause);
            return end + 1;
        } else if token.is(self.text, "interval")
            && self.tokens.get(at + 1).is_some_and(|token| matches!(token.kind, Kind::Text | Kind::Special))
            && self.of(at + 2) == "("
            && self.of(at + 4) == ")"
        {
            let moved = format!("INTERVAL({}) {}", self.of(at + 3), self.of(at + 1));
            self.put(at, at + 4, &moved);
            return at + 5;
        }
        at + 1
    }
}

#[cfg(test)]
mod tests {
    use super::unmarked;

    #[test]
    fn a_text_is_in_the_words_of_sql_again() {
        for (text, wanted) in [
            (
                "sum(a) OVER (PARTITION BY \"\".\"TIES\" ORDER BY b ROWS 1 PRECEDING)",
                "sum(a) OVER ( ORDER BY b ROWS 1 PRECEDING EXCLUDE TIES)",
            ),
            (
                "(w PARTITION BY \"\".\"NO OTHERS\", f((1)), c GROUPS 1 PRECEDING), (PARTITION BY a)",
                "(w PARTITION BY f((1)), c GROUPS 1 PRECEDING EXCLUDE NO OTHERS), (PARTITION BY a)",
            ),
            (
                "SELECT (f(x)).\"\", a FROM \"\".\"ROWS\"(f(1), g(2)) AS h",
                "SELECT (f(x)).*, a FROM ROWS FROM (f(1), g(2)) AS h",
            ),
            ("FOR UPDATE OF \"FOR KEY SHARE\".a.\"B\" NOWAIT", "FOR KEY SHARE OF a, \"B\" NOWAIT"),
            ("FOR UPDATE OF \"FOR UPDATE\" FOR SHARE OF a", "FOR UPDATE FOR SHARE OF a"),
            ("GROUP BY \"\".\"DISTINCT\", a", "GROUP BY DISTINCT a"),
            ("INTERVAL '1.25' (1) + INTERVAL '1' DAY", "INTERVAL(1) '1.25' + INTERVAL '1' DAY"),
            (
                "SELECT \"\".\"NOTHING\" WHERE a LIMIT \"\".\"TIES\"((1 + (2)))",
                "SELECT  WHERE a FETCH FIRST (1 + (2)) ROWS WITH TIES",
            ),
            ("SELECT \"\", a.b, \"a\".\"TIES\"", "SELECT \"\", a.b, \"a\".\"TIES\""),
        ] {
            assert_eq!(unmarked(text), wanted);
        }
    }
}
