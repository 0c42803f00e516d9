//! `JOIN b USING (x, y) AS j`: the parser knows no name of the columns that USING makes. It becomes
//! `USING (x, y, ""."ALIAS"."j")`.

use super::fetch::{is, next};
use super::marked::{self, ALIAS};
use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// Puts the names of joins among the columns of USING.
pub(super) fn rewrite(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while at < tokens.len() {
        if is(&tokens, at, &[Keyword::USING])
            && let Some((close, name)) = named(&tokens, at)
        {
            let alias = tokens[name].token.clone();
            for token in &mut tokens[close + 1..=name] {
                token.token = Token::Whitespace(Whitespace::Space);
            }
            let span = tokens[close].span;
            let own = std::iter::once(Token::Comma).chain(marked::mark(ALIAS)).chain([Token::Period, alias]);
            tokens.splice(close..close, own.map(|token| TokenWithSpan { token, span }));
        }
        at += 1;
    }
    tokens
}

/// Where the columns of a USING end, and where the name is behind AS.
fn named(tokens: &[TokenWithSpan], using: usize) -> Option<(usize, usize)> {
    let open = next(tokens, using + 1);
    if tokens.get(open)?.token != Token::LParen {
        return None;
    }
    let list =
        |token: &TokenWithSpan| matches!(token.token, Token::Word(_) | Token::Comma | Token::Whitespace(_));
    let close = open + 1 + tokens[open + 1..].iter().take_while(|token| list(token)).count();
    if tokens.get(close)?.token != Token::RParen {
        return None;
    }
    // the query of DELETE .. USING (SELECT a) AS q
    let first = next(tokens, open + 1);
    let begins_query = is(tokens, first, &[Keyword::SELECT, Keyword::TABLE, Keyword::VALUES, Keyword::WITH]);
    let word = next(tokens, close + 1);
    let name = next(tokens, word + 1);
    let is_word = matches!(tokens.get(name)?.token, Token::Word(_));
    (is(tokens, word, &[Keyword::AS]) && is_word && !begins_query).then_some((close, name))
}

/// The name of a join, by what stands for it among the columns of USING.
pub fn alias_of(name: &ObjectName) -> Option<&Ident> {
    match &name.0[..] {
        [
            ObjectNamePart::Identifier(none),
            ObjectNamePart::Identifier(mark),
            ObjectNamePart::Identifier(alias),
        ] if none.value.is_empty() && mark.value == ALIAS => Some(alias),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_name_of_a_join_is_among_its_columns_and_comes_back() {
        let text = "SELECT j.x FROM a JOIN b USING (x, y) AS j JOIN c USING (z)";
        let tree = crate::statement(text).unwrap().to_string();
        assert_eq!(tree, "SELECT j.x FROM a JOIN b USING(x, y, \"\".\"ALIAS\".j) JOIN c USING(z)");
        let again = "SELECT j.x FROM a JOIN b USING(x, y) AS j JOIN c USING(z)";
        assert_eq!(crate::unmarked::unmarked(&tree), again);
    }
}
