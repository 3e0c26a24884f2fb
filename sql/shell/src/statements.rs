//! Statements of a text, split at semicolons by the tokens of SQL, so that quotes and comments are respected.

use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer, TokenizerError};

/// A statement without its semicolon, and where it begins; lines and columns count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    /// The statement, without comments before it.
    pub(crate) text: &'a str,
    /// Line of its first letter.
    pub(crate) line: u64,
    /// Column of its first letter.
    pub(crate) column: u64,
}

/// The statements of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Split<'a> {
    /// Those that a semicolon ends.
    pub(crate) ended: Vec<Piece<'a>>,
    /// The text after the last semicolon, unless it is empty or a comment.
    pub(crate) rest: Option<Piece<'a>>,
}

impl<'a> Split<'a> {
    /// All statements.
    pub(crate) fn all(self) -> impl Iterator<Item = Piece<'a>> {
        self.ended.into_iter().chain(self.rest)
    }
}

impl Piece<'_> {
    /// As much white space as stands before the statement in its text: a parser then counts the same lines and columns.
    pub(crate) fn padding(&self) -> String {
        let repeated = |text: &str, count: u64| text.repeat(usize::try_from(count.saturating_sub(1)).unwrap_or(0));
        repeated("\n", self.line) + &repeated(" ", self.column)
    }
}

/// Splits a text. A quote or a comment that is not closed reaches to the end of the text.
pub(crate) fn split<'a>(text: &'a str, dialect: &dyn Dialect) -> Split<'a> {
    let (tokens, _) = tokens(text, dialect);
    let mut places = Places::new(text);
    let mut split = Split::default();
    let mut begin: Option<(usize, Location)> = None;
    for token in &tokens {
        let at = places.offset(token.span.start);
        match &token.token {
            Token::SemiColon => {
                let piece = begin.take().map(|(from, place)| piece(&text[from..at], place));
                split.ended.extend(piece);
            }
            Token::Whitespace(_) | Token::EOF => {}
            _ if begin.is_none() => begin = Some((at, token.span.start)),
            _ => {}
        }
    }
    // What the tokenizer could not read, such as an open quote, follows the last token.
    let end = tokens.last().map_or(Location { line: 1, column: 1 }, |token| token.span.end);
    let unread = places.offset(end);
    if begin.is_none() && !text[unread..].trim().is_empty() {
        begin = Some((unread, end));
    }
    split.rest = begin.map(|(from, place)| piece(text[from..].trim_end(), place));
    split
}

/// The quote in which a text ends, and the offset behind it.
pub(crate) fn open_quote(text: &str, dialect: &dyn Dialect) -> Option<(char, usize)> {
    let (_, error) = tokens(text, dialect);
    let at = Places::new(text).offset(error?.location);
    let quote = text[at..].chars().next().filter(|quote| matches!(quote, '\'' | '"' | '`'))?;
    Some((quote, at + quote.len_utf8()))
}

/// The tokens before the first error, and the error.
fn tokens(text: &str, dialect: &dyn Dialect) -> (Vec<TokenWithSpan>, Option<TokenizerError>) {
    let mut tokens = Vec::new();
    let read = Tokenizer::new(dialect, text).tokenize_with_location_into_buf(&mut tokens);
    (tokens, read.err())
}

fn piece(text: &str, place: Location) -> Piece<'_> {
    Piece { text: text.trim_end(), line: place.line, column: place.column }
}

/// Offsets in bytes of lines and columns, which are asked for in ascending order.
struct Places<'a> {
    letters: std::str::CharIndices<'a>,
    line: u64,
    column: u64,
}

impl<'a> Places<'a> {
    fn new(text: &'a str) -> Self {
        Self { letters: text.char_indices(), line: 1, column: 1 }
    }

    fn offset(&mut self, place: Location) -> usize {
        while (self.line, self.column) < (place.line, place.column) {
            match self.letters.next() {
                Some((_, '\n')) => (self.line, self.column) = (self.line + 1, 1),
                Some(_) => self.column += 1,
                None => break,
            }
        }
        self.letters.offset()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::GenericDialect;

    fn texts(text: &str) -> (Vec<&str>, Option<&str>) {
        let split = split(text, &GenericDialect {});
        (split.ended.iter().map(|piece| piece.text).collect(), split.rest.map(|piece| piece.text))
    }

    #[test]
    fn semicolons_end_statements_outside_of_quotes_and_comments() {
        let text = "select ';' ; select \"a;b\", 'it''s;';; -- c; d\nselect /* ; /* ; */ */ 1;\n$$;$$";
        let ended = vec!["select ';'", "select \"a;b\", 'it''s;'", "select /* ; /* ; */ */ 1"];
        assert_eq!(texts(text), (ended, Some("$$;$$")));
    }

    #[test]
    fn white_space_and_comments_are_no_statements() {
        assert_eq!(texts(" \n-- one;\n/* two; */ ; ;"), (vec![], None));
        assert_eq!(texts("-- one\nselect 1 -- two\n; -- three"), (vec!["select 1 -- two"], None));
    }

    #[test]
    fn a_quote_or_comment_that_is_not_closed_is_the_rest() {
        for open in ["'", "\"a", "select 'x; y", "select 1 /* ;", "e'it\\'s; ", "$$ ; "] {
            let text = format!("select 1; {open}");
            assert_eq!(texts(&text), (vec!["select 1"], Some(open.trim_end())), "{open}");
        }
    }

    #[test]
    fn places_count_letters_and_the_padding_repeats_them() {
        let text = "select 'é';\n\n   selec 1";
        let rest = split(text, &GenericDialect {}).rest.unwrap();
        assert_eq!((rest.line, rest.column), (3, 4));
        assert_eq!(rest.padding(), "\n\n   ");
    }

    #[test]
    fn the_quote_in_which_a_text_ends_is_found() {
        let at = |text: &str| open_quote(text, &GenericDialect {});
        assert_eq!(at("select 'a' from 'us"), Some(('\'', 17)));
        assert_eq!(at("select \"é"), Some(('"', 8)));
        assert_eq!(at("select 'a''b'"), None);
        assert_eq!(at("select 1 /* 'a"), None);
        assert_eq!(at("-- it's\nselect"), None);
    }
}
