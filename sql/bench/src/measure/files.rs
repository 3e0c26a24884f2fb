//! The data set as arguments and files, for all commands that measure.

use super::case::Case;
use super::data::{self, UserIds, users};
use super::storage::Files;
use super::subject::Subject;
use crate::error::{failed, file};
use crate::files::{FilesWriter, TableName};
use clap::Args;
use datafusion::error::Result;
use datafusion::prelude::SessionContext;
use ogive::Profile;
use ogive_datafusion::OgiveOptions;
use std::path::PathBuf;
use std::sync::Arc;

/// The data set of measurements.
#[derive(Args, Clone, Debug)]
pub struct MeasuredData {
    /// Users, as in 20K or 10M; there are about 1.2 events for each
    #[arg(long, default_value = "10M", value_parser = rows)]
    pub(super) rows: u64,
    /// Folder of the files, which are written unless they are there
    #[arg(long, value_name = "DIR")]
    pub(super) folder: PathBuf,
    /// Seed of the data set
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
}

fn rows(text: &str) -> std::result::Result<u64, String> {
    let (digits, unit) = match text.to_ascii_uppercase() {
        text if text.ends_with('K') => (text.trim_end_matches('K').to_owned(), 1_000),
        text if text.ends_with('M') => (text.trim_end_matches('M').to_owned(), 1_000_000),
        text => (text, 1),
    };
    let rows = digits.parse::<u64>().ok().and_then(|rows| rows.checked_mul(unit)).filter(|&rows| rows > 0);
    rows.ok_or_else(|| format!("{text:?} is no number of rows; write it as 20K or 10M"))
}

impl MeasuredData {
    pub(super) fn ids(&self) -> UserIds {
        UserIds::new(self.rows, self.seed)
    }

    pub(super) fn absolute_folder(&self) -> Result<PathBuf> {
        std::path::absolute(&self.folder).map_err(file("find", &self.folder))
    }

    /// The folder of the files as objects of an emulated store.
    pub(super) fn objects_folder(&self) -> Result<PathBuf> {
        Ok(self.absolute_folder()?.join("objects"))
    }

    /// Writes the files, tuned for the local disk, unless they are there.
    ///
    /// # Errors
    /// Failed writes.
    pub(crate) fn prepare(&self) -> Result<DataFiles> {
        let (ids, folder) = (self.ids(), self.absolute_folder()?);
        data::prepare(&Profile::default(), &folder, &ids)?;
        Ok(DataFiles { ids, folder, pieces: None })
    }
}

/// The files of the data set on the local disk.
#[derive(Clone, Debug)]
pub(crate) struct DataFiles {
    ids: UserIds,
    folder: PathBuf,
    /// A folder of tables that `users` is cut into.
    pieces: Option<PathBuf>,
}

impl DataFiles {
    pub(crate) fn users(&self) -> u64 {
        self.ids.users()
    }

    /// The first query of a kind.
    ///
    /// # Errors
    /// A kind without queries.
    pub(crate) fn query(&self, case: &Case) -> Result<String> {
        case.round(0, &self.ids).into_iter().next().ok_or_else(|| failed(format!("{} has no queries", case.name)))
    }

    /// The same files, with the users in `count` tables of a folder.
    ///
    /// # Errors
    /// Failed writes.
    pub(crate) fn in_pieces(&self, count: u64) -> Result<Self> {
        let folder = self.folder.join(format!("users-in-{count}"));
        std::fs::create_dir_all(&folder).map_err(file("create", &folder))?;
        let of = |piece: u64| self.ids.users() * piece / count;
        for piece in 0..count {
            let table = TableName { name: format!("users-{piece:05}"), ..users() };
            if folder.join(table.ogive()).exists() {
                continue;
            }
            let rows = data::user_rows(&self.ids, of(piece)..of(piece + 1))?;
            let storage = Arc::new(ogive::LocalStorage::new(&folder));
            let mut writer = FilesWriter::ogive(storage, &table, &rows.schema())?;
            writer.write(&rows)?;
            writer.finish()?;
        }
        Ok(Self { pieces: Some(folder), ..self.clone() })
    }

    /// Adds the tables to the session of a client of a cluster.
    ///
    /// # Errors
    /// Files that cannot be opened.
    pub(crate) async fn register(&self, context: &SessionContext) -> Result<()> {
        Files::local(&self.folder).register(context, Subject::Cluster).await?;
        let Some(folder) = &self.pieces else { return Ok(()) };
        let opened = OgiveOptions::default().open(&format!("{}/", folder.display()))?;
        let table = opened.ok_or_else(|| failed(format!("{} has no tables", folder.display())))?;
        context.deregister_table("users")?;
        context.register_table("users", Arc::new(table))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_units() {
        assert_eq!(rows("20k"), Ok(20_000));
        assert_eq!(rows("10M"), Ok(10_000_000));
        assert_eq!(rows("17"), Ok(17));
        assert!(rows("0").is_err() && rows("M").is_err() && rows("1G").is_err());
    }
}
