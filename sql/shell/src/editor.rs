//! SQL in the line editor: the ends of statements, and completions.

use crate::command::command;
use crate::names::Names;
use crate::statements::{open_quote, split};
use datafusion::config::Dialect as DialectName;
use datafusion::sql::sqlparser::dialect::{Dialect, GenericDialect, dialect_from_str};
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper, Result};

/// What the line editor asks.
pub(crate) struct SqlHelper {
    /// Names to complete.
    pub(crate) names: Names,
    /// The dialect of statements.
    pub(crate) dialect: DialectName,
    paths: FilenameCompleter,
}

impl SqlHelper {
    /// A helper that knows no names yet.
    pub(crate) fn new(dialect: DialectName) -> Self {
        Self { names: Names::default(), dialect, paths: FilenameCompleter::new() }
    }

    fn dialect(&self) -> Box<dyn Dialect> {
        dialect_from_str(self.dialect).unwrap_or_else(|| Box::new(GenericDialect {}))
    }

    /// Whether nothing is left open: text behind the last semicolon is.
    fn is_complete(&self, text: &str) -> bool {
        command(text).is_some() || split(text, self.dialect().as_ref()).rest.is_none()
    }

    /// Where the word or path that ends a text begins, and what may stand there.
    fn candidates(&self, text: &str) -> Result<(usize, Vec<Pair>)> {
        let pair = |name: String| Pair { display: name.clone(), replacement: name };
        let Some((quote, start)) = open_quote(text, self.dialect().as_ref()) else {
            let (start, names) = self.names.complete(text);
            return Ok((start, names.into_iter().map(pair).collect()));
        };
        let partial = format!("'{}", &text[start..]);
        let (_, mut paths) = self.paths.complete_path(&partial, partial.len())?;
        for path in &mut paths {
            if !path.replacement.ends_with(std::path::MAIN_SEPARATOR) {
                path.replacement.push(quote);
            }
        }
        Ok((start, paths))
    }
}

impl Completer for SqlHelper {
    type Candidate = Pair;

    fn complete(&self, line: &str, position: usize, _: &Context<'_>) -> Result<(usize, Vec<Pair>)> {
        self.candidates(&line[..position])
    }
}

impl Validator for SqlHelper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> Result<ValidationResult> {
        Ok(if self.is_complete(context.input()) { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

impl Hinter for SqlHelper {
    type Hint = String;
}

impl Highlighter for SqlHelper {}

impl Helper for SqlHelper {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_takes_lines_until_its_semicolon() {
        let helper = SqlHelper::new(DialectName::Generic);
        for complete in ["select 1;", "select 1;\n select ';' ; -- end", "", "\\d", "\\invalid", "exit"] {
            assert!(helper.is_complete(complete), "{complete}");
        }
        for open in ["select 1", "select ';", "select 1; select", "select 1 /* ;", "select 1 -- ;"] {
            assert!(!helper.is_complete(open), "{open}");
        }
    }

    #[test]
    fn paths_are_completed_within_quotes() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("users.ogive"), "").unwrap();
        std::fs::create_dir(folder.path().join("more")).unwrap();
        let helper = SqlHelper::new(DialectName::Generic);
        let completed = |name: &str| {
            let text = format!("select 'a' from '{}/{name}", folder.path().display());
            let (start, found) = helper.candidates(&text).unwrap();
            found.into_iter().map(|pair| format!("{}{}", &text[..start], pair.replacement)).collect::<Vec<_>>()
        };
        let path = folder.path().display();
        assert_eq!(completed("us"), [format!("select 'a' from '{path}/users.ogive'")]);
        assert_eq!(completed("mo"), [format!("select 'a' from '{path}/more/")]);
        assert_eq!(completed("absent"), Vec::<String>::new());
    }
}
