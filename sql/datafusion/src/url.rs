//! Paths and URLs of tables as tables of a query: `select * from 'users.ogive'`.

use crate::error::external;
use crate::table::OgiveTable;
use async_trait::async_trait;
use datafusion::catalog::{TableProvider, UrlTableFactory};
use datafusion::error::{DataFusionError, Result};
use ogive::io::locate;
use ogive::{Error, Table, TableOptions};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Opens the tables that queries name by their paths or URLs, each once. Names that are no Ogive tables are passed on.
#[derive(Debug)]
pub struct OgiveUrls {
    others: Arc<dyn UrlTableFactory>,
    options: TableOptions,
    open: Mutex<HashMap<String, Arc<OgiveTable>>>,
}

impl OgiveUrls {
    /// Opens tables with these options, and leaves other names to `others`.
    #[must_use]
    pub fn new(others: Arc<dyn UrlTableFactory>, options: TableOptions) -> Self {
        Self { others, options, open: Mutex::default() }
    }

    fn table(&self, path: &str) -> ogive::Result<Option<Arc<OgiveTable>>> {
        let known = self.open.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned();
        if known.is_some() {
            return Ok(known);
        }
        let place = locate(path)?;
        let table = match Table::open(place.storage, &place.name, &self.options) {
            Ok(table) => Arc::new(OgiveTable::new(table)?),
            Err(Error::NotATable { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), table.clone());
        Ok(Some(table))
    }
}

#[async_trait]
impl UrlTableFactory for OgiveUrls {
    async fn try_new(&self, url: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if !url.ends_with(".ogive") {
            return self.others.try_new(url).await;
        }
        // Storage is waited for on this thread once for each table.
        match self.table(url) {
            Ok(Some(table)) => Ok(Some(table)),
            Ok(None) => Err(DataFusionError::Plan(format!("{url} is not an Ogive table; check the path"))),
            Err(error) => Err(external(error)),
        }
    }
}
