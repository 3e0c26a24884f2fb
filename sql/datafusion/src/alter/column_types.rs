//! Types of columns of `ALTER TABLE`: those that DataFusion has for a type of SQL, and names of Ogive's types.

use datafusion::common::{DFSchema, plan_err};
use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::logical_expr::ExprSchemable;
use datafusion::sql::sqlparser::ast::{DataType, TimezoneInfo};
use ogive::types::{KeyType, TimeUnit};
use ogive_arrow::key_type_of;

/// The type of a column, as it is written in a statement.
///
/// # Errors
/// Types whose values are no cells of records.
pub(super) fn key_type(state: &SessionState, column: &str, written: &DataType) -> Result<KeyType> {
    let found = match own_type(written) {
        Some(own) => Some(own),
        None => key_type_of_sql(state, written),
    };
    match found {
        Some(found) => Ok(found),
        None => plan_err!(
            "the column '{column}' cannot be of type {written}; take a type such as BIGINT, DECIMAL(8,2), DOUBLE, \
             TEXT, BYTEA, BOOLEAN, DATE, TIME(6) or TIMESTAMP(6), or one of Ogive's, such as u64"
        ),
    }
}

/// A type that DataFusion has no name for in SQL.
fn own_type(written: &DataType) -> Option<KeyType> {
    match written {
        DataType::Custom(..) | DataType::Uuid | DataType::Bytes(None) => {
            written.to_string().to_lowercase().parse().ok()
        }
        DataType::Time(Some(digits), TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            let unit = match digits {
                0 => TimeUnit::Second,
                3 => TimeUnit::Millisecond,
                6 => TimeUnit::Microsecond,
                9 => TimeUnit::Nanosecond,
                _ => return None,
            };
            Some(KeyType::Time(unit))
        }
        _ => None,
    }
}

/// The type of the values of a type of SQL, as `copy` stores them.
fn key_type_of_sql(state: &SessionState, written: &DataType) -> Option<KeyType> {
    let schema = DFSchema::empty();
    let null = state.create_logical_expr(&format!("cast(null as {written})"), &schema).ok()?;
    key_type_of(&null.get_type(&schema).ok()?, false)
}
