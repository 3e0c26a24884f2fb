//! The indexes and subscribers of a store, as `ogive info` and `ogive stats` tell them.

use crate::failure::Result;
use crate::values::size::{counted, human_bytes};
use ogive::lsm::{Db, KeyspaceIndex, SubscriberStats};
use ogive::{Cause, Error};
use serde::Serialize;
use serde_json::{Value, json};

/// What a store keeps beside the records of its keyspaces.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct KeptFacts {
    pub(super) indexes: Vec<Value>,
    pub(super) subscribers: Vec<SubscriberStats>,
    /// The indexes in words.
    #[serde(skip)]
    lines: Vec<String>,
}

/// An index as an object.
///
/// # Errors
/// Those of reading how far it was built.
pub(super) fn index_to_json(index: &KeyspaceIndex) -> Result<Value> {
    let definition = index.definition();
    let mut object = json!({
        "name": index.name(),
        "keyspace": index.keyspace().name(),
        "definition": definition.to_string(),
        "fields": definition.parts(),
        "is_unique": definition.is_unique(),
        "where_not_null": definition.not_null(),
        "is_complete": index.is_complete(),
    });
    if !index.is_complete() {
        object["built_rows"] = index.built_rows()?.into();
    }
    Ok(object)
}

/// The state of an index, if it is not complete.
///
/// # Errors
/// Those of reading how far it was built.
pub(super) fn index_state(index: &KeyspaceIndex) -> Result<Option<String>> {
    if index.is_complete() {
        return Ok(None);
    }
    Ok(Some(format!("not built to its end: {} so far", counted(index.built_rows()?, "row"))))
}

impl KeptFacts {
    /// Those of a store, or of one keyspace, which has no subscribers of its own.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(super) fn of(db: &Db, keyspace: Option<&str>) -> Result<Self> {
        let mut facts = Self::default();
        for index in db.indexes().iter().filter(|index| keyspace.is_none_or(|name| index.keyspace().name() == name)) {
            let state = index_state(index)?.map_or_else(String::new, |state| format!(" ({state})"));
            let (name, of, by) = (index.name(), index.keyspace().name(), index.definition());
            facts.lines.push(format!("index {name} of the keyspace {of} by {by}{state}"));
            facts.indexes.push(index_to_json(index)?);
        }
        if keyspace.is_none() {
            facts.subscribers = match db.subscriber_stats() {
                // There are none where files cannot be listed.
                Err(Error { cause: Cause::Unsupported, .. }) => Vec::new(),
                found => found?,
            };
        }
        Ok(facts)
    }

    /// Each as a line.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        let subscriber = |it: &SubscriberStats| {
            format!(
                "subscriber {}: acknowledged up to {}; {} kept for it",
                it.name,
                it.position,
                human_bytes(it.kept_bytes)
            )
        };
        self.lines.iter().cloned().chain(self.subscribers.iter().map(subscriber))
    }
}
