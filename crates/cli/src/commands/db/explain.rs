//! The parts of a store that a lookup goes through, for `ogive explain`.

use super::store::{KeyspaceOptions, StorePart, hint_on_emptiness};
use crate::commands::ordered_map::OrderedMap;
use crate::commands::verbs;
use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::{Output, note};
use crate::values::size::{counted, grouped, human_bytes};
use crate::values::table_text::plain_table;
use ogive::lsm::{Db, KeyspaceStats, TableKeyRange, TableStats};
use serde_json::{Value, json};
use std::ffi::OsStr;

/// The tables of a keyspace, newest levels first.
fn tables(db: &Db, keyspace: &str) -> Vec<(TableStats, TableKeyRange)> {
    let ranges = db.table_key_ranges();
    let range_of = |table: &TableStats| ranges.iter().find(|range| range.number == table.number).cloned();
    let tables = db.tables().into_iter().filter_map(|table| Some((table, range_of(&table)?)));
    tables.filter(|(_, range)| range.keyspace == keyspace).collect()
}

/// Shows the levels of the keyspaces, in the order in which lookups go through them.
pub(crate) fn explain(place: &StorePart, output: &mut Output) -> Result<Outcome> {
    let (db, keyspaces) = place.read()?;
    if output.is_json() {
        let object = |keyspace: &KeyspaceStats| {
            let tables = tables(&db, &keyspace.name);
            json!({
                "name": keyspace.name,
                "memtable_records": keyspace.memtable_records,
                "tables": tables.iter().map(|(table, _)| to_json(table)).collect::<Vec<_>>(),
            })
        };
        output.json(&json!({ "keyspaces": keyspaces.iter().map(object).collect::<Vec<_>>() }))?;
        return Ok(Outcome::Done);
    }
    for (index, keyspace) in keyspaces.iter().enumerate() {
        if index > 0 {
            output.line("")?;
        }
        output.line(format_args!("{place}, keyspace {}: a lookup goes through", keyspace.name))?;
        output.line(levels(keyspace, &tables(&db, &keyspace.name)))?;
    }
    Ok(Outcome::Done)
}

/// A table of the memtables and the levels.
fn levels(keyspace: &KeyspaceStats, tables: &[(TableStats, TableKeyRange)]) -> String {
    let mut rows = vec![memtables(keyspace.memtable_records)];
    for (level, stats) in keyspace.levels.iter().enumerate().filter(|(_, stats)| stats.tables > 0) {
        let of_level = || tables.iter().map(|(table, _)| table).filter(|table| table.level == level);
        let filter_bytes = of_level().map(|table| table.filter_bytes).sum();
        let let_through = of_level().map(TableStats::expected_false_positives).sum::<f64>() / stats.tables as f64;
        // Tables of level 0 overlap; those of any other do not.
        let asked = if level == 0 { stats.tables } else { 1 };
        rows.push(vec![
            level.to_string(),
            format!("up to {asked} of {}", grouped(stats.tables)),
            grouped(stats.records),
            shown_filter(filter_bytes, let_through),
            format!("{} of {}", grouped(stats.models), grouped(stats.tables)),
        ]);
    }
    plain_table(&["level", "tables asked", "entries", "filter", "with a model"], rows)
}

/// The first line of a table of what a lookup goes through.
fn memtables(records: u64) -> Vec<String> {
    vec!["memory".into(), "memtables".into(), grouped(records), "none".into(), "none".into()]
}

fn shown_filter(bytes: u64, let_through: f64) -> String {
    match bytes {
        0 => "none".to_owned(),
        _ => format!("{}, {:.2} % of absent keys pass", human_bytes(bytes), let_through * 100.0),
    }
}

fn to_json(table: &TableStats) -> Value {
    json!({
        "level": table.level,
        "number": table.number,
        "records": table.records,
        "bytes": table.bytes,
        "filter_bytes": table.filter_bytes,
        "expected_false_positives": table.expected_false_positives(),
        "model_segments": table.model_segments,
    })
}

/// Looks a key up, and shows the tables whose keys surround it.
pub(crate) fn explain_lookup(place: &KeyspaceOptions, key: &OsStr, output: &mut Output) -> Result<Outcome> {
    let open = place.read()?;
    let key = open.parse_key(key)?;
    let found = open.keyspace.contains_key(&key)?;
    let name = open.keyspace.name();
    let stats = open.db.stats();
    let memtable_records =
        stats.keyspaces.iter().find(|keyspace| keyspace.name == name).map_or(0, |keyspace| keyspace.memtable_records);
    let surrounds =
        |range: &TableKeyRange| range.first_key <= key && (range.last_key.is_empty() || key <= range.last_key);
    let tables: Vec<TableStats> =
        tables(&open.db, name).into_iter().filter(|(_, range)| surrounds(range)).map(|(table, _)| table).collect();
    if output.is_json() {
        output.json(&json!({
            "keyspace": name,
            "key": open.key_to_json(&key),
            "found": found,
            "memtable_records": memtable_records,
            "tables": tables.iter().map(to_json).collect::<Vec<_>>(),
        }))?;
    } else {
        output.line(lookup(memtable_records, &tables))?;
        let tables = counted(tables.len() as u64, "table");
        output.line(format_args!("the memtables and {tables} in this order, up to the first that has the key"))?;
    }
    if found {
        return Ok(Outcome::Done);
    }
    let outcome = verbs::not_found(open.shown_key(&key), output)?;
    if let Some(hint) = hint_on_emptiness(&open.db, &open.keyspace, "--keyspace")? {
        note(hint);
    }
    Ok(outcome)
}

/// A table of the memtables and the tables that a lookup asks.
fn lookup(memtable_records: u64, tables: &[TableStats]) -> String {
    let row = |table: &TableStats| {
        vec![
            table.level.to_string(),
            table.number.to_string(),
            grouped(table.records),
            shown_filter(table.filter_bytes, table.expected_false_positives()),
            if table.model_segments == 0 { "none".into() } else { counted(table.model_segments, "segment") },
        ]
    };
    let rows = std::iter::once(memtables(memtable_records)).chain(tables.iter().map(row));
    plain_table(&["level", "table", "entries", "filter", "model"], rows)
}
