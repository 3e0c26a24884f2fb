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
use std::sync::Arc;

/// The keyspaces of a store, as of one time, as tables: register it by
/// [`CatalogProvider::register_schema`](datafusion::catalog::CatalogProvider::register_schema).
pub struct StoreSchema {
    store: Db,
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
                Ok(Self { store, names, location: location.to_owned(), options: options.clone() })
            }
            None => plan_err!("{location} is no store; check the path"),
        }
    }
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
        // One without columns is named by the error.
        if !self.store.keyspaces().iter().any(|known| known == name) {
            return Ok(None);
        }
        let (store, location, name) = (self.store.clone(), self.location.clone(), name.to_owned());
        let opened = blocking(move || keyspace_of(&store, &location, &name, None)).await?;
        Ok(Some(Arc::new(OgiveTable::of(vec![opened])?.reopened_by(&self.options))))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }
}
