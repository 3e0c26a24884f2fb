//! Rows of a table as records.

use super::catalog::{SqliteTable, TableKey, quoted};
use super::connection::Database;
use crate::failure::{Failure, Result};
use crate::source::Visit;
use ogive::types::{KeyType, RecordType, RowBuilder, Value, ValueType};
use rusqlite::Row;
use rusqlite::types::ValueRef;

/// How the values of a column are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnReader {
    Integer,
    /// Also whole numbers that are exact as floats.
    Real,
    Text,
    Blob,
    /// Numbers in decimal, and blobs as `X'0A'`.
    AnyAsText,
}

impl ColumnReader {
    /// The type of its values.
    pub(super) fn key_type(self) -> KeyType {
        match self {
            Self::Integer => KeyType::I64,
            Self::Real => KeyType::F64,
            Self::Text | Self::AnyAsText => KeyType::Text,
            Self::Blob => KeyType::Bytes,
        }
    }

    /// A value; `None` for one of another class, and for text that is not UTF-8.
    fn read(self, value: ValueRef<'_>) -> Option<Value> {
        let text = |text: &[u8]| std::str::from_utf8(text).ok().map(Value::from);
        Some(match (self, value) {
            (_, ValueRef::Null) => Value::Null,
            (Self::Integer, ValueRef::Integer(integer)) => Value::from(integer),
            (Self::Real, ValueRef::Integer(integer)) => Value::Float(integer as f64),
            (Self::Real, ValueRef::Real(real)) => Value::Float(real),
            (Self::Text | Self::AnyAsText, ValueRef::Text(bytes)) => text(bytes)?,
            (Self::AnyAsText, ValueRef::Integer(integer)) => Value::Text(integer.to_string()),
            // As short as it reads back exactly, and with a point.
            (Self::AnyAsText, ValueRef::Real(real)) => Value::Text(format!("{real:?}")),
            (Self::AnyAsText, ValueRef::Blob(bytes)) => Value::Text(hexadecimal(bytes)),
            (Self::Blob, ValueRef::Blob(bytes)) => Value::Bytes(bytes.to_vec()),
            _ => return None,
        })
    }
}

/// A blob as SQL writes it.
fn hexadecimal(bytes: &[u8]) -> String {
    let digits = bytes.iter().map(|byte| format!("{byte:02X}"));
    std::iter::once("X'".to_owned()).chain(digits).chain(["'".to_owned()]).collect()
}

/// A column in the result of the query.
#[derive(Debug)]
struct SelectedColumn {
    place: usize,
    name: String,
    reader: ColumnReader,
}

/// Makes records of the rows of a table.
#[derive(Debug)]
pub(super) struct RowMaker {
    table: String,
    query: String,
    /// The rowid in the result, and its name.
    rowid: Option<(usize, &'static str)>,
    keys: Vec<SelectedColumn>,
    fields: Vec<SelectedColumn>,
    types: RecordType,
    rows: u64,
}

impl RowMaker {
    /// The maker of records of these types, of a table with this number of rows.
    pub(super) fn new(table: &SqliteTable, readers: &[ColumnReader], types: RecordType, rows: u64) -> Self {
        let mut names: Vec<String> = table.columns.iter().map(|column| quoted(&column.name)).collect();
        let rowid = table.rowid.map(|rowid| (names.len(), rowid));
        names.extend(table.rowid.map(str::to_owned));
        let select = |place: usize| {
            let name = table.columns[place].name.clone();
            SelectedColumn { place, name, reader: readers[place] }
        };
        let places: Vec<usize> = match &table.key {
            TableKey::Rowid => Vec::new(),
            TableKey::RowidColumn(place) => vec![*place],
            TableKey::Columns(parts) => parts.iter().map(|part| part.column).collect(),
        };
        let mut keys: Vec<SelectedColumn> = places.iter().copied().map(select).collect();
        if let (TableKey::Rowid, Some((place, name))) = (&table.key, rowid) {
            keys.push(SelectedColumn { place, name: name.to_owned(), reader: ColumnReader::Integer });
        }
        let fields = (0..table.columns.len()).filter(|place| !places.contains(place)).map(select).collect();
        let query = format!("select {} from {} not indexed", names.join(", "), quoted(&table.name));
        Self { table: table.name.clone(), query, rowid, keys, fields, types, rows }
    }

    /// The types of the records.
    pub(super) fn types(&self) -> &RecordType {
        &self.types
    }

    /// The number of rows.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// The type of a column in the records, by its name.
    pub(super) fn key_type_of(&self, name: &str) -> Option<KeyType> {
        let column = self.keys.iter().chain(&self.fields).find(|column| column.name == name)?;
        Some(column.reader.key_type())
    }

    /// Visits the records.
    pub(super) fn read(&self, database: &Database, visit: &mut Visit<'_>) -> Result<()> {
        let mut builder = match &self.types.values {
            ValueType::Row(row_type) => Some(RowBuilder::new(row_type.clone())),
            ValueType::Scalar(_) => None,
        };
        let (mut value, mut number) = (Vec::new(), 0_u64);
        database.each(&self.query, &[], &mut |row| {
            number += 1;
            let mut keys = Vec::with_capacity(self.keys.len());
            for column in &self.keys {
                keys.push(self.value(row, column, number)?);
            }
            let key = match (self.types.keys, &keys[..]) {
                (KeyType::Tuple(_), _) => self.types.keys.encode(&Value::Tuple(keys))?,
                (key_type, [key]) => key_type.encode(key)?,
                (key_type, _) => key_type.encode(&Value::Null)?,
            };
            value.clear();
            if let Some(builder) = &mut builder {
                for column in &self.fields {
                    builder.push(&self.value(row, column, number)?)?;
                }
                builder.finish(&mut value)?;
            }
            visit(&key, &value)
        })
    }

    fn value(&self, row: &Row<'_>, column: &SelectedColumn, number: u64) -> Result<Value> {
        let found = row.get_ref(column.place).ok();
        found.and_then(|value| column.reader.read(value)).ok_or_else(|| self.misfit(row, column, number))
    }

    /// The failure on a value that has no form in the store. The first pass has found all but invalid text.
    fn misfit(&self, row: &Row<'_>, column: &SelectedColumn, number: u64) -> Failure {
        let name = match self.rowid.and_then(|(place, name)| Some((name, row.get::<_, i64>(place).ok()?))) {
            Some((name, rowid)) => format!("with the {name} {rowid}"),
            None => format!("number {number}"),
        };
        Failure::refused(
            format!(
                "the column {:?} of the table {:?} has text that is not UTF-8, in the row {name}",
                column.name, self.table
            ),
            format!("correct it, or leave the table out with --skip {}", self.table),
        )
    }
}
