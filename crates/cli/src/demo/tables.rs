//! The tables of the demonstration: every order of the files, tuned for every storage.

use super::files::{Files, Order};
use super::lookups::{LookUps, look_up};
use crate::commands::query::{U64_VALUES, VALUE_TYPE};
use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::load::{Target, pour};
use ogive::io::{LocalStorage, Profile};
use ogive::table::{OpenOptions, Table, TableReport, WriteOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// For these storages the tables are tuned.
const PROFILES: [&str; 2] = ["nvme", "s3"];
/// Look-ups in each table, of present and of absent keys.
const LOOK_UPS: usize = 1000;

/// A table, built, opened, and asked.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) order: Order,
    pub(crate) profile: Profile,
    pub(crate) path: PathBuf,
    pub(crate) report: TableReport,
    pub(crate) table: Table,
    pub(crate) present: LookUps,
    pub(crate) absent: LookUps,
}

impl Made {
    /// Name of the file.
    pub(crate) fn name(&self) -> String {
        name(self.order, &self.profile)
    }
}

/// Builds all tables in `folder`, replacing those of an earlier run, and looks keys up in them.
///
/// # Errors
/// Whatever the engine reports; a file of such a name that is no table is refused.
pub(crate) fn make_all(files: &Files, folder: &Path, interrupt: &Interrupt) -> Result<Vec<Made>> {
    let mut made = Vec::new();
    for order in [Order::Path, Order::Time] {
        for profile in PROFILES {
            made.push(make(files, order, Profile::named(profile)?, folder, interrupt)?);
        }
    }
    Ok(made)
}

fn make(files: &Files, order: Order, profile: Profile, folder: &Path, interrupt: &Interrupt) -> Result<Made> {
    let name = name(order, &profile);
    let mut options = WriteOptions { profile: profile.clone(), replace: true, ..WriteOptions::default() };
    if order == Order::Time {
        options.properties.push((VALUE_TYPE.into(), U64_VALUES.to_vec()));
    }
    let storage = Arc::new(LocalStorage::new(folder));
    let target = Target { storage: storage.clone(), name: name.clone(), options, memory_bytes: 0 };
    let report = pour(&mut files.input(order), &target, false, &format!("building {name}"), interrupt)?;
    // So little memory that hardly any block is found in it: the counts are those of cold look-ups.
    let budget_bytes = report.resident_bytes + 4 * report.data_max_read_bytes.max(4096);
    let table = Table::open(storage, &name, &OpenOptions { budget_bytes, profile: profile.clone() })?;
    let present = look_up(&table, files, order, true, LOOK_UPS)?;
    let absent = look_up(&table, files, order, false, LOOK_UPS)?;
    Ok(Made { order, profile, path: folder.join(name), report, table, present, absent })
}

fn name(order: Order, profile: &Profile) -> String {
    let data = match order {
        Order::Path => "paths",
        Order::Time => "times",
    };
    format!("{data}-{}.ogive", profile.name())
}
