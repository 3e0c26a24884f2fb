//! `CREATE EXTERNAL TABLE name STORED AS OGIVE LOCATION '...'`.

use crate::blocking::blocking;
use crate::relation::OgiveOptions;
use crate::table::OgiveTable;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory};
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::logical_expr::CreateExternalTable;
use std::sync::Arc;

/// The option that names the keyspace of a store.
const KEYSPACE_OPTION: &str = "format.keyspace";

/// Opens external tables that are stored as `OGIVE`: a table file, an index, an index beside Parquet files, a store, or
/// a folder of tables. `OPTIONS (keyspace 'orders')` names a keyspace of a store.
#[derive(Debug, Default)]
pub struct OgiveTableFactory {
    options: OgiveOptions,
}

impl OgiveTableFactory {
    /// Opens with these options.
    #[must_use]
    pub fn new(options: OgiveOptions) -> Self {
        Self { options }
    }

    fn open(options: &OgiveOptions, location: &str, keyspace: Option<&str>) -> Result<OgiveTable> {
        match keyspace {
            Some(keyspace) => options.open_keyspace(location, keyspace),
            None => match options.open(location)? {
                Some(table) => Ok(table),
                None => plan_err!("there is no Ogive table at {location}; check the path, and STORED AS"),
            },
        }
    }
}

#[async_trait]
impl TableProviderFactory for OgiveTableFactory {
    async fn create(&self, _: &dyn Session, command: &CreateExternalTable) -> Result<Arc<dyn TableProvider>> {
        let [location] = &command.locations[..] else {
            return plan_err!("an Ogive table has one location; name the folder of several tables");
        };
        if !command.schema.fields().is_empty() {
            return plan_err!("{location} states its columns itself; leave them out of CREATE EXTERNAL TABLE");
        }
        if !command.table_partition_cols.is_empty() || !command.order_exprs.is_empty() {
            return plan_err!(
                "{location} has the order of its key and no partitions; leave WITH ORDER and PARTITIONED BY out"
            );
        }
        if let Some(unknown) = command.options.keys().find(|name| *name != KEYSPACE_OPTION) {
            let unknown = unknown.trim_start_matches("format.");
            return plan_err!("Ogive tables have no option '{unknown}'; there is 'keyspace', of stores");
        }
        let (options, location) = (self.options.clone(), location.clone());
        let keyspace = command.options.get(KEYSPACE_OPTION).cloned();
        Ok(Arc::new(blocking(move || Self::open(&options, &location, keyspace.as_deref())).await?))
    }
}
