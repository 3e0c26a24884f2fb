//! Indexes of tables, as far as a store can keep them.
//!
//! The order of text by the collation `NOCASE` is that of `lower(COLUMN)`, in which A to Z are a to z.

use super::catalog::{SqliteTable, quoted};
use super::connection::Database;
use super::rows::RowMaker;
use super::sql_text::IndexText;
use crate::failure::Result;
use crate::source::{FoundIndex, LeftOut};
use ogive::KeyType;
use ogive::types::IndexDefinition;

/// The number of a column that is an expression.
const EXPRESSION: i64 = -2;
/// The number of the rowid.
const ROWID: i64 = -1;

/// A column of an index.
struct IndexTerm {
    column: i64,
    is_descending: bool,
    collation: String,
}

/// The indexes of a table that a store can keep; the others are added to what is left out.
pub(super) fn read(
    database: &Database,
    table: &SqliteTable,
    maker: &RowMaker,
    left_out: &mut Vec<LeftOut>,
) -> Result<Vec<FoundIndex>> {
    let query = "select name, \"unique\", origin, partial from pragma_index_list(?1, 'main') order by seq desc";
    let listed = database.all(query, &[&table.name], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?, row.get::<_, String>(2)?, row.get::<_, bool>(3)?))
    })?;
    let mut found = Vec::new();
    for (index, is_unique, origin, is_partial) in listed.into_iter().filter(|(_, _, origin, _)| origin != "pk") {
        let query = "select cid, \"desc\", coll from pragma_index_xinfo(?1, 'main') where key = 1 order by seqno";
        let terms = database.all(query, &[&index], |row| {
            Ok(IndexTerm { column: row.get(0)?, is_descending: row.get(1)?, collation: row.get(2)? })
        })?;
        let query = "select sql from sqlite_schema where type = 'index' and name = ?1";
        let statement = database.all(query, &[&index], |row| row.get::<_, Option<String>>(0))?.pop().flatten();
        let text = IndexText::of(&statement.unwrap_or_default());
        let definition = definition(table, maker, &terms, &text, is_partial);
        match definition {
            Ok(definition) => {
                let definition = if is_unique { definition.unique() } else { definition };
                let name = if origin == "u" { unique_name(table, &terms) } else { index };
                found.push(FoundIndex { name, definition });
            }
            Err(reason) => left_out.push(LeftOut { what: "index", name: index, reason: Some(reason) }),
        }
    }
    Ok(found)
}

/// The name of the index of a constraint, which has none of its own.
fn unique_name(table: &SqliteTable, terms: &[IndexTerm]) -> String {
    let names = terms.iter().filter_map(|term| table.columns.iter().find(|column| column.number == term.column));
    let names: Vec<&str> = names.map(|column| &*column.name).collect();
    format!("{}_by_{}", table.name, names.join("_"))
}

/// The definition of an index, or why there is none.
fn definition(
    table: &SqliteTable,
    maker: &RowMaker,
    terms: &[IndexTerm],
    text: &IndexText,
    is_partial: bool,
) -> Result<IndexDefinition, String> {
    let mut by = Vec::new();
    for (place, term) in terms.iter().enumerate() {
        let column = table.columns.iter().find(|column| column.number == term.column);
        let (name, mut is_lower) = match (term.column, column) {
            (EXPRESSION, _) => {
                let column = text.lower_of(place).ok_or("it is by an expression")?;
                (stored_name(table, column).ok_or("it is by an expression")?, true)
            }
            (ROWID, _) => (table.rowid.unwrap_or_default(), false),
            (_, Some(column)) => (&*column.name, false),
            (_, None) => return Err("it is by a generated column".to_owned()),
        };
        let key_type = maker.key_type_of(name).ok_or("it is by the rowid, which is not stored")?;
        if key_type == KeyType::Text && !term.collation.eq_ignore_ascii_case("binary") {
            if !term.collation.eq_ignore_ascii_case("nocase") {
                return Err(format!("it compares {name:?} by the collation {}", term.collation));
            }
            is_lower = true;
        }
        if name.contains('"') {
            return Err(format!("the name {name:?} has a quote"));
        }
        let column = if is_lower { format!("lower({})", quoted(name)) } else { quoted(name) };
        by.push(if term.is_descending { format!("{column} desc") } else { column });
    }
    let definition = IndexDefinition::by(&by.join(", ")).map_err(|error| error.to_string())?;
    if !is_partial {
        return Ok(definition);
    }
    let condition = text.not_null().and_then(|column| stored_name(table, column));
    condition.map(|column| definition.where_not_null(column)).ok_or_else(|| "it is partial by a condition".to_owned())
}

/// A column as it is called where it is defined; in SQL the case of letters does not matter.
fn stored_name<'a>(table: &'a SqliteTable, name: &str) -> Option<&'a str> {
    table.columns.iter().map(|column| &*column.name).find(|column| column.eq_ignore_ascii_case(name))
}
