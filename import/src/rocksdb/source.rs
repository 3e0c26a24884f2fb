//! A folder of RocksDB as a source.

use super::lock::FolderLock;
use super::options::FamilyOptions;
use crate::arguments::Arguments;
use crate::choice::Choice;
use crate::failure::{Failure, Result};
use crate::source::{Found, LeftOut, Source, Visit, unreadable};
use ogive::types::RecordType;
use rocksdb::{DB, DBRecoveryMode, IteratorMode, Options, ReadOptions};

/// The column family that every folder has.
const DEFAULT: &str = "default";
/// Files that are open at once.
const OPEN_FILES: i32 = 256;
/// Bytes that are read ahead.
const READ_AHEAD_BYTES: usize = 2 << 20;

/// An open folder, and its column families that are imported.
struct RocksdbSource<'a> {
    arguments: &'a Arguments,
    db: DB,
    found: Vec<Found>,
    names: Vec<String>,
    _lock: FolderLock,
}

/// Opens a folder.
///
/// # Errors
/// `Failure::Source`, `Failure::Refused`.
pub(crate) fn open<'a>(arguments: &'a Arguments, choice: &Choice) -> Result<Box<dyn Source + 'a>> {
    let folder = &arguments.source;
    let lock = FolderLock::take(folder)?;
    let families = FamilyOptions::read(folder).map_err(|error| unreadable(arguments, error))?;
    let mut options = Options::default();
    options.set_max_open_files(OPEN_FILES);
    // By default, it ends the log at the first damage, or at a merge, without a word. Here only a torn tail is left
    // out.
    options.set_wal_recovery_mode(DBRecoveryMode::TolerateCorruptedTailRecords);
    let names = DB::list_cf(&options, folder).map_err(|error| unreadable(arguments, error))?;
    let chosen: Vec<&String> = names.iter().filter(|name| choice.takes(name)).collect();
    for name in &chosen {
        check(name, &families)?;
    }
    let found: Vec<Found> = chosen.iter().map(|name| found(name, &families)).collect();
    // Its library opens the default column family with any others.
    let mut opened: Vec<&str> = chosen.iter().map(|name| &***name).collect();
    if !opened.contains(&DEFAULT) {
        opened.push(DEFAULT);
    }
    let db = DB::open_cf_for_read_only(&options, folder, opened, false).map_err(|error| failure(arguments, &error))?;
    Ok(Box::new(RocksdbSource { arguments, db, found, names, _lock: lock }))
}

/// Refuses a column family that only its program can read.
fn check(name: &str, families: &FamilyOptions) -> Result<()> {
    let hint = format!("export it with the program that wrote it, or leave it out with --skip {name}");
    if let Some(comparator) = families.comparator(name) {
        let message = format!("the column family {name:?} has the comparator {comparator}; a store compares bytes");
        return Err(Failure::refused(message, hint));
    }
    match families.merge_operator(name) {
        Some(operator) => Err(Failure::refused(
            format!("the column family {name:?} has the merge operator {operator}, which only its program has"),
            hint,
        )),
        None => Ok(()),
    }
}

fn found(name: &str, families: &FamilyOptions) -> Found {
    let remark = "it was opened with a time to live: its values end with 4 bytes of time, and are imported with them";
    let remarks = if families.has_times(name) { vec![remark.to_owned()] } else { Vec::new() };
    let (name, types) = (name.to_owned(), RecordType::default());
    Found { name, types, records: None, indexes: Vec::new(), remarks }
}

/// The failure of an error of RocksDB. Without a file of options, it finds foreign objects itself.
fn failure(arguments: &Arguments, error: &rocksdb::Error) -> Failure {
    let told = error.to_string();
    let is_foreign = told.contains("omparator") || told.contains("merge_operator") || told.contains("merge operator");
    match is_foreign {
        true => Failure::refused(
            format!("{}: {told}", arguments.source.display()),
            "export it with the program that wrote it, or name the other column families with --only NAME",
        ),
        false => unreadable(arguments, told),
    }
}

impl Source for RocksdbSource<'_> {
    fn found(&self) -> &[Found] {
        &self.found
    }

    fn names(&self) -> &[String] {
        &self.names
    }

    fn left_out(&self) -> &[LeftOut] {
        &[]
    }

    fn read(&self, at: usize, visit: &mut Visit<'_>) -> Result<()> {
        let Some(found) = self.found.get(at) else { return Ok(()) };
        let Some(family) = self.db.cf_handle(&found.name) else { return Ok(()) };
        let mut options = ReadOptions::default();
        options.fill_cache(false);
        options.set_readahead_size(READ_AHEAD_BYTES);
        for entry in self.db.iterator_cf_opt(family, options, IteratorMode::Start) {
            let (key, value) = entry.map_err(|error| failure(self.arguments, &error))?;
            visit(&key, &value)?;
        }
        Ok(())
    }
}
