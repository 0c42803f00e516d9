//! `ORDER BY x USING <`, which the parser does not know: it is ASC, and `USING >` is DESC.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// Puts the directions of a statement in the parser's form.
pub(super) fn rewrite(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut using = None;
    for at in 0..tokens.len() {
        let direction = match &tokens[at].token {
            Token::Whitespace(_) => continue,
            Token::Word(word) if word.quote_style.is_none() && word.keyword == Keyword::USING => {
                using = Some(at);
                continue;
            }
            Token::Lt => Some(("ASC", Keyword::ASC)),
            Token::Gt => Some(("DESC", Keyword::DESC)),
            _ => None,
        };
        // nothing else has an operator behind this word
        if let (Some((value, keyword)), Some(using)) = (direction, using) {
            let word = Word { value: value.to_owned(), quote_style: None, keyword };
            tokens[using].token = Token::Word(word);
            tokens[at].token = Token::Whitespace(sqlparser::tokenizer::Whitespace::Space);
        }
        using = None;
    }
    tokens
}
