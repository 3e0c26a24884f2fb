//! Parsing of statements, with the right operand of `IS [NOT] DISTINCT FROM` as in the SQL standard.

use crate::exact_numbers::keep_digits;
use datafusion::error::{DataFusionError, Result};
use datafusion::sql::parser::{CopyToSource, CopyToStatement, DFParserBuilder, ExplainStatement, Statement};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Value, Visit, VisitMut, visit_expressions, visit_expressions_mut,
};
use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use std::collections::VecDeque;
use std::fmt::Display;
use std::ops::ControlFlow;

/// Parses statements as DataFusion does, except for `a IS NOT DISTINCT FROM b AND c`, which is the conjunction of `a IS
/// NOT DISTINCT FROM b` and `c`: the parser of DataFusion 55 takes all that follows for one operand.
///
/// Such a statement is parsed again with the parentheses that it means. Fractions of more than fifteen digits that are
/// compared are decimal numbers: as floats they would lose some.
///
/// ```
/// use datafusion::sql::sqlparser::dialect::GenericDialect;
///
/// let parsed = ogive_datafusion::parse_statements("select a is distinct from b and c", &GenericDialect {})?;
/// assert_eq!(parsed[0].to_string(), "SELECT (a IS DISTINCT FROM b) AND c");
/// # Ok::<(), datafusion::error::DataFusionError>(())
/// ```
///
/// # Errors
/// Those of the parser; a statement of this kind that cannot be written down again is to be given parentheses.
pub fn parse_statements(text: &str, dialect: &dyn Dialect) -> Result<VecDeque<Statement>> {
    let mut statements = DFParserBuilder::new(text).with_dialect(dialect).build()?.parse_statements()?;
    for statement in &mut statements {
        with_parentheses(statement, dialect)?;
        with_digits(statement);
    }
    Ok(statements)
}

fn with_digits(statement: &mut Statement) {
    match statement {
        Statement::Explain(ExplainStatement { statement, .. }) => with_digits(statement),
        Statement::Statement(of) => keep_digits(of.as_mut()),
        Statement::CopyTo(CopyToStatement { source: CopyToSource::Query(query), .. }) => keep_digits(query.as_mut()),
        _ => {}
    }
}

fn with_parentheses(statement: &mut Statement, dialect: &dyn Dialect) -> Result<()> {
    let parser = |text: &str| Parser::new(dialect).try_with_sql(text);
    match statement {
        Statement::Explain(ExplainStatement { statement, .. }) => with_parentheses(statement, dialect),
        Statement::Statement(of) => repair(of.as_mut(), |text| parser(text)?.parse_statement()),
        Statement::CopyTo(CopyToStatement { source: CopyToSource::Query(query), .. }) => {
            repair(query.as_mut(), |text| parser(text)?.parse_query().map(|query| *query))
        }
        _ => Ok(()),
    }
}

/// Puts parentheses around each `IS [NOT] DISTINCT FROM` that has taken too much, and parses the text again: what is
/// before it may bind stronger than what it had taken.
fn repair<T>(parsed: &mut T, parse: impl Fn(&str) -> Result<T, ParserError>) -> Result<()>
where
    T: Visit + VisitMut + Display + PartialEq,
{
    let is_wrong = |parsed: &T| {
        visit_expressions(parsed, |expr| match operand(expr) {
            Some(right) if is_logical(right) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        })
        .is_break()
    };
    if !is_wrong(parsed) {
        return Ok(());
    }
    let is_faithful = parse(&parsed.to_string()).is_ok_and(|again| again == *parsed);
    _ = visit_expressions_mut(parsed, |expr| {
        narrow(expr);
        ControlFlow::<()>::Continue(())
    });
    match parse(&parsed.to_string()) {
        Ok(repaired) if is_faithful && !is_wrong(&repaired) => {
            *parsed = repaired;
            Ok(())
        }
        _ => {
            let message = "AND, OR or XOR follows IS [NOT] DISTINCT FROM without parentheses; write (a IS DISTINCT \
                           FROM b) AND c";
            Err(DataFusionError::Plan(message.to_owned()))
        }
    }
}

/// The right operand of `IS [NOT] DISTINCT FROM`.
fn operand(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right) => Some(right),
        _ => None,
    }
}

/// Whether an expression binds weaker than `IS`. One in parentheses is [`Expr::Nested`].
fn is_logical(expr: &Expr) -> bool {
    matches!(expr, Expr::BinaryOp { op: BinaryOperator::And | BinaryOperator::Or | BinaryOperator::Xor, .. })
}

/// Makes `a IS DISTINCT FROM b AND c`, with `b AND c` as its operand, `(a IS DISTINCT FROM b) AND c`.
fn narrow(expr: &mut Expr) {
    let nothing = || Box::new(Expr::value(Value::Null));
    let (Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right)) = expr else { return };
    if !is_logical(right) {
        return;
    }
    let mut all = std::mem::replace(right, nothing());
    let first = leftmost(&mut all);
    std::mem::swap(right.as_mut(), first);
    let comparison = std::mem::replace(expr, *nothing());
    *leftmost(&mut all) = Expr::Nested(Box::new(comparison));
    *expr = *all;
}

/// The first operand of `AND`, `OR` and `XOR`.
fn leftmost(expr: &mut Expr) -> &mut Expr {
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or | BinaryOperator::Xor, .. } => {
            leftmost(left)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::{DuckDbDialect, GenericDialect, MySqlDialect, PostgreSqlDialect};

    /// The text of a statement in which each operator has parentheses.
    fn grouped(text: &str, dialect: &dyn Dialect) -> String {
        let mut statement = parse_statements(text, dialect).unwrap().pop_front().unwrap();
        let Statement::Statement(parsed) = &mut statement else { return statement.to_string() };
        _ = visit_expressions_mut(parsed.as_mut(), |expr| {
            if let Expr::Nested(inner) = expr {
                *expr = std::mem::replace(inner.as_mut(), Expr::value(Value::Null));
            }
            if !matches!(expr, Expr::Identifier(_) | Expr::Value(_) | Expr::Nested(_)) {
                let bare = std::mem::replace(expr, Expr::value(Value::Null));
                *expr = Expr::Nested(Box::new(bare));
            }
            ControlFlow::<()>::Continue(())
        });
        statement.to_string()
    }

    #[test]
    fn what_follows_a_comparison_is_not_part_of_its_operand() {
        let cases = [
            ("a is not distinct from b and c", "((a IS NOT DISTINCT FROM b) AND c)"),
            ("a is distinct from b or c and d", "((a IS DISTINCT FROM b) OR (c AND d))"),
            ("x and a is distinct from b or c", "((x AND (a IS DISTINCT FROM b)) OR c)"),
            ("not a is distinct from b and c", "((NOT (a IS DISTINCT FROM b)) AND c)"),
            ("a is distinct from not b and c", "((a IS DISTINCT FROM (NOT b)) AND c)"),
            ("a is distinct from b = c and d", "((a IS DISTINCT FROM (b = c)) AND d)"),
            ("a is distinct from b between 1 and 2 and c", "((a IS DISTINCT FROM (b BETWEEN 1 AND 2)) AND c)"),
            (
                "a is distinct from b and c is not distinct from d or e",
                "(((a IS DISTINCT FROM b) AND (c IS NOT DISTINCT \
              FROM d)) OR e)",
            ),
            (
                "case when a is distinct from b and c then 1 end",
                "(CASE WHEN ((a IS DISTINCT FROM b) AND c) THEN 1 END)",
            ),
            ("a is distinct from (b and c)", "(a IS DISTINCT FROM (b AND c))"),
            ("a is distinct from b + 1 and c", "((a IS DISTINCT FROM (b + 1)) AND c)"),
        ];
        let dialects: [&dyn Dialect; 4] =
            [&GenericDialect {}, &DuckDbDialect {}, &MySqlDialect {}, &PostgreSqlDialect {}];
        for (text, expected) in cases {
            for dialect in dialects {
                let select = grouped(&format!("select {text}"), dialect);
                assert_eq!(select, format!("SELECT {expected}"), "{text}, {dialect:?}");
            }
        }
    }

    #[test]
    fn long_fractions_that_are_compared_keep_their_digits() {
        let shown = |text: &str| parse_statements(text, &GenericDialect {}).unwrap()[0].to_string();
        let long = "123456789012345678.901";
        let decimal = |sign: &str| format!("CAST('{sign}{long}' AS DECIMAL(21,3))");
        for (text, expected) in [
            (format!("select a = {long}"), format!("SELECT a = {}", decimal(""))),
            (format!("select a in (1, -{long})"), format!("SELECT a IN (1, {})", decimal("-"))),
            (
                format!("explain select a from t where a between {long} and 1.5"),
                format!("EXPLAIN SELECT a FROM t WHERE a BETWEEN {} AND 1.5", decimal("")),
            ),
            (format!("select {long} + a, f({long})"), format!("SELECT {long} + a, f({long})")),
            ("select a = 12345678901234567e3".to_owned(), "SELECT a = 12345678901234567e3".to_owned()),
            ("select a = 0000000000000000.5".to_owned(), "SELECT a = 0000000000000000.5".to_owned()),
        ] {
            assert_eq!(shown(&text), expected, "{text}");
        }
    }

    #[test]
    fn statements_of_any_kind_are_repaired() {
        let condition = "a is distinct from b and c";
        let query = format!("select 'it''s' from t where {condition}");
        for text in [
            format!("explain {query}"),
            format!("copy ({query}) to 'x.ogive' stored as ogive"),
            format!("create view v as {query}"),
            format!("insert into u {query}"),
            format!("with w as ({query}) select * from w join t on ({condition})"),
            format!("select * from (select (select max(a) from t where {condition}) from t) order by 1 limit 3"),
        ] {
            let parsed = parse_statements(&text, &GenericDialect {}).unwrap();
            let shown = parsed[0].to_string();
            let found = shown.matches("(a IS DISTINCT FROM b) AND c").count();
            assert_eq!(found, text.matches(condition).count(), "{shown}");
        }
        let two = parse_statements(&format!("select 1; {query}"), &GenericDialect {}).unwrap();
        assert_eq!(two.len(), 2);
    }
}
