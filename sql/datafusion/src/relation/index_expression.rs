//! Expressions by which an index is, as SQL writes them: conditions on one become conditions on a column that only the
//! index has.
//!
//! This is done only where the function of SQL has the same value as the index for every value of the column:
//!
//! * `left(c, n)` and `substr(c, 1, n)` are `prefix(c, n)`.
//! * `cast(c as date)` is `date(c)` for nanoseconds. A coarser unit has times beyond the years of SQL's dates, for
//!   which the cast is an error.
//! * `lower(c)` of SQL is that of Unicode, and that of an index changes the letters of ASCII alone. They are equal to
//!   the same text of ASCII, but for the sign of kelvin, the only other letter whose small letter is one of ASCII.

use arrow_schema::{DataType, TimeUnit};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::expr::{Cast, InList, ScalarFunction};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, lit};
use ogive::types::IndexExpression;
use std::borrow::Cow;

/// The sign of kelvin, whose small letter is `k`.
const KELVIN: char = '\u{212A}';
/// Most letters `k` of a text that is compared with `lower(c)`: each doubles the values of the index that are equal.
const KELVINS_MAX: usize = 4;

/// An expression of an index, and the name of the column that only the index has.
#[derive(Clone, Debug)]
pub(super) struct IndexedExpression {
    of: String,
    expression: IndexExpression,
    name: String,
}

impl IndexedExpression {
    /// An expression of a column of this type, and the type of its values; `None` if SQL has no equal one.
    pub(super) fn new(of: &str, expression: IndexExpression, data_type: &DataType) -> Option<(Self, DataType)> {
        let is_text = matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
        let values = match (expression, data_type) {
            (IndexExpression::Lower | IndexExpression::Prefix(_), _) if is_text => data_type.clone(),
            (IndexExpression::Date, DataType::Timestamp(TimeUnit::Nanosecond, None)) => DataType::Date32,
            _ => return None,
        };
        // No column has such a name.
        let name = format!("\0{expression:?} of {of}");
        Some((Self { of: of.to_owned(), expression, name }, values))
    }

    /// The name of the column that has its values.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The column that it is of. It is null where that is.
    pub(super) fn of(&self) -> &str {
        &self.of
    }

    fn column(&self) -> Expr {
        Expr::Column(Column::new_unqualified(&self.name))
    }

    fn is_column(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Column(Column { name, .. }) if *name == self.of)
    }

    /// The same for a part of a condition; `None` if it is not about the expression.
    fn replaced(&self, part: &Expr) -> Option<Expr> {
        match (self.expression, part) {
            (IndexExpression::Prefix(count), Expr::ScalarFunction(ScalarFunction { func, args })) => {
                let is_count = |arg: &Expr| integer(arg).is_some_and(|given| u64::try_from(given) == Ok(count));
                let is_prefix = match (func.name(), &args[..]) {
                    ("left", [of, given]) => self.is_column(of) && is_count(given),
                    ("substr", [of, first, given]) => {
                        self.is_column(of) && integer(first) == Some(1) && is_count(given)
                    }
                    _ => false,
                };
                is_prefix.then(|| self.column())
            }
            (IndexExpression::Date, Expr::Cast(Cast { expr, field })) => {
                (self.is_column(expr) && *field.data_type() == DataType::Date32).then(|| self.column())
            }
            (IndexExpression::Lower, Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right })) => {
                match (self.is_lower(left), self.is_lower(right)) {
                    (true, false) => self.equal_to(std::iter::once(&**right)),
                    (false, true) => self.equal_to(std::iter::once(&**left)),
                    _ => None,
                }
            }
            (IndexExpression::Lower, Expr::InList(InList { expr, list, negated: false })) => {
                self.is_lower(expr).then(|| self.equal_to(list.iter())).flatten()
            }
            _ => None,
        }
    }

    fn is_lower(&self, expr: &Expr) -> bool {
        let Expr::ScalarFunction(ScalarFunction { func, args }) = expr else { return false };
        func.name() == "lower" && matches!(&args[..], [of] if self.is_column(of))
    }

    /// That the value of the index is one of those whose row has one of these texts in small letters.
    fn equal_to<'e>(&self, texts: impl Iterator<Item = &'e Expr>) -> Option<Expr> {
        let mut values = Vec::new();
        for text in texts {
            let Expr::Literal(value, _) = text else { return None };
            let Some(text) = value.try_as_str()? else { continue };
            let like_text = |text: String| match value {
                ScalarValue::LargeUtf8(_) => ScalarValue::LargeUtf8(Some(text)),
                ScalarValue::Utf8View(_) => ScalarValue::Utf8View(Some(text)),
                _ => ScalarValue::Utf8(Some(text)),
            };
            values.extend(with_kelvins(text)?.into_iter().map(|text| lit(like_text(text))));
        }
        Some(Expr::InList(InList { expr: Box::new(self.column()), list: values, negated: false }))
    }
}

/// The texts with small letters for those of ASCII whose small letters of Unicode are this text; `None` if there are
/// too many, or it has others than those of ASCII.
fn with_kelvins(text: &str) -> Option<Vec<String>> {
    if !text.is_ascii() || text.matches('k').count() > KELVINS_MAX {
        return None;
    }
    if text.contains(|c: char| c.is_ascii_uppercase()) {
        return Some(Vec::new());
    }
    let mut texts = vec![String::new()];
    for letter in text.chars() {
        let others = if letter == 'k' { texts.clone() } else { Vec::new() };
        texts.iter_mut().for_each(|text| text.push(letter));
        texts.extend(others.into_iter().map(|text| text + KELVIN.encode_utf8(&mut [0; 4])));
    }
    Some(texts)
}

fn integer(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Literal(ScalarValue::Int64(number), _) => *number,
        _ => None,
    }
}

/// A condition, with what it says of these expressions as conditions on their columns.
pub(super) fn on_columns<'c>(expressions: &[IndexedExpression], condition: &'c Expr) -> Cow<'c, Expr> {
    if expressions.is_empty() {
        return Cow::Borrowed(condition);
    }
    let replaced = condition.clone().transform_down(|part| {
        let found = expressions.iter().find_map(|expression| expression.replaced(&part));
        Ok(found.map_or_else(|| Transformed::no(part), Transformed::yes))
    });
    // A tree that cannot be rewritten says nothing of them.
    replaced.map_or(Cow::Borrowed(condition), |replaced| Cow::Owned(replaced.data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_of_kelvin_alone_becomes_a_letter_of_ascii() {
        for letter in '\u{80}'..=char::MAX {
            let lower: String = letter.to_lowercase().collect();
            assert_eq!(lower.is_ascii(), letter == KELVIN, "{letter:?}");
        }
        assert_eq!(KELVIN.to_lowercase().to_string(), "k");
    }

    #[test]
    fn texts_with_the_same_small_letters_are_found_by_their_values_in_an_index() {
        let letters = ['k', 'K', KELVIN, 'a', 'A', 'é', 'É', 'İ', 'Σ'];
        let texts = (0..letters.len().pow(3)).map(|number| {
            let places = [number % 9, number / 9 % 9, number / 81];
            places.iter().map(|place| letters[*place]).collect::<String>()
        });
        let texts: Vec<String> = texts.collect();
        for wanted in ["kkk", "kak", "aaa", "kAk"] {
            let values = with_kelvins(wanted).unwrap();
            for text in &texts {
                let is_found = values.contains(&text.to_ascii_lowercase());
                assert_eq!(is_found, text.to_lowercase() == wanted, "{text} as {wanted}");
            }
        }
        assert_eq!((with_kelvins("é"), with_kelvins("kkkkk")), (None, None));
    }
}
