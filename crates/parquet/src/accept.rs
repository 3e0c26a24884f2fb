//! Acceptance of data files that have other times than those that were indexed, as after a copy: what they hold is
//! compared with the index, which then has their times.

use crate::build::{self, BuildOptions};
use crate::catalog::Catalog;
use crate::error::Result;
use crate::folder::Folder;
use crate::index::ParquetIndex;
use crate::open_data;
use crate::place::Place;
use crate::update;
use crate::verify::VerifyReport;
use ogive::Storage;
use ogive::table::{Table, TableOptions};
use std::sync::Arc;

impl ParquetIndex {
    /// Verifies an index as [`Self::verify`] does, with data files of other times than those that were indexed: as a
    /// copy has them, or what `touch` leaves. If nothing else is wrong, the index is replaced by one with their times.
    /// Returns what was found, and the number of the files that had other times.
    ///
    /// Of the options, `table`, `memory_bytes` and `scratch` are used.
    ///
    /// Values of columns that are not of the key have no copy in the index: that they are the same is taken from the
    /// length and the footer of a file, and from the places of its pages.
    ///
    /// # Errors
    /// As [`Self::open`] and [`Self::verify`]; those of writing the index; [`ogive::Cause::Locked`] and
    /// [`ParquetIndexError::Replaced`](crate::ParquetIndexError::Replaced) as of [`Self::update`].
    pub fn accept(
        storage: Arc<dyn Storage>,
        name: &str,
        folder: Arc<dyn Folder>,
        options: BuildOptions,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(VerifyReport, u64)> {
        let reading = TableOptions::default().profile(options.table.profile.clone());
        let place = Place::claim(storage, name)?;
        let open = Table::open((place.storage.clone(), name), &reading)?;
        let mut catalog = Catalog::of_table(&open)?;
        let accepted = with_times_of_now(&mut catalog, &*folder)?;
        let index = Self::of_catalog(open, catalog.clone(), folder.clone(), &reading)?;
        let report = index.verify(progress)?;
        if !report.is_sound() || accepted == 0 {
            return Ok((report, accepted));
        }
        let options = BuildOptions { table: options.table.replace(true), ..options };
        if catalog.runs.is_some() {
            build::write_catalog(&place, &index.inner.data, &catalog, options.table)?;
        } else {
            update::write_again(&index, &place, folder, options, catalog)?;
        }
        Ok((report, accepted))
    }
}

/// Gives files that have the length of those that were indexed their times of now. Returns how many had others.
fn with_times_of_now(catalog: &mut Catalog, folder: &dyn Folder) -> Result<u64> {
    let mut accepted = 0;
    for stated in &mut catalog.files {
        // What cannot be opened, or has another length, is found by the verification.
        let Ok(file) = open_data::open_now(folder, &catalog.root, &stated.path) else { continue };
        let modified_ns = file.modified_ns().unwrap_or(0);
        if file.len() == stated.bytes && modified_ns != stated.modified_ns {
            stated.modified_ns = modified_ns;
            accepted += 1;
        }
    }
    Ok(accepted)
}
