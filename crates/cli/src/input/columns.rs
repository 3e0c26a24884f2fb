//! Selection of columns by name or number.

use super::InputError;
use std::convert::Infallible;
use std::path::Path;
use std::str::FromStr;

/// A requested column: its name, or its number counted from 1. Names take precedence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column(pub(crate) String);

impl FromStr for Column {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

/// Position of a column among `names`, counted from 0.
///
/// # Errors
/// [`InputError::NoSuchColumn`] with the existing names.
pub(crate) fn find(path: &Path, names: &[String], column: &Column) -> Result<usize, InputError> {
    let by_number = || {
        let number = column.0.parse::<usize>().ok()?;
        (1..=names.len()).contains(&number).then(|| number - 1)
    };
    names.iter().position(|name| *name == column.0).or_else(by_number).ok_or_else(|| InputError::NoSuchColumn {
        path: path.to_owned(),
        column: column.0.clone(),
        available: names.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_found_by_name_then_by_number() {
        let names = ["id", "2", "name"].map(str::to_owned);
        let found = |text: &str| find(Path::new("f.csv"), &names, &Column(text.into()));
        assert_eq!(found("id").unwrap(), 0);
        assert_eq!(found("3").unwrap(), 2);
        assert_eq!(found("2").unwrap(), 1);
        for absent in ["0", "4", "ID", "", "-1"] {
            let error = found(absent).unwrap_err();
            let hint = error.hint().unwrap();
            assert!(error.to_string().contains("f.csv") && hint.contains("'id', '2', 'name'"), "{error} {hint}");
        }
    }
}
