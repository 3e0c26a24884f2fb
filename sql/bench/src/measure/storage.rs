//! Storage of the files of a run: the local disk, or an object store that is emulated on it.

use super::data::{RATIOS, events, stream, users};
use super::subject::Subject;
use crate::emulated::{EmulatedStore, StoreCounts};
use crate::error::engine;
use crate::files::TableName;
use crate::session::{register_ogive, register_parquet, register_parquet_at};
use datafusion::error::Result;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::prelude::SessionContext;
use ogive::io::{Meter, ReadCounts};
use ogive::{LocalStorage, Profile, Storage, Table, TableOptions};
use ogive_object_store::{ObjectOptions, ObjectStorage};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The URL of the emulated store.
const EMULATED_URL: &str = "emulated://bucket";

/// Where files lie, and what counts the reads of them.
#[derive(Clone, Debug)]
pub(super) enum Files {
    /// Files of a folder. Only reads of Ogive tables are counted.
    Local { folder: PathBuf, meter: Arc<Meter> },
    /// The same files as objects. All requests are counted.
    Emulated { store: EmulatedStore },
}

impl Files {
    pub(super) fn local(folder: &Path) -> Self {
        let meter = Arc::new(Meter::new(Arc::new(LocalStorage::new(folder))));
        Self::Local { folder: folder.to_owned(), meter }
    }

    pub(super) fn emulated(folder: &Path, profile: Profile) -> Result<Self> {
        Ok(Self::Emulated { store: EmulatedStore::new(folder, profile)? })
    }

    pub(super) fn is_emulated(&self) -> bool {
        matches!(self, Self::Emulated { .. })
    }

    /// Adds all tables to the session of an engine of DataFusion.
    pub(super) async fn register(&self, context: &SessionContext, subject: Subject) -> Result<()> {
        if let Self::Emulated { store } = self {
            let url = ObjectStoreUrl::parse(EMULATED_URL)?;
            context.register_object_store(url.as_ref(), Arc::new(store.clone()));
        }
        for table in [users(), events()] {
            match subject {
                Subject::Ogive | Subject::Cluster => register_ogive(context, self.storage()?, &table)?,
                _ => self.register_parquet(context, &table).await?,
            }
        }
        for ratio in RATIOS {
            self.register_parquet(context, &stream(ratio)).await?;
        }
        Ok(())
    }

    fn storage(&self) -> Result<Arc<dyn Storage>> {
        match self {
            Self::Local { meter, .. } => Ok(meter.clone()),
            Self::Emulated { store } => {
                let options = ObjectOptions::default().profile(store.profile().clone());
                let storage = ObjectStorage::new(Arc::new(store.clone()), "", EMULATED_URL, &options);
                Ok(Arc::new(storage.map_err(engine)?))
            }
        }
    }

    /// Opens a table, and drops it.
    pub(super) fn open(&self, table: &TableName) -> Result<()> {
        Table::open((self.storage()?, &table.ogive()), &TableOptions::default()).map_err(engine)?;
        Ok(())
    }

    async fn register_parquet(&self, context: &SessionContext, table: &TableName) -> Result<()> {
        match self {
            Self::Local { folder, .. } => register_parquet(context, folder, table).await,
            Self::Emulated { .. } => {
                let url = format!("{EMULATED_URL}/{}.parquet", table.name);
                register_parquet_at(context, &url, table).await
            }
        }
    }

    /// The reads of Ogive tables and the requests to the store since the last call.
    pub(super) fn take(&self) -> (Option<ReadCounts>, Option<StoreCounts>) {
        match self {
            Self::Local { meter, .. } => (Some(meter.reset().reads), None),
            Self::Emulated { store } => (None, Some(store.take())),
        }
    }
}
