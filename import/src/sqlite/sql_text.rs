//! The parts of a statement `CREATE INDEX` that SQLite does not list: expressions and the condition.

use std::iter::Peekable;
use std::str::Chars;

/// A word, name or sign of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A word or number without quotes.
    Word(String),
    /// A name in quotes.
    Name(String),
    /// A text in single quotes.
    Text,
    /// Anything else.
    Sign(char),
}

impl Token {
    fn is_word(&self, word: &str) -> bool {
        matches!(self, Self::Word(found) if found.eq_ignore_ascii_case(word))
    }

    /// The name that it may be.
    fn name(&self) -> Option<&str> {
        match self {
            Self::Word(name) | Self::Name(name) => Some(name),
            Self::Text | Self::Sign(_) => None,
        }
    }
}

/// The parts of a statement `CREATE INDEX`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct IndexText {
    /// What it is by, in order.
    pub(super) terms: Vec<Vec<Token>>,
    /// What follows `WHERE`.
    pub(super) condition: Vec<Token>,
}

impl IndexText {
    /// The parts of a statement; what cannot be read is empty.
    pub(super) fn of(statement: &str) -> Self {
        let mut text = Self::default();
        let mut tokens = tokens(statement).into_iter().skip_while(|token| *token != Token::Sign('(')).skip(1);
        let (mut depth, mut term) = (0_u32, Vec::new());
        for token in tokens.by_ref() {
            match token {
                Token::Sign(')') if depth == 0 => break,
                Token::Sign(',') if depth == 0 => text.terms.push(std::mem::take(&mut term)),
                token => {
                    match token {
                        Token::Sign('(') => depth += 1,
                        Token::Sign(')') => depth -= 1,
                        _ => {}
                    }
                    term.push(token);
                }
            }
        }
        text.terms.push(term);
        let mut rest = tokens.skip_while(|token| !token.is_word("where"));
        if rest.next().is_some() {
            text.condition = rest.filter(|token| *token != Token::Sign(';')).collect();
        }
        text
    }

    /// The column of the term `lower(COLUMN)` at a place.
    pub(super) fn lower_of(&self, place: usize) -> Option<&str> {
        match &self.terms.get(place)?[..] {
            [function, Token::Sign('('), column, Token::Sign(')'), order @ ..] => {
                let is_order = |token: &Token| token.is_word("asc") || token.is_word("desc");
                let is_lower = function.is_word("lower") && order.iter().all(is_order);
                column.name().filter(|_| is_lower)
            }
            _ => None,
        }
    }

    /// The column of the condition `COLUMN IS NOT NULL`.
    pub(super) fn not_null(&self) -> Option<&str> {
        let mut condition = &self.condition[..];
        while let [Token::Sign('('), inner @ .., Token::Sign(')')] = condition {
            condition = inner;
        }
        match condition {
            [column, is, not, null] if is.is_word("is") && not.is_word("not") && null.is_word("null") => column.name(),
            [column, notnull] if notnull.is_word("notnull") => column.name(),
            [column, not, null] if not.is_word("not") && null.is_word("null") => column.name(),
            _ => None,
        }
    }
}

fn tokens(statement: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = statement.chars().peekable();
    while let Some(first) = rest.next() {
        match first {
            _ if first.is_whitespace() => {}
            '-' if rest.peek() == Some(&'-') => drop(rest.find(|&c| c == '\n')),
            '/' if rest.peek() == Some(&'*') => skip_comment(&mut rest),
            '"' | '`' => tokens.push(Token::Name(until(&mut rest, first))),
            '[' => tokens.push(Token::Name(rest.by_ref().take_while(|&c| c != ']').collect())),
            '\'' => {
                _ = until(&mut rest, first);
                tokens.push(Token::Text);
            }
            _ if is_of_word(first) => {
                let mut word = String::from(first);
                while let Some(next) = rest.next_if(|&c| is_of_word(c)) {
                    word.push(next);
                }
                tokens.push(Token::Word(word));
            }
            sign => tokens.push(Token::Sign(sign)),
        }
    }
    tokens
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$' || !c.is_ascii()
}

fn skip_comment(rest: &mut Peekable<Chars<'_>>) {
    let mut previous = ' ';
    rest.next();
    for c in rest.by_ref() {
        if (previous, c) == ('*', '/') {
            return;
        }
        previous = c;
    }
}

/// The characters before a quote, which is doubled within.
fn until(rest: &mut Peekable<Chars<'_>>, quote: char) -> String {
    let mut inner = String::new();
    while let Some(c) = rest.next() {
        if c == quote && rest.next_if_eq(&quote).is_none() {
            break;
        }
        inner.push(c);
    }
    inner
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_and_conditions_are_found() {
        let text = IndexText::of(
            "CREATE UNIQUE INDEX \"by (a\" ON t(lower(\"e,\"\"mail\") DESC, /* ) */ [b c], abs(x)) -- ,\n \
             WHERE (b IS NOT NULL);",
        );
        assert_eq!(text.terms.len(), 3);
        assert_eq!((text.lower_of(0), text.lower_of(1), text.lower_of(2)), (Some("e,\"mail"), None, None));
        assert_eq!(text.not_null(), Some("b"));
        assert_eq!(IndexText::of("create index i on t(a) where a > 5").not_null(), None);
        assert_eq!(IndexText::of("create index i on t(a) where 'a' is not null").not_null(), None);
        assert_eq!(IndexText::of("create index i on t(a) where a notnull").not_null(), Some("a"));
        let whole = IndexText::of("create index i on t(a)");
        assert!(whole.condition.is_empty() && whole.terms.len() == 1);
        for cut in ["", "(", "create index i on t(lower(", "create index \"", "/*"] {
            assert_eq!(IndexText::of(cut).not_null(), None);
        }
    }
}
