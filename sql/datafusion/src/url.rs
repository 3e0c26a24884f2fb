//! Paths and URLs as tables of a query: `select * from 'users.ogive'`.

use crate::blocking::blocking;
use crate::relation::OgiveOptions;
use crate::table::OgiveTable;
use async_trait::async_trait;
use datafusion::catalog::{DynamicFileCatalog, TableProvider, UrlTableFactory};
use datafusion::datasource::dynamic_file::DynamicListTableFactory;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::SessionContext;
use datafusion_session::SessionStore;
use ogive::io::remote_url;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// Suffixes of files that DataFusion reads.
const OTHER_SUFFIXES: [&str; 5] = [".parquet", ".csv", ".json", ".avro", ".arrow"];

/// Opens what queries name by its path or URL: a table, an index, an index beside Parquet files, `STORE#KEYSPACE`, or a
/// folder of tables. Each is kept open, and opened again after its file has changed. Other names are passed on.
#[derive(Debug)]
pub(crate) struct OgiveUrls {
    others: Arc<dyn UrlTableFactory>,
    options: OgiveOptions,
    open: Mutex<HashMap<String, Known>>,
}

#[derive(Clone, Debug)]
struct Known {
    stamp: Option<Stamp>,
    table: Arc<OgiveTable>,
}

/// The length of a file of this machine, and when it was changed.
type Stamp = (u64, Option<SystemTime>);

impl OgiveUrls {
    /// Opens with these options, and leaves names of other files to `others`.
    fn new(others: Arc<dyn UrlTableFactory>, options: OgiveOptions) -> Self {
        Self { others, options, open: Mutex::default() }
    }

    fn table(options: &OgiveOptions, known: Option<Known>, path: &str) -> Result<Option<Known>> {
        let stamp = stamp_of(path);
        if let Some(known) = known.filter(|known| stamp.is_some() && known.stamp == stamp) {
            return Ok(Some(known));
        }
        let table = options.open(path)?;
        Ok(table.map(|table| Known { stamp, table: Arc::new(table) }))
    }
}

/// The paths and URLs that are tables of a session: those of Ogive, and files that DataFusion reads.
#[derive(Debug)]
pub struct UrlTables {
    others: Arc<DynamicListTableFactory>,
}

impl UrlTables {
    /// Adds them to the catalogs of a state.
    #[must_use]
    pub fn add_to(state: SessionState, options: OgiveOptions) -> (SessionState, Self) {
        let others = Arc::new(DynamicListTableFactory::new(SessionStore::new()));
        let urls = Arc::new(OgiveUrls::new(others.clone(), options));
        let catalogs = Arc::new(DynamicFileCatalog::new(state.catalog_list().clone(), urls));
        (SessionStateBuilder::from(state).with_catalog_list(catalogs).build(), Self { others })
    }

    /// Has the files of DataFusion read by the settings of a session, which was made of that state.
    pub fn attach(&self, context: &SessionContext) {
        self.others.session_store().with_state(context.state_weak_ref());
    }
}

/// The state of a file of this machine, by which a change is noticed; `None` for anything else, which is opened anew.
fn stamp_of(path: &str) -> Option<Stamp> {
    if remote_url(Path::new(path)).is_some() {
        return None;
    }
    let metadata = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    Some((metadata.len(), metadata.modified().ok()))
}

#[async_trait]
impl UrlTableFactory for OgiveUrls {
    async fn try_new(&self, url: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if OTHER_SUFFIXES.iter().any(|suffix| url.ends_with(suffix)) {
            return self.others.try_new(url).await;
        }
        let known = self.open.lock().unwrap_or_else(PoisonError::into_inner).get(url).cloned();
        let (options, path) = (self.options.clone(), url.to_owned());
        match blocking(move || Self::table(&options, known, &path)).await? {
            Some(known) => {
                let table = known.table.clone();
                self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(url.to_owned(), known);
                Ok(Some(table))
            }
            None if url.ends_with(".ogive") => {
                Err(DataFusionError::Plan(format!("there is no table {url}; check the path")))
            }
            None => self.others.try_new(url).await,
        }
    }
}
