//! Single queries over the emulated object store, for other commands.

use super::data::{prepare, users};
use super::files::MeasuredData;
use super::storage::Files;
use super::subject::{Subject, execute};
use crate::emulated::StoreCounts;
use crate::error::file;
use crate::session::{Limits, session_with_ogive};
use datafusion::error::Result;
use datafusion::prelude::SessionContext;
use ogive::Profile;
use std::path::PathBuf;

/// The data set as objects.
pub(crate) struct ObjectQueries {
    files: Files,
    folder: PathBuf,
}

impl ObjectQueries {
    /// Writes the files, tuned for this profile, unless they are there.
    ///
    /// # Errors
    /// Failed writes.
    pub(crate) fn prepare(data: &MeasuredData, profile: Profile) -> Result<Self> {
        let folder = data.objects_folder()?;
        prepare(&profile, &folder, &data.ids())?;
        Ok(Self { files: Files::emulated(&folder, profile)?, folder })
    }

    /// The bytes of the table `users`.
    ///
    /// # Errors
    /// A file that is not there.
    pub(crate) fn users_bytes(&self) -> Result<u64> {
        let path = self.folder.join(users().ogive());
        Ok(std::fs::metadata(&path).map_err(file("read", &path))?.len())
    }

    async fn session(&self, partitions: usize) -> Result<SessionContext> {
        let limits = Limits { partitions: Some(partitions), ..Limits::default() };
        let context = session_with_ogive(&limits, &[])?;
        self.files.register(&context, Subject::Ogive).await?;
        self.files.take();
        Ok(context)
    }

    /// The requests of a query over tables that have just been opened.
    ///
    /// # Errors
    /// A query that fails.
    pub(crate) async fn run(&mut self, query: &str, partitions: usize) -> Result<StoreCounts> {
        let context = self.session(partitions).await?;
        execute(&context, query).await?;
        Ok(self.files.take().1.unwrap_or_default())
    }

    /// The requests of its planner alone.
    ///
    /// # Errors
    /// A query that cannot be planned.
    pub(crate) async fn plan(&mut self, query: &str, partitions: usize) -> Result<StoreCounts> {
        let context = self.session(partitions).await?;
        context.sql(query).await?.create_physical_plan().await?;
        Ok(self.files.take().1.unwrap_or_default())
    }

    /// The requests that open the table `users`.
    ///
    /// # Errors
    /// A table that cannot be opened.
    pub(crate) fn open(&self) -> Result<StoreCounts> {
        self.files.take();
        self.files.open(&users())?;
        Ok(self.files.take().1.unwrap_or_default())
    }
}
