//! Requests to write rows: their target, and the records that are made of them.

use super::options::CopyOptions;
use super::records::TO_CAST;
use super::staging::Staging;
use super::target::WriteTarget;
use crate::error::{external, external_record};
use crate::relation::{OgiveOptions, key_names};
use arrow_schema::{Schema, SchemaRef};
use datafusion::common::plan_err;
use datafusion::error::{DataFusionError, Result};
use ogive::io::{LocatedFile, locate};
use ogive::types::{KeyType, RecordType};
use ogive::{Db, DbOptions, Error, Keyspace, Storage, Table, TableOptions};
use ogive_arrow::RecordEncoder;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A statement that writes rows: `COPY ... TO ... STORED AS OGIVE`, or `INSERT INTO` a keyspace.
#[derive(Clone, Debug)]
pub struct WriteRequest {
    target: WriteTarget,
    /// The columns of the rows.
    schema: SchemaRef,
    encoder: RecordEncoder,
    /// Whether the statement names the columns of the key.
    names_key: bool,
    /// Becomes true when the rows are there.
    is_stale: Arc<AtomicBool>,
}

impl WriteRequest {
    /// The request of a `COPY` to a path or URL.
    pub(super) fn of_copy(place: &str, schema: &Schema, options: &CopyOptions, is_partitioned: bool) -> Result<Self> {
        if is_partitioned {
            return plan_err!("{place} is one table, which has no PARTITIONED BY");
        }
        let first = || schema.fields().first().map(|field| vec![field.name().clone()]);
        let Some(key) = options.key.clone().or_else(first) else {
            return plan_err!("there are no columns to write to {place}");
        };
        if let Some((_, twice)) = key.iter().enumerate().find(|(at, name)| key[..*at].contains(name)) {
            return plan_err!("the key of {place} names '{twice}' twice");
        }
        let target = WriteTarget::of_copy(place, options)?;
        let made = RecordEncoder::new(schema, &key, None).map_err(external_record)?;
        let request = Self::new(target, Arc::new(schema.clone()), made.types(), Arc::default())?;
        Ok(Self { names_key: options.key.is_some(), ..request })
    }

    /// A request for rows of a schema, as records of these types.
    ///
    /// # Errors
    /// Columns that the records do not have, or cannot be without.
    pub(crate) fn new(
        target: WriteTarget,
        schema: SchemaRef,
        types: &RecordType,
        is_stale: Arc<AtomicBool>,
    ) -> Result<Self> {
        let encoder = RecordEncoder::of_types(&schema, types).map_err(external_record)?;
        Ok(Self { target, schema, encoder, names_key: false, is_stale })
    }

    /// The same request, whose target other processes find, too: by a path from the root.
    ///
    /// # Errors
    /// If the current folder is not known.
    pub fn absolute(self) -> Result<Self> {
        Ok(Self { target: self.target.absolute()?, ..self })
    }

    /// Where the rows go.
    #[must_use]
    pub fn target(&self) -> &WriteTarget {
        &self.target
    }

    /// The names of the columns of the key.
    #[must_use]
    pub fn key(&self) -> Vec<String> {
        key_names(self.types())
    }

    /// The types of the records.
    #[must_use]
    pub fn types(&self) -> &RecordType {
        self.encoder.types()
    }

    pub(super) fn encoder(&self) -> &RecordEncoder {
        &self.encoder
    }

    /// The request as it is carried out, if what can be checked before rows are made allows it: no table of the name is
    /// there, or the keyspace takes such records. Rows that are copied are records of the types of the keyspace, once
    /// these are decided.
    ///
    /// # Errors
    /// If not; errors of the storage.
    pub fn checked(self) -> Result<Self> {
        match &self.target {
            WriteTarget::Table { path, replace } => {
                let LocatedFile { storage, name } = locate(path).map_err(external)?;
                match (storage.exists(&name).map_err(external)?, replace) {
                    (false, _) => {}
                    // Nothing but a table is replaced.
                    (true, true) => _ = Table::open((storage, &name), &TableOptions::default()).map_err(external)?,
                    (true, false) => {
                        return plan_err!("{path} exists; give another name, or add OPTIONS (replace true)");
                    }
                }
                Ok(self)
            }
            WriteTarget::Keyspace { location, keyspace, create } => {
                let Some(store) = OgiveOptions::default().open_store(location)? else { return Ok(self) };
                let Some(found) = existing(&store, location, keyspace, *create).map_err(external)? else {
                    return Ok(self);
                };
                if found.is_undecided().map_err(external)? {
                    return Ok(self);
                }
                let place = format!("{location}#{keyspace}");
                if *create { self.copied_as(&found.record_type(), &place) } else { self.inserted_as(&found) }
            }
        }
    }

    /// The rows of a `COPY` as records of a keyspace.
    fn copied_as(self, found: &RecordType, place: &str) -> Result<Self> {
        let (key, named) = (key_names(found), self.key());
        if self.names_key && key != named {
            let (key, named) = (key.join(","), named.join(","));
            return plan_err!("the key of {place} is '{key}', not '{named}'; leave the option 'key' out");
        }
        let encoder = RecordEncoder::of_types(&self.schema, found);
        let encoder = encoder.map_err(|error| {
            DataFusionError::Plan(format!(
                "{place} takes no such rows: {error}; rename columns by AS, or leave them out"
            ))
        })?;
        self.check_kinds(found, place)?;
        Ok(Self { encoder, ..self })
    }

    /// Fails if a column has values of another kind than those of the records: an integer is no time.
    fn check_kinds(&self, types: &RecordType, place: &str) -> Result<()> {
        let given = self.types().columns();
        for column in types.columns() {
            let Some(given) = given.iter().find(|given| given.name == column.name) else { continue };
            if Kind::of(given.key_type) != Kind::of(column.key_type) {
                let (name, given, own) = (&column.name, given.key_type, column.key_type);
                return plan_err!(
                    "column '{name}' of {place} is of type {own}, and that of the rows {given}; {TO_CAST}"
                );
            }
        }
        Ok(())
    }

    /// The rows of an `INSERT`, whose types the keyspace has, perhaps with more fields.
    fn inserted_as(self, found: &Keyspace) -> Result<Self> {
        let types = found.record_type();
        if types.extends(self.types()) {
            return Ok(self);
        }
        let both = [types.to_string(), self.types().to_string()];
        let both = [both[0].as_str(), both[1].as_str()];
        Err(external(Error::wrong_record_type(self.target.location(), found.name(), both, 0)))
    }

    /// A place for tables that are not of the target yet.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn staging(&self) -> Result<Staging> {
        Staging::for_target(&self.target)
    }

    /// Gives the target the rows of the tables of a staging place, all or none. Of a table file, there is one.
    ///
    /// # Errors
    /// Errors of the storage, and those of [`ogive::Keyspace::ingest`]: nothing of the rows is there then.
    pub fn commit(&self, staging: &Staging, names: &[String]) -> Result<()> {
        match (&self.target, names) {
            (WriteTarget::Table { path, replace }, [name]) => {
                staging.publish(name, path, *replace)?;
                staging.clear(&[])
            }
            (WriteTarget::Table { path, .. }, _) => plan_err!("{} tables are to be {path}, which is one", names.len()),
            (WriteTarget::Keyspace { .. }, _) => {
                let files: Vec<_> = names.iter().map(|name| (staging.storage().clone(), name.clone())).collect();
                self.ingest(&files).map_err(external)?;
                // Names that are left over are those of tables that were written twice.
                let is_by_reference = staging.storage().is_object_store();
                staging.clear(if is_by_reference { names } else { &[] })
            }
        }
    }

    /// Takes tables into the keyspace, by reference where that is possible.
    pub(super) fn ingest(&self, files: &[(Arc<dyn Storage>, String)]) -> ogive::Result<()> {
        let WriteTarget::Keyspace { location, keyspace, create } = &self.target else { return Ok(()) };
        let store = Db::open(location, &DbOptions::default().create(*create))?;
        let found = existing(&store, location, keyspace, *create)?;
        let keyspace = found.map_or_else(|| store.keyspace(keyspace), Ok)?;
        // Types that are decided stay, and the order of their columns. Others may have written since types were
        // compared, so that is done again, in one step with the rows: a statement that fails states none.
        keyspace.deciding(self.types())?.adopt_from(files)?;
        store.close()?;
        self.rows_are_there();
        Ok(())
    }

    /// What becomes true when the rows are there.
    pub(super) fn is_stale(&self) -> Arc<AtomicBool> {
        self.is_stale.clone()
    }

    /// Has the table of an `INSERT` show its rows.
    pub(super) fn rows_are_there(&self) {
        self.is_stale.store(true, Ordering::Release);
    }
}

/// Types whose values are converted into each other by [`RecordEncoder`], where that is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bool,
    Number,
    Text,
    Bytes,
    TimeOfDay,
    Moment,
    Other,
}

impl Kind {
    fn of(key_type: KeyType) -> Self {
        match key_type {
            KeyType::Bool => Self::Bool,
            KeyType::Text => Self::Text,
            KeyType::Bytes | KeyType::FixedBytes(_) | KeyType::Uuid => Self::Bytes,
            KeyType::Time(_) => Self::TimeOfDay,
            // Dates in milliseconds are timestamps, too.
            KeyType::Date | KeyType::Timestamp(_) => Self::Moment,
            KeyType::Tuple(_) => Self::Other,
            _ => Self::Number,
        }
    }
}

/// A keyspace of a store; `None` if it is to be made.
///
/// # Errors
/// [`Cause::KeyspaceDropped`](ogive::Cause::KeyspaceDropped) if it is not there, and is not to be made.
pub(crate) fn existing(store: &Db, location: &str, name: &str, create: bool) -> ogive::Result<Option<Keyspace>> {
    match store.keyspaces().iter().any(|known| known == name) {
        true => store.keyspace(name).map(Some),
        false if create => Ok(None),
        false => Err(Error::keyspace_dropped(location, name)),
    }
}
