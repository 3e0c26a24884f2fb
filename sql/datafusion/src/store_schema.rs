//! The keyspaces of a store as the tables of a schema.

use crate::blocking::blocking;
use crate::error::external;
use crate::relation::{OgiveOptions, decided, keyspace_of};
use crate::table::OgiveTable;
use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::common::plan_err;
use datafusion::error::Result;
use ogive::Db;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The keyspaces of a store as tables, as of one time: that of its opening, or of the last
/// [`alter_table`](crate::alter_table) of one of them. Register it by
/// [`CatalogProvider::register_schema`](datafusion::catalog::CatalogProvider::register_schema).
pub struct StoreSchema {
    store: Arc<Mutex<Db>>,
    /// Whether columns were altered by a statement since the store was opened.
    is_altered: Arc<AtomicBool>,
    /// The keyspaces whose columns are known.
    names: Vec<String>,
    location: String,
    options: OgiveOptions,
}

impl StoreSchema {
    /// Opens the store at a path or URL, as it is now.
    ///
    /// # Errors
    /// Errors of the storage; if there is no store.
    pub fn open(location: &str, options: &OgiveOptions) -> Result<Self> {
        match options.open_store(location)? {
            Some(store) => {
                let names = decided(&store).map_err(external)?;
                Ok(Self {
                    store: Arc::new(Mutex::new(store)),
                    is_altered: Arc::default(),
                    names,
                    location: location.to_owned(),
                    options: options.clone(),
                })
            }
            None => plan_err!("{location} is no store; check the path"),
        }
    }
}

/// The store, opened again if columns were altered since it was opened.
fn current(store: &Mutex<Db>, is_altered: &AtomicBool, location: &str, options: &OgiveOptions) -> Result<Db> {
    let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
    if is_altered.swap(false, Ordering::AcqRel) {
        let opened = options.open_store(location);
        let opened = opened.inspect_err(|_| is_altered.store(true, Ordering::Release))?;
        *store = opened.unwrap_or_else(|| store.clone());
    }
    Ok(store.clone())
}

impl fmt::Debug for StoreSchema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StoreSchema").field("location", &self.location).finish_non_exhaustive()
    }
}

#[async_trait]
impl SchemaProvider for StoreSchema {
    fn table_names(&self) -> Vec<String> {
        self.names.clone()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let (store, is_altered) = (self.store.clone(), self.is_altered.clone());
        let (location, options, name) = (self.location.clone(), self.options.clone(), name.to_owned());
        let opened = blocking(move || {
            let store = current(&store, &is_altered, &location, &options)?;
            // One without columns is named by the error.
            let is_there = store.keyspaces().contains(&name);
            is_there.then(|| keyspace_of(&store, &location, &name, None)).transpose()
        });
        let Some(opened) = opened.await? else { return Ok(None) };
        Ok(Some(Arc::new(OgiveTable::of(vec![opened])?.reopened_by(&self.options).of_schema(&self.is_altered))))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }
}
