//! `ogive db ingest`: adds tables to a store without rewriting them.

use super::keys::{self, Brought};
use super::store::{KeyspaceOptions, StoreFolder};
use crate::failure::{Failure, Result};
use crate::input::open_to_see;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::urls::{self, path_argument};
use crate::values::size::{counted, human_bytes};
use clap::builder::{OsStringValueParser, TypedValueParser};
use ogive::Durability;
use ogive::lsm::{IngestSummary, Keyspace, is_store_file, is_store_object};
use ogive::types::RecordType;
use serde_json::json;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  ogive build words.txt -o words.ogive        build a table
  ogive db ingest store words.ogive           add it to a store without rewriting it
  ogive db ingest store a.ogive b.ogive       add both atomically; for equal keys b wins
  ogive db ingest store a.ogive --move        remove the original afterwards
  ogive db ingest s3://bucket/fruit s3://bucket/fruit/part-17.ogive --move
                                              take over a table below the store's URL, without a copy

Records of the tables replace existing entries with equal keys. A table on the same file system is linked, one in the
same bucket is copied there, others are copied; do not modify a table in place afterwards. With --move, a table directly
below the URL of the store belongs to it afterwards, under its name, which must not be used again. Creates the store if
necessary.";

/// Ingest existing tables without rewriting them
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DbIngest {
    #[command(flatten)]
    keyspace: KeyspaceOptions,

    /// Tables to ingest
    #[arg(value_name = "TABLE", required = true, value_parser = OsStringValueParser::new().try_map(path_argument))]
    tables: Vec<PathBuf>,

    /// Remove the tables once they are ingested; refused for files of another store
    #[arg(long = "move")]
    moves: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &DbIngest, output: &mut Output) -> Result<Outcome> {
    let types = common_types(&arguments.tables)?;
    if arguments.moves {
        arguments.tables.iter().try_for_each(|table| refuse_to_move(table, &arguments.keyspace.name.store))?;
        refuse_twice(&arguments.tables)?;
    }
    let open = arguments.keyspace.create(Durability::Synced, Some(Brought { types: &types, restates: false }))?;
    let outcome = match arguments.moves {
        true => adopt(&open.keyspace, &arguments.tables),
        false => open.keyspace.ingest(&arguments.tables).map(|ingested| (ingested, Vec::new())),
    };
    let (ingested, originals) = match outcome {
        Ok(ingested) => ingested,
        Err(error) => {
            let failure = keys::refusal(&open.db, error);
            // The failure to ingest says more than one to take back.
            _ = open.take_back();
            return Err(failure);
        }
    };
    let done = format!("the tables are durable in {}", arguments.keyspace.name.store);
    open.close(&done)?;
    for table in originals {
        remove(table).map_err(|failure| failure.but(&done))?;
    }
    if output.is_json() {
        let (tables, records, bytes) = (ingested.tables, ingested.records, ingested.bytes);
        output.json(&json!({ "tables": tables, "records": records, "bytes": bytes }))?;
    } else {
        output.line(format_args!(
            "{}: ingested {} of {}, {}",
            arguments.keyspace.name.store,
            counted(ingested.records, "record"),
            counted(ingested.tables, "table"),
            human_bytes(ingested.bytes)
        ))?;
    }
    Ok(Outcome::Done)
}

/// Ingests tables, by reference where that is possible. Also returns those of which the store has a copy or a link.
fn adopt<'a>(keyspace: &Keyspace, tables: &'a [PathBuf]) -> ogive::Result<(IngestSummary, Vec<&'a PathBuf>)> {
    let mut originals = Vec::new();
    for table in tables {
        if !keyspace.can_adopt(table)? {
            originals.push(table);
        }
    }
    Ok((keyspace.adopt(tables)?, originals))
}

/// Removes a table; of a link, the link itself.
fn remove(table: &Path) -> Result<()> {
    if urls::is_url(table) {
        let (storage, name) = urls::place(table, false)?;
        return Ok(storage.remove(&name)?);
    }
    std::fs::remove_file(table).map_err(|source| Failure::File {
        action: "remove",
        path: table.display().to_string(),
        source,
    })
}

/// Refuses a table that is named twice: once moved, it is not there any more.
fn refuse_twice(tables: &[PathBuf]) -> Result<()> {
    match tables.iter().enumerate().find(|(at, table)| tables[..*at].contains(table)) {
        Some((_, table)) => Err(Failure::usage(format!("{} is named twice", table.display()), "name it once")),
        None => Ok(()),
    }
}

/// Refuses to remove files of a store.
fn refuse_to_move(table: &Path, store: &StoreFolder) -> Result<()> {
    let is_stores = match urls::is_url(table) {
        true => urls::place(table, false).and_then(|(storage, name)| is_store_object(&storage, &name))?,
        false => is_store_file(table)?,
    };
    if is_stores && store.is_parent_of(table) {
        let message = format!("{} is part of the store {store} already", table.display());
        return Err(Failure::refused(message, "there is nothing to do: a killed command may have ingested it"));
    }
    if is_stores {
        let message = format!("{} belongs to another store", table.display());
        return Err(Failure::refused(message, "remove --move, to link or copy the table instead"));
    }
    Ok(())
}

/// The common types of all tables.
fn common_types(tables: &[PathBuf]) -> Result<RecordType> {
    let mut common: Option<RecordType> = None;
    for path in tables {
        let (storage, name) = urls::place(path, false)?;
        let types = open_to_see(&storage, &name)?.record_type().clone();
        let differs = |common: &RecordType| {
            let are_alike = common.is_keys_only() == types.is_keys_only();
            !are_alike
                || (common.keys, &common.values) != (types.keys, &types.values)
                || types.moves_key_columns(common)
        };
        if common.as_ref().is_some_and(differs) {
            let message = format!("the records of {} are {types}, unlike those of the previous tables", path.display());
            return Err(Failure::refused(
                message,
                "ingest tables with other types into another keyspace, with --keyspace",
            ));
        }
        common.get_or_insert(types);
    }
    Ok(common.unwrap_or_default())
}
