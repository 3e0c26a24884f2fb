//! The types of columns: those of the values that they have, not those that are declared.
//!
//! SQLite stores a value of any class in most columns. A column whose values have one class has its type; one with
//! whole numbers and others, of numeric affinity, is `f64` if each whole number is exact as one. Any other mixture is
//! an error that names two rows, or text if that is asked for.

use super::catalog::{KeyPart, SqliteColumn, SqliteTable, TableKey, quoted};
use super::connection::Database;
use super::rows::{ColumnReader, RowMaker};
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use ogive::types::{Component, Field, KeyColumn, KeyType, RecordType, RowType, TupleType};
use rusqlite::types::ValueRef;

/// Rows between two looks at the interrupt.
const ROWS_A_STEP: u64 = 1 << 12;

/// Classes of values, in the order of their letters.
const LETTERS: [u8; CLASSES] = *b"irtbxn";
const NAMES: [&str; CLASSES] = ["integer", "real", "text", "blob", "integer that is no float", "null"];
const CLASSES: usize = 6;
const INTEGER: usize = 0;
const REAL: usize = 1;
const TEXT: usize = 2;
const BLOB: usize = 3;
const INEXACT: usize = 4;
const NULL: usize = 5;

/// The first row with a value of each class, counted from 0.
type FirstRows = [Option<u64>; CLASSES];

/// The classes that SQLite prefers for a declared type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Affinity {
    Integer,
    Real,
    Text,
    Blob,
    Numeric,
}

impl Affinity {
    /// By the rules of SQLite, in their order.
    fn of(declared: &str) -> Self {
        let declared = declared.to_ascii_uppercase();
        let has = |words: &[&str]| words.iter().any(|word| declared.contains(word));
        match () {
            () if has(&["INT"]) => Self::Integer,
            () if has(&["CHAR", "CLOB", "TEXT"]) => Self::Text,
            () if declared.is_empty() || declared == "ANY" || has(&["BLOB"]) => Self::Blob,
            () if has(&["REAL", "FLOA", "DOUB"]) => Self::Real,
            () => Self::Numeric,
        }
    }

    /// The type of a column without a value. Dates are text in SQLite more often than numbers.
    fn of_nothing(self, declared: &str) -> ColumnReader {
        let declared = declared.to_ascii_uppercase();
        match self {
            Self::Integer => ColumnReader::Integer,
            Self::Numeric if declared.contains("BOOL") => ColumnReader::Integer,
            Self::Numeric if declared.contains("DATE") || declared.contains("TIME") => ColumnReader::Text,
            Self::Text => ColumnReader::Text,
            Self::Real | Self::Numeric => ColumnReader::Real,
            Self::Blob => ColumnReader::Blob,
        }
    }
}

/// Reads the classes of all values of a table, and gives the maker of its records, with remarks.
pub(super) fn examine(
    database: &Database,
    table: &SqliteTable,
    as_text: bool,
    interrupt: &Interrupt,
) -> Result<(RowMaker, Vec<String>)> {
    let (classes, rows) = classes(database, table, interrupt)?;
    let parts = match &table.key {
        TableKey::Columns(parts) => &parts[..],
        TableKey::Rowid | TableKey::RowidColumn(_) => &[],
    };
    let mut remarks = Vec::new();
    let mut readers = Vec::new();
    for (place, (column, found)) in table.columns.iter().zip(&classes).enumerate() {
        let part = parts.iter().find(|part| part.column == place);
        let reader = reader(database, table, column, found, as_text && part.is_none(), &mut remarks)?;
        part.map_or(Ok(()), |part| check_key(database, table, column, found, part, reader))?;
        readers.push(reader);
    }
    if let TableKey::Rowid = table.key {
        let name = table.rowid.unwrap_or_default();
        remarks.push(format!("the table has no primary key: the key is its {name}"));
    }
    // The limits of a store are on the number of columns, and the length of their names.
    let types = types(table, &readers, &classes).map_err(|failure| {
        let hint = format!("leave the table out with --skip {}", table.name);
        Failure::refused(format!("the table {:?} cannot be a keyspace: {failure}", table.name), hint)
    })?;
    Ok((RowMaker::new(table, &readers, types, rows), remarks))
}

/// The first rows with each class, by column, and the number of rows.
fn classes(database: &Database, table: &SqliteTable, interrupt: &Interrupt) -> Result<(Vec<FirstRows>, u64)> {
    let class = |column: &SqliteColumn| {
        let name = quoted(&column.name);
        match Affinity::of(&column.declared) {
            // The greatest float below 2^63 is stated, since beyond it the conversion ends at the greatest integer.
            Affinity::Numeric => format!(
                "case when typeof({name}) = 'integer' and ({name} > 9223372036854774784 \
                 or cast(cast({name} as real) as integer) <> {name}) then 'x' else typeof({name}) end"
            ),
            _ => format!("typeof({name})"),
        }
    };
    let columns: Vec<String> = table.columns.iter().map(class).collect();
    let query = format!("select {} from {} not indexed", columns.join(", "), quoted(&table.name));
    let (mut classes, mut rows) = (vec![FirstRows::default(); columns.len()], 0);
    database.each(&query, &[], &mut |row| {
        for (place, found) in classes.iter_mut().enumerate() {
            let Ok(ValueRef::Text(class)) = row.get_ref(place) else { continue };
            if let Some(class) = LETTERS.iter().position(|letter| class.first() == Some(letter)) {
                found[class].get_or_insert(rows);
            }
        }
        rows += 1;
        if rows.is_multiple_of(ROWS_A_STEP) { interrupt.check() } else { Ok(()) }
    })?;
    Ok((classes, rows))
}

/// How a column is read.
fn reader(
    database: &Database,
    table: &SqliteTable,
    column: &SqliteColumn,
    found: &FirstRows,
    as_text: bool,
    remarks: &mut Vec<String>,
) -> Result<ColumnReader> {
    let affinity = Affinity::of(&column.declared);
    let [integer, real, text, blob, inexact, _] = found.map(|row| row.is_some());
    let reader = match (integer || inexact, real, text, blob) {
        (false, false, false, false) => return Ok(affinity.of_nothing(&column.declared)),
        (true, false, false, false) => ColumnReader::Integer,
        (false, true, false, false) => ColumnReader::Real,
        (true, true, false, false) if affinity == Affinity::Numeric && !inexact => ColumnReader::Real,
        (false, false, true, false) => ColumnReader::Text,
        (false, false, false, true) => ColumnReader::Blob,
        _ if as_text => ColumnReader::AnyAsText,
        _ => return Err(mixed(database, table, column, found)?),
    };
    let expected = affinity.of_nothing(&column.declared);
    let is_told = match (affinity, reader) {
        (_, ColumnReader::AnyAsText) => true,
        (Affinity::Numeric, ColumnReader::Integer | ColumnReader::Real) => false,
        // A column without a type takes anything.
        (Affinity::Blob, _) if column.declared.is_empty() => false,
        _ => reader != expected,
    };
    if is_told {
        let declared = if column.declared.is_empty() { "nothing" } else { &*column.declared };
        let has = if reader == ColumnReader::AnyAsText { "values of several classes, stored as" } else { "values of" };
        remarks.push(format!("{:?} is declared {declared}, and has {has} {}", column.name, reader.key_type()));
    }
    Ok(reader)
}

/// The failure on a column with values of several classes.
fn mixed(database: &Database, table: &SqliteTable, column: &SqliteColumn, found: &FirstRows) -> Result<Failure> {
    let mut shown = Vec::new();
    let classes = [INTEGER, REAL, TEXT, BLOB, INEXACT].into_iter();
    for (class, row) in classes.filter_map(|class| found[class].map(|row| (class, row))) {
        shown.push(format!("{} in the row {}", NAMES[class], row_name(database, table, row)?));
    }
    let message = format!(
        "the column {:?} of the table {:?} has values of several classes: {}",
        column.name,
        table.name,
        shown.join(", ")
    );
    let hint = format!(
        "correct the rows, store such columns as text with --as-text (those of keys not), or leave the table out with \
         --skip {}",
        table.name
    );
    Ok(Failure::refused(message, hint))
}

/// Refuses nulls in keys, and an order of text that the store does not have.
fn check_key(
    database: &Database,
    table: &SqliteTable,
    column: &SqliteColumn,
    found: &FirstRows,
    part: &KeyPart,
    reader: ColumnReader,
) -> Result<()> {
    let hint = format!("or leave the table out with --skip {}", table.name);
    if let Some(row) = found[NULL] {
        let row = row_name(database, table, row)?;
        return Err(Failure::refused(
            format!("the column {:?} of the primary key of {:?} is null in the row {row}", column.name, table.name),
            format!("give these rows keys, {hint}"),
        ));
    }
    if reader == ColumnReader::Text && !part.collation.eq_ignore_ascii_case("binary") {
        let KeyPart { collation, .. } = part;
        return Err(Failure::refused(
            format!("the primary key of {:?} compares {:?} by the collation {collation}", table.name, column.name),
            format!("keys compare as bytes: make a copy of the table whose key has the collation BINARY, {hint}"),
        ));
    }
    Ok(())
}

/// A row as its rowid, or as its number among all.
fn row_name(database: &Database, table: &SqliteTable, row: u64) -> Result<String> {
    let Some(rowid) = table.rowid else { return Ok(format!("number {}", row + 1)) };
    let query = format!("select {rowid} from {} not indexed limit 1 offset {row}", quoted(&table.name));
    let found = database.all(&query, &[], |row| row.get::<_, i64>(0))?;
    Ok(format!("with the {rowid} {}", found.first().copied().unwrap_or_default()))
}

/// The types of the records.
fn types(table: &SqliteTable, readers: &[ColumnReader], classes: &[FirstRows]) -> Result<RecordType> {
    let is_key = |place: usize| match &table.key {
        TableKey::Rowid => false,
        TableKey::RowidColumn(column) => *column == place,
        TableKey::Columns(parts) => parts.iter().any(|part| part.column == place),
    };
    let key_column = |place: usize| KeyColumn { name: table.columns[place].name.clone(), position: place as u16 };
    let (keys, key_columns) = match &table.key {
        TableKey::Rowid => {
            (KeyType::I64, vec![KeyColumn { name: table.rowid.unwrap_or_default().to_owned(), position: 0 }])
        }
        TableKey::RowidColumn(place) => (KeyType::I64, vec![key_column(*place)]),
        TableKey::Columns(parts) => {
            (key_type(parts, readers)?, parts.iter().map(|part| key_column(part.column)).collect())
        }
    };
    let mut fields = Vec::new();
    for (place, column) in table.columns.iter().enumerate().filter(|(place, _)| !is_key(*place)) {
        let field = Field::new(&column.name, readers[place].key_type());
        let is_nullable = !column.is_not_null || classes[place][NULL].is_some();
        fields.push(if is_nullable { field.nullable() } else { field });
    }
    if fields.is_empty() {
        return Ok(RecordType::new(keys, KeyType::Bytes).key_columns(key_columns).keys_only());
    }
    Ok(RecordType::new(keys, RowType::new(fields)?).key_columns(key_columns))
}

/// The type of the keys of these columns; the order of a single one does not matter.
fn key_type(parts: &[KeyPart], readers: &[ColumnReader]) -> Result<KeyType> {
    if let [part] = parts {
        return Ok(readers[part.column].key_type());
    }
    let component = |part: &KeyPart| {
        let descending = part.is_descending;
        Component { descending, ..Component::new(readers[part.column].key_type()) }
    };
    let components: Vec<Component> = parts.iter().map(component).collect();
    Ok(KeyType::Tuple(TupleType::new(&components)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn affinities_follow_the_rules_of_sqlite() {
        for (declared, affinity) in [
            ("INTEGER", Affinity::Integer),
            ("unsigned big int", Affinity::Integer),
            ("CHARINT", Affinity::Integer),
            ("FLOATING POINT", Affinity::Integer),
            ("varchar(20)", Affinity::Text),
            ("", Affinity::Blob),
            ("BLOB", Affinity::Blob),
            ("ANY", Affinity::Blob),
            ("double precision", Affinity::Real),
            ("DECIMAL(10,5)", Affinity::Numeric),
            ("STRING", Affinity::Numeric),
            ("DATETIME", Affinity::Numeric),
        ] {
            assert_eq!(Affinity::of(declared), affinity, "{declared}");
        }
    }
}
