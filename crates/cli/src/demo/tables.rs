//! The tables of the demonstration: of the files, one per order and storage.

use super::files::{Files, Order};
use super::lookups::{ColdTable, LookUps, look_up};
use crate::commands::tune::{Compared, Row, compare};
use crate::failure::Result;
use crate::input::Input;
use crate::interrupt::Interrupt;
use crate::load::{Target, pour};
use crate::replace::{OutputKind, claim};
use ogive::io::{LocalStorage, Profile};
use ogive::table::{ReadTrace, Table, TableOptions, TableReport, TableWriteOptions};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Storages that the tables are tuned for.
const PROFILES: [&str; 2] = ["nvme", "s3"];
/// Designs compared with the tuned ones, with blocks of 4 KiB.
const FIXED_DESIGNS: [&str; 2] = ["coded", "btree"];
pub(super) const FIXED_BLOCK_BYTES: u32 = 4096;
/// Lookups per table, of present and of absent keys.
pub(super) const LOOK_UPS: usize = 1000;

/// A table with the results of its lookups.
#[derive(Debug)]
pub(crate) struct DemoTable {
    pub(crate) profile: Profile,
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) report: TableReport,
    pub(crate) table: Table,
    pub(crate) present: LookUps,
    pub(crate) absent: LookUps,
}

impl DemoTable {
    /// A cold lookup through the page cache.
    pub(crate) fn get(&self, key: &[u8]) -> Result<(Option<Vec<u8>>, ReadTrace)> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let cold = ColdTable { storage: Arc::new(LocalStorage::new(folder)), name: &self.name };
        let (_, value, trace) = cold.get(key)?;
        Ok((value, trace))
    }

    /// The table and its lookups as an object.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "path": self.path.display().to_string(),
            "profile": self.profile.name(),
            "modelled_us": self.report.modelled_us(&self.profile),
            "report": self.report,
            "present": self.present,
            "absent": self.absent,
        })
    }
}

/// The tables of one order of the files.
#[derive(Debug)]
pub(crate) struct Data {
    pub(crate) order: Order,
    /// One table per storage.
    pub(crate) tables: Vec<DemoTable>,
    /// Other designs over the same records, discarded.
    pub(crate) fixed: Vec<Row>,
}

/// The storages.
pub(crate) fn profiles() -> Result<Vec<Profile>> {
    Ok(PROFILES.into_iter().map(Profile::named).collect::<ogive::Result<_>>()?)
}

/// Builds all tables in `folder`, replacing those of an earlier run, and runs lookups.
///
/// # Errors
/// Errors of the engine; a file of that name that is not a table is refused.
pub(crate) fn make_all(files: &Files, folder: &Path, interrupt: &Interrupt) -> Result<Vec<Data>> {
    let mut all = Vec::new();
    for order in [Order::Path, Order::Time] {
        let mut tables = Vec::new();
        for profile in profiles()? {
            let options = TableWriteOptions::default();
            let made = Made { name: name(order, &profile), profile, options, folder, interrupt };
            let keys = |present| files.some_keys(order, present, LOOK_UPS);
            tables.push(make(&made, &mut files.input(order), keys)?);
        }
        // Fixed designs do not depend on the storage.
        let designs: Vec<_> =
            FIXED_DESIGNS.into_iter().map(|name| Ok((name.to_owned(), name.parse()?))).collect::<ogive::Result<_>>()?;
        let open = || Ok(Box::new(files.input(order)) as Box<dyn Input>);
        let data =
            Compared { options: &TableWriteOptions::default(), lookups: None, fixed_block_bytes: FIXED_BLOCK_BYTES };
        let (fixed, _) = compare(&designs, &data, interrupt, open)?;
        all.push(Data { order, tables, fixed });
    }
    Ok(all)
}

/// What a table is to be.
pub(super) struct Made<'a> {
    pub(super) name: String,
    pub(super) profile: Profile,
    pub(super) options: TableWriteOptions,
    pub(super) folder: &'a Path,
    pub(super) interrupt: &'a Interrupt,
}

/// Builds a table of an input, and looks up `keys` in it: those that are there, and absent ones.
pub(super) fn make<K: Iterator<Item = Vec<u8>>>(
    made: &Made<'_>,
    input: &mut dyn Input,
    keys: impl Fn(bool) -> K,
) -> Result<DemoTable> {
    let &Made { ref name, ref profile, ref options, folder, interrupt } = made;
    let options = options.clone().profile(profile.clone()).replace(true);
    let place = claim(&folder.join(name), OutputKind::Table, &[], None)?;
    let storage = place.storage(LocalStorage::new);
    let target = Target { storage: storage.clone(), name: place.name.clone(), options, memory_bytes: 0, lookups: None };
    let poured = pour(input, &target, false, &format!("building {name}"), interrupt);
    let report = poured.map_err(|failure| place.left(failure))?;
    let table = Table::open((storage, &place.name), &TableOptions::default())?;
    let cold = ColdTable { storage: Arc::new(LocalStorage::direct(folder)), name };
    let present = look_up(&cold, keys(true), true)?;
    let absent = look_up(&cold, keys(false), false)?;
    let (profile, name, path) = (profile.clone(), name.clone(), folder.join(name));
    Ok(DemoTable { profile, path, name, report, table, present, absent })
}

fn name(order: Order, profile: &Profile) -> String {
    let data = match order {
        Order::Path => "paths",
        Order::Time => "times",
    };
    format!("{data}-{}.ogive", profile.name())
}
