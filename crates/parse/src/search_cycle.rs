//! SEARCH and CYCLE behind a recursive WITH query, which the parser does not know: they become a name that stands
//! where other databases have one.
//!
//! ```text
//!  (..) SEARCH DEPTH FIRST BY a, b SET o                     (..) FROM "WITH SEARCH DEPTH FIRST BY a, b SET o"
//!  (..) CYCLE a SET c TO 'Y' DEFAULT 'N' USING p             (..) FROM "WITH CYCLE a SET c TO 'Y' DEFAULT 'N' USING p"
//! ```

use super::fetch::next;
use super::marked::is;
use sqlparser::ast::{Expr, Ident};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Whitespace, Word};

/// What such a name begins with.
const BEGINS: &str = "WITH ";

/// How far the end of a clause is from its beginning, in tokens.
const NEAR: usize = 4_096;

/// SEARCH.
#[derive(Clone, Debug)]
pub struct Search {
    /// The rows that follow a row come right behind it.
    pub depth: bool,
    pub by: Vec<Ident>,
    pub set: Ident,
}

/// CYCLE.
#[derive(Clone, Debug)]
pub struct Cycle {
    pub columns: Vec<Ident>,
    pub mark: Ident,
    /// What the mark is where a row has been met before, and where it has not, if that is not true and false.
    pub values: Option<(Expr, Expr)>,
    pub path: Ident,
}

/// What stands behind a recursive query.
#[derive(Clone, Debug, Default)]
pub struct Clauses {
    pub search: Option<Search>,
    pub cycle: Option<Cycle>,
}

/// Puts the clauses of a statement in names.
pub(super) fn rewrite(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while at < tokens.len() {
        let from = next(&tokens, at + 1);
        if tokens[at].token == Token::RParen
            && let Some(end) = end_of(&tokens, from)
        {
            let texts = tokens[from..end].iter().map(|token| token.token.to_string());
            let value = format!("{BEGINS}{}", texts.collect::<String>());
            let span = tokens[from].span;
            let word = |value: String, quote_style: Option<char>, keyword: Keyword| {
                Token::Word(Word { value, quote_style, keyword })
            };
            let own = [
                Token::Whitespace(Whitespace::Space),
                word("FROM".to_owned(), None, Keyword::FROM),
                Token::Whitespace(Whitespace::Space),
                word(value, Some('"'), Keyword::NoKeyword),
            ];
            tokens.splice(from..end, own.map(|token| TokenWithSpan { token, span }));
        }
        at += 1;
    }
    tokens
}

/// Where the clauses end that begin at a token.
fn end_of(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    let mut end = from;
    if is(tokens, from, "SEARCH") {
        let first = next(tokens, from + 1);
        if !is(tokens, first, "DEPTH") && !is(tokens, first, "BREADTH") {
            return None;
        }
        let set = found(tokens, first, "SET")?;
        end = next(tokens, set + 1) + 1;
    }
    let cycle = next(tokens, end);
    if is(tokens, cycle, "CYCLE") {
        let set = found(tokens, cycle, "SET")?;
        let using = found(tokens, set, "USING")?;
        end = next(tokens, using + 1) + 1;
    }
    (end > from && end <= tokens.len()).then_some(end)
}

fn found(tokens: &[TokenWithSpan], from: usize, word: &str) -> Option<usize> {
    (from..tokens.len().min(from + NEAR)).find(|&at| is(tokens, at, word))
}

/// The text of the clauses that a name stands for.
pub(super) fn text_of(name: &str) -> Option<&str> {
    let text = name.strip_prefix(BEGINS)?;
    let first = text.split_whitespace().next()?;
    (first.eq_ignore_ascii_case("search") || first.eq_ignore_ascii_case("cycle")).then_some(text)
}

/// The clauses that a name stands for; `None` if there is a mistake in them.
pub fn clauses_of(name: &Ident) -> Option<Clauses> {
    let text = text_of(&name.value)?;
    let dialect = super::dialect::Bounded::new(text);
    let tokens = Tokenizer::new(&dialect, text).tokenize().ok()?;
    let mut parser = Parser::new(&dialect).with_tokens(tokens);
    clauses(&mut parser).ok().filter(|_| parser.peek_token_ref().token == Token::EOF)
}

fn accepts(parser: &mut Parser<'_>, wanted: &str) -> bool {
    let found = matches!(&parser.peek_token_ref().token,
        Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted));
    if found {
        parser.advance_token();
    }
    found
}

fn expect(parser: &mut Parser<'_>, wanted: &str) -> Result<(), ParserError> {
    if accepts(parser, wanted) {
        return Ok(());
    }
    let token = parser.peek_token();
    parser.expected(wanted, token)
}

fn clauses(parser: &mut Parser<'_>) -> Result<Clauses, ParserError> {
    let mut clauses = Clauses::default();
    if accepts(parser, "SEARCH") {
        let depth = accepts(parser, "DEPTH");
        if !depth {
            expect(parser, "BREADTH")?;
        }
        expect(parser, "FIRST")?;
        expect(parser, "BY")?;
        let by = parser.parse_comma_separated(Parser::parse_identifier)?;
        expect(parser, "SET")?;
        clauses.search = Some(Search { depth, by, set: parser.parse_identifier()? });
    }
    if accepts(parser, "CYCLE") {
        let columns = parser.parse_comma_separated(Parser::parse_identifier)?;
        expect(parser, "SET")?;
        let mark = parser.parse_identifier()?;
        let values = if accepts(parser, "TO") {
            let value = parser.parse_expr()?;
            expect(parser, "DEFAULT")?;
            Some((value, parser.parse_expr()?))
        } else {
            None
        };
        expect(parser, "USING")?;
        clauses.cycle = Some(Cycle { columns, mark, values, path: parser.parse_identifier()? });
    }
    Ok(clauses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_are_kept_in_a_name_and_come_back() {
        let text = "WITH RECURSIVE s AS (SELECT 1 AS n UNION ALL SELECT n FROM s) SEARCH DEPTH FIRST BY n SET o \
                    CYCLE n SET c TO 'Y' DEFAULT 'N' USING \"P\" SELECT * FROM s";
        let tree = crate::statement(text).unwrap();
        let again = crate::unmarked::unmarked(&tree.to_string());
        assert_eq!(again, text);
        let sqlparser::ast::Statement::Query(query) = tree else { panic!("no query") };
        let cte = query.with.unwrap().cte_tables.pop().unwrap();
        let clauses = clauses_of(&cte.from.unwrap()).unwrap();
        assert_eq!(clauses.search.unwrap().set.value, "o");
        assert_eq!(clauses.cycle.unwrap().path.value, "P");
    }

    #[test]
    fn what_is_no_clause_stays() {
        for text in ["select (1) search", "select (1) cycle", "select * from (select 1) search"] {
            assert!(crate::statement(text).is_ok(), "{text}");
        }
        assert!(crate::statement("with recursive s as (select 1) search nonsense select 1").is_err());
    }
}
