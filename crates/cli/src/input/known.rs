//! Columns that are known before an input is read: their types if given, and those of records that it is added to.

use super::columns::Column;
use crate::failure::Result;
use ogive::KeyType;
use ogive::types::{ColumnPlace, Field, RecordType, RowType, ValueType};
use std::str::FromStr;

/// The type of one column as given: `name=type`, with a question mark for one that may be null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ColumnType {
    pub(crate) column: Column,
    pub(super) key_type: KeyType,
    pub(super) nullable: bool,
}

impl FromStr for ColumnType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (column, name) = text.rsplit_once('=').ok_or("write it as COL=TYPE, such as 'price=decimal(8,2)'")?;
        let (name, nullable) = name.trim().strip_suffix('?').map_or((name, false), |name| (name, true));
        let key_type: KeyType = name.parse().map_err(|error: ogive::Error| crate::advice::told(&error))?;
        if matches!(key_type, KeyType::Tuple(_)) {
            return Err("a column cannot be a tuple".to_owned());
        }
        Ok(Self { column: Column(column.trim().to_owned()), key_type, nullable })
    }
}

impl ColumnType {
    /// The type of the column.
    #[cfg(feature = "parquet")]
    pub(crate) fn key_type(&self) -> KeyType {
        self.key_type
    }
}

/// What may hold rows that records are added to.
pub(crate) const KEYSPACE: &str = "keyspace";
pub(crate) const INDEX: &str = "index";

/// The columns that the records of an input are added to. They are found by their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownColumns {
    /// The names of all columns in their order.
    pub(super) names: Vec<String>,
    /// The names of the columns of the key.
    pub(super) keys: Vec<String>,
    /// Whether the columns of the key have names of their own, which an input must have.
    pub(super) are_keys_named: bool,
    /// The columns of the values, with the names of their columns; none of scalars.
    pub(super) fields: Vec<(String, Field)>,
    /// What holds the records: a keyspace or an index.
    pub(super) holder: &'static str,
    /// Whether other columns are added to them.
    pub(super) grows: bool,
    pub(super) is_row: bool,
}

impl KnownColumns {
    /// The columns of records.
    pub(crate) fn of(types: &RecordType, holder: &'static str, grows: bool) -> Self {
        let columns = types.columns();
        let mut keys: Vec<(usize, String)> = Vec::new();
        let mut fields = Vec::new();
        for column in &columns {
            match (column.place, &types.values) {
                (ColumnPlace::Key(component), _) => keys.push((component, column.name.clone())),
                (ColumnPlace::Value(index), ValueType::Row(row_type)) => {
                    fields.extend(row_type.fields().get(index).map(|field| (column.name.clone(), field.clone())));
                }
                (ColumnPlace::Value(_), ValueType::Scalar(_)) => {}
            }
        }
        keys.sort_unstable();
        Self {
            names: columns.into_iter().map(|column| column.name).collect(),
            keys: keys.into_iter().map(|(_, name)| name).collect(),
            are_keys_named: !types.key_columns.is_empty() && !has_default_names(types),
            fields,
            holder,
            grows,
            is_row: matches!(types.values, ValueType::Row(_)),
        }
    }

    /// The names of all columns in their order.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The type of its rows, for messages.
    pub(super) fn rows(&self) -> Result<String> {
        let fields = self.fields.iter().map(|(_, field)| field.clone()).collect::<Vec<_>>();
        Ok(RowType::new(fields).map(ValueType::Row)?.to_string())
    }
}

/// Whether keys alone have the names that lines of text give them.
fn has_default_names(types: &RecordType) -> bool {
    types.is_keys_only()
        && types.key_columns == RecordType::new(types.keys, ValueType::default()).keys_only().key_columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_columns_are_given_by_name() {
        let given: ColumnType = "unit price = decimal(8,2)?".parse().unwrap();
        assert_eq!((given.column.0.as_str(), given.nullable), ("unit price", true));
        let odd: ColumnType = "a=b=u8".parse().unwrap();
        assert_eq!(odd.column.0, "a=b");
        for wrong in ["a", "a=", "a=u12", "a=(u8)"] {
            assert!(wrong.parse::<ColumnType>().is_err(), "{wrong}");
        }
    }
}
