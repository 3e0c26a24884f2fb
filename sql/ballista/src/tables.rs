//! The open tables of a process, which all its sessions and tasks share.

use crate::allowed::Allowed;
use crate::error::PlanError;
use datafusion::error::Result;
use ogive_datafusion::{OgiveOptions, OgiveTable, RelationIdentity};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Tables that stay open, unless a process says otherwise.
pub const OPEN_TABLES_MAX: usize = 256;

/// Locations and keyspaces of the relations of a table.
type Places = Vec<(String, String)>;

/// A place for a table: the first task opens it, and the others wait.
#[derive(Debug, Default)]
struct Slot {
    table: Mutex<Option<Arc<OgiveTable>>>,
}

#[derive(Debug, Default)]
struct Slots {
    by_places: HashMap<Places, (u64, Arc<Slot>)>,
    /// Counts uses, to close the table that was used longest ago.
    uses: u64,
}

/// Opens each table once, and checks that it is the one that is asked for.
#[derive(Debug)]
pub struct OpenTables {
    allowed: Allowed,
    options: OgiveOptions,
    most: usize,
    slots: Mutex<Slots>,
}

impl OpenTables {
    /// Tables at allowed locations, at most `most` open at a time, each with the memory of the options.
    #[must_use]
    pub fn new(allowed: Allowed, options: OgiveOptions, most: usize) -> Self {
        Self { allowed, options, most: most.max(1), slots: Mutex::default() }
    }

    /// What may be opened.
    #[must_use]
    pub fn allowed(&self) -> &Allowed {
        &self.allowed
    }

    /// The table of these relations, if they are of these versions.
    ///
    /// # Errors
    /// [`PlanError::NotAllowed`], [`PlanError::Changed`]; errors of [`OgiveOptions::open_places`].
    pub fn open(&self, identities: &[RelationIdentity]) -> Result<Arc<OgiveTable>> {
        for identity in identities {
            self.allowed.check(&identity.location)?;
        }
        let place = |identity: &RelationIdentity| (identity.location.clone(), identity.keyspace.clone());
        let slot = self.slot(identities.iter().map(place).collect());
        let mut known = slot.table.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = &*known
            && table.identities() == identities
        {
            return Ok(table.clone());
        }
        // What is known may have been replaced, by the table that is asked for or by another.
        let table = Arc::new(self.options.open_places(identities)?.without_ranges());
        *known = Some(table.clone());
        let found = table.identities();
        let changed = found.iter().zip(identities).find(|(found, asked)| found != asked);
        if let Some((_, asked)) = changed {
            return Err(PlanError::Changed { location: asked.location.clone() }.into());
        }
        Ok(table)
    }

    fn slot(&self, places: Places) -> Arc<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.uses += 1;
        let uses = slots.uses;
        if let Some((last, slot)) = slots.by_places.get_mut(&places) {
            *last = uses;
            return slot.clone();
        }
        if slots.by_places.len() >= self.most {
            let oldest = slots.by_places.iter().min_by_key(|(_, (last, _))| *last);
            if let Some(oldest) = oldest.map(|(places, _)| places.clone()) {
                slots.by_places.remove(&oldest);
            }
        }
        let slot = Arc::new(Slot::default());
        slots.by_places.insert(places, (uses, slot.clone()));
        slot
    }
}

impl Default for OpenTables {
    fn default() -> Self {
        Self::new(Allowed::all(), OgiveOptions::default(), OPEN_TABLES_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ogive::{KeyType, LocalStorage, TableWriteOptions, TableWriter};
    use std::path::Path;

    fn write(folder: &Path, name: &str) -> String {
        let options = TableWriteOptions::default().key_type(KeyType::U64).replace(true);
        TableWriter::create((Arc::new(LocalStorage::new(folder)), name), options).unwrap().finish().unwrap();
        folder.join(name).display().to_string()
    }

    fn identity(location: &str) -> Vec<RelationIdentity> {
        OgiveOptions::default().open(location).unwrap().unwrap().identities()
    }

    #[test]
    fn a_table_is_opened_once_until_another_replaces_it() {
        let folder = tempfile::tempdir().unwrap();
        let location = write(folder.path(), "a.ogive");
        let (tables, first) = (OpenTables::default(), identity(&location));
        let opened = std::thread::scope(|scope| {
            let open = || scope.spawn(|| tables.open(&first).unwrap());
            let threads: Vec<_> = (0..8).map(|_| open()).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(opened.iter().all(|table| Arc::ptr_eq(table, &opened[0])));
        write(folder.path(), "a.ogive");
        assert!(Arc::ptr_eq(&tables.open(&first).unwrap(), &opened[0]), "what is open stays what it was");
        let second = identity(&location);
        assert!(!Arc::ptr_eq(&tables.open(&second).unwrap(), &opened[0]));
        let error = tables.open(&first).unwrap_err().to_string();
        assert!(error.contains(&location) && error.contains("changed"), "{error}");
    }

    #[test]
    fn the_table_that_was_used_longest_ago_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let locations = ["a.ogive", "b.ogive", "c.ogive"].map(|name| write(folder.path(), name));
        let identities = locations.each_ref().map(|location| identity(location));
        let tables = OpenTables::new(Allowed::all(), OgiveOptions::default(), 2);
        let open = |number: usize| tables.open(&identities[number]).unwrap();
        let (a, b) = (open(0), open(1));
        assert!(Arc::ptr_eq(&open(0), &a));
        open(2);
        assert!(Arc::ptr_eq(&open(0), &a), "a was used after b");
        assert!(!Arc::ptr_eq(&open(1), &b), "b was closed");
    }
}
