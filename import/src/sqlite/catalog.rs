//! The tables of a database, with their columns and keys, and what is left out.

use super::connection::Database;
use crate::choice::Choice;
use crate::failure::{Failure, Result};
use crate::source::LeftOut;

/// Names of the key of a table without a primary key.
const ROWID_NAMES: [&str; 3] = ["rowid", "_rowid_", "oid"];

/// A table that is imported.
#[derive(Debug)]
pub(super) struct SqliteTable {
    pub(super) name: String,
    pub(super) columns: Vec<SqliteColumn>,
    pub(super) key: TableKey,
    /// The name by which its rowid is read, if it has one and no column has all its names.
    pub(super) rowid: Option<&'static str>,
}

/// A column that is stored.
#[derive(Debug)]
pub(super) struct SqliteColumn {
    /// Its number in the table, generated columns included.
    pub(super) number: i64,
    pub(super) name: String,
    /// The type that is declared.
    pub(super) declared: String,
    pub(super) is_not_null: bool,
}

/// The key of a table.
#[derive(Debug)]
pub(super) enum TableKey {
    /// The rowid, which is no column.
    Rowid,
    /// The column that is the rowid.
    RowidColumn(usize),
    /// The columns of the primary key.
    Columns(Vec<KeyPart>),
}

/// A column of a primary key.
#[derive(Debug)]
pub(super) struct KeyPart {
    /// Its place among the columns of the table.
    pub(super) column: usize,
    pub(super) is_descending: bool,
    pub(super) collation: String,
}

/// What a database has.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    /// The tables that are chosen.
    pub(super) tables: Vec<SqliteTable>,
    /// The names of all tables.
    pub(super) names: Vec<String>,
    pub(super) left_out: Vec<LeftOut>,
}

/// A name in SQL.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Reads the tables that are chosen, and finds what is left out of the database.
pub(super) fn read(database: &Database, choice: &Choice) -> Result<Catalog> {
    let query = "select name, type, wr from pragma_table_list where schema = 'main' order by name";
    let listed = database
        .all(query, &[], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, bool>(2)?)))?;
    let Catalog { mut tables, mut names, mut left_out } = Catalog::default();
    for (name, kind, is_without_rowid) in listed {
        let what = match &*kind {
            _ if name.starts_with("sqlite_") => continue,
            "table" => {
                names.push(name.clone());
                if choice.takes(&name) {
                    tables.push(table(database, name, is_without_rowid, &mut left_out)?);
                }
                continue;
            }
            "view" => "view",
            "virtual" => "virtual table",
            "shadow" => "table of a virtual table",
            _ => "object of an unknown type",
        };
        left_out.push(LeftOut { what, name, reason: None });
    }
    let query = "select name, tbl_name from sqlite_schema where type = 'trigger' order by name";
    let triggers = database.all(query, &[], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    for (name, table) in triggers.into_iter().filter(|(_, table)| choice.takes(table)) {
        left_out.push(LeftOut { what: "trigger", name, reason: Some(format!("of {table}")) });
    }
    Ok(Catalog { tables, names, left_out })
}

fn table(
    database: &Database,
    name: String,
    is_without_rowid: bool,
    left_out: &mut Vec<LeftOut>,
) -> Result<SqliteTable> {
    let query = "select cid, name, type, \"notnull\", pk, hidden from pragma_table_xinfo(?1, 'main') order by cid";
    let (mut columns, mut keys, mut all_names) = (Vec::new(), 0, Vec::new());
    let listed = database.all(query, &[&name], |row| {
        let column = SqliteColumn {
            number: row.get(0)?,
            name: row.get(1)?,
            declared: row.get::<_, Option<String>>(2)?.unwrap_or_default(),
            is_not_null: row.get(3)?,
        };
        Ok((column, row.get::<_, i64>(4)?, row.get::<_, i64>(5)?))
    })?;
    let mut key_columns = Vec::new();
    for (column, key, hidden) in listed {
        all_names.push(column.name.to_ascii_lowercase());
        if hidden != 0 {
            let name = format!("{name}.{}", column.name);
            left_out.push(LeftOut { what: "generated column", name, reason: None });
            continue;
        }
        if key > 0 {
            keys += 1;
            key_columns.push(columns.len());
        }
        columns.push(column);
    }
    let of_table = "select count(*), group_concat(\"table\", ', ') from pragma_foreign_key_list(?1, 'main')";
    let foreign = database
        .all(of_table, &[&name], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<String>>(1)?)))?
        .pop()
        .unwrap_or_default();
    if foreign.0 > 0 {
        let reason = foreign.1.map(|tables| format!("to {tables}; rows are not checked against other keyspaces"));
        left_out.push(LeftOut { what: "foreign key", name: name.clone(), reason });
    }
    let rowid = ROWID_NAMES.into_iter().find(|rowid| !all_names.iter().any(|name| name == rowid));
    let rowid = rowid.filter(|_| !is_without_rowid);
    let parts = key_parts(database, &name, &columns)?;
    let key = match (keys, parts) {
        (0, _) if rowid.is_none() => {
            return Err(Failure::refused(
                format!("the table {name:?} has no primary key, and columns with all the names of the rowid"),
                format!("rename one of the columns rowid, _rowid_ and oid, or leave the table out with --skip {name}"),
            ));
        }
        (0, _) => TableKey::Rowid,
        // The column is the rowid itself, without an index of its own.
        (_, parts) if parts.is_empty() => TableKey::RowidColumn(key_columns.first().copied().unwrap_or(0)),
        (_, parts) => TableKey::Columns(parts),
    };
    Ok(SqliteTable { name, columns, key, rowid })
}

/// The columns of the index of the primary key, in their order.
fn key_parts(database: &Database, table: &str, columns: &[SqliteColumn]) -> Result<Vec<KeyPart>> {
    let query = "select name from pragma_index_list(?1, 'main') where origin = 'pk'";
    let Some(index) = database.all(query, &[table], |row| row.get::<_, String>(0))?.pop() else {
        return Ok(Vec::new());
    };
    let query = "select cid, \"desc\", coll from pragma_index_xinfo(?1, 'main') where key = 1 order by seqno";
    let listed = database
        .all(query, &[&index], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, bool>(1)?, row.get::<_, String>(2)?)))?;
    let mut parts: Vec<KeyPart> = Vec::new();
    for (number, is_descending, collation) in listed {
        let column = columns.iter().position(|column| column.number == number);
        if let Some(column) = column.filter(|column| parts.iter().all(|part| part.column != *column)) {
            parts.push(KeyPart { column, is_descending, collation });
        }
    }
    Ok(parts)
}
