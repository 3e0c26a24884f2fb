//! `ogive repair`: saves the undamaged parts of a table or an index in a new file, and repairs stores.

use super::{db, index};
use crate::advice::{Foreign, foreign, index_of_segment};
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::output::{Output, note};
use crate::places::{folder_of, may_be_store};
use crate::progress::{Progress, Unit};
use crate::replace::{OutputFile, OutputKind, claim};
use crate::shell::shell_path;
use crate::values::key;
use crate::values::size::{ByteSize, counted, grouped};
use ogive::index::IndexOptions;
use ogive::io::{LenientStorage, LocalStorage, StoppableStorage, Storage};
use ogive::lsm::is_store_file;
use ogive::page::PageOptions;
use ogive::repair::{FileRepairReport, LostRange, repair_index, repair_table};
use ogive::table::{Table, TableOptions};
use ogive::{Cause, Error, FileFormat, KeyType};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  ogive repair words.ogive                  save its undamaged records in words.repaired.ogive
  ogive repair ids.ogx -o saved.ogx --json  save the entries of its intact leaves in saved.ogx
  cp -r fruit.db copy.db && ogive repair copy.db
                                            repair a store in its folder
  cp ids.ogx copy.ogx && ogive repair ids.ogx --in-place --accept-loss
                                            recover an index without its log

Never changes a damaged table or index without --in-place. Saves all records of undamaged blocks of a table, and all
entries of intact leaves of an index, in a new file, and names the ranges of keys in which others are lost. Writes
nothing if the file is sound.

A store is repaired in its folder: copy it first. Keeps everything that passes its checksums: entries of intact blocks,
intact values, and log groups before the first damaged one. Reports what is lost. If the newest entry of a key is lost,
an older one may reappear. Removes damaged files.

--in-place is for an index that does not open because its log is missing or damaged. Checks every page of the last
checkpoint and keeps that state; all later commits are lost, and their number is unknown. Does not change an index that
opens, or one with damaged pages.";

/// Ranges shown in text output.
const SHOWN_RANGES: usize = 20;

/// Save the undamaged parts of a table or index in a new file, or repair a store
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RepairArguments {
    /// Table, index or folder of a store
    #[arg(value_name = "PATH")]
    path: PathBuf,

    /// New file; there must be none of that name [default: as PATH, with .repaired before its suffix]
    #[arg(short, long, value_name = "NEW")]
    output: Option<PathBuf>,

    /// For an index whose log is lost: recover it in its file, as of its last checkpoint, and report the loss
    #[arg(long, conflicts_with = "output")]
    in_place: bool,

    /// With --in-place: discard all commits since the last checkpoint; without this option, nothing is changed
    #[arg(long, requires = "in_place")]
    accept_loss: bool,

    /// Upper limit of memory, caches included
    #[arg(long, value_name = "N", default_value = "256MiB")]
    memory: ByteSize,
}

/// Kinds of files that can be repaired.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Table,
    Index,
}

/// Runs the command.
pub(crate) fn run(arguments: &RepairArguments, output: &mut Output) -> Result<Outcome> {
    let path = &arguments.path;
    if crate::urls::is_url(path) {
        return Err(Failure::refused(
            format!("{} is in an object store, and is not repaired there", path.display()),
            "copy it to a file system, repair the copy, and copy that back",
        ));
    }
    if path.is_dir() {
        if arguments.output.is_some() && may_be_store(path) {
            let hint = "leave out -o; copy the folder first";
            return Err(Failure::usage("a store is repaired in its folder, not in a new one", hint));
        }
        if arguments.in_place && may_be_store(path) {
            return Err(Failure::usage("a store is always repaired in its folder", "leave out --in-place"));
        }
        return db::repair(&db::StoreFolder::at(path.clone(), arguments.memory, None), output);
    }
    if arguments.in_place {
        return recover(arguments, output);
    }
    let interrupt = Interrupt::watch();
    let pages = PageOptions::default().memory_bytes(arguments.memory.0);
    let (folder, name) = LocalStorage::split_path(path)?;
    let storage: Arc<dyn Storage> = StoppableStorage::new(Arc::new(LocalStorage::new(folder)), interrupt.flag());
    // What is no file is told as such.
    storage.open(&name)?;
    let storage = LenientStorage::around(&storage);
    let kind = kind_of(path, (&storage, &name))?;
    let is_sound = match beside(kind, (&storage, &name), &pages) {
        Some(table) => check_beside(path, table).map(|()| true)?,
        None => is_sound(path, kind, (&storage, &name), &pages)?,
    };
    if is_sound {
        if output.is_json() {
            output.json(&json!({ "sound": true, "repaired": false }))?;
        } else {
            output.line(format_args!("{}: sound; nothing to repair", path.display()))?;
        }
        return Ok(Outcome::Done);
    }
    let new = arguments.output.clone().unwrap_or_else(|| name_of_new(path));
    let place = claim(&new, OutputKind::Plain, &[path], None)?;
    let report = copy(kind, (&storage, &name), &place, &pages, &interrupt).map_err(|failure| place.left(failure))?;
    if report.saved_records == 0 {
        let message = format!("{}: {}", path.display(), all_lost(report.lost_records, report.lost_commits.as_deref()));
        return Err(Failure::refused(message, "restore it from a copy, or build it again"));
    }
    print(&report, path, &new, output)?;
    Ok(Outcome::Done)
}

/// Recovers an index in its file.
fn recover(arguments: &RepairArguments, output: &mut Output) -> Result<Outcome> {
    let path = &arguments.path;
    if FileFormat::at(path)? == Some(FileFormat::Table) {
        let hint = "leave out --in-place: what is undamaged of it is saved in a new file";
        return Err(Failure::usage(format!("{} is a table, which is never changed", path.display()), hint));
    }
    let file = index::IndexFile::at(path.clone(), arguments.memory, ByteSize(0), false);
    index::recover(&file, arguments.accept_loss, output)
}

/// What is lost if nothing can be saved.
fn all_lost(records: u64, cause_of_lost_commits: Option<&str>) -> String {
    let commits = cause_of_lost_commits
        .map(|cause| format!("the commits after the damage to its log are lost, and their number is unknown: {cause}"));
    match (records, commits) {
        (0, None) => "it has no records to save".into(),
        (0, Some(commits)) => format!("nothing can be saved: {commits}"),
        (1, None) => "its 1 record is lost".into(),
        (1, Some(commits)) => format!("its 1 record is lost, and {commits}"),
        (lost, None) => format!("all {} records are lost", grouped(lost)),
        (lost, Some(commits)) => format!("all {} records are lost, and {commits}", grouped(lost)),
    }
}

/// Whether a file is a table or an index.
fn kind_of(path: &Path, (storage, name): (&Arc<dyn Storage>, &str)) -> Result<Kind> {
    let shown = path.display();
    if is_store_file(path).unwrap_or(false) {
        let hint = format!("`ogive repair {}` repairs the store", shell_path(folder_of(path)));
        return Err(Failure::refused(format!("{shown} is a file of a store"), hint));
    }
    let format = FileFormat::of_file(&*storage.open(name)?)?;
    if let (None, Some(part)) = (format, storage.unreadable().first()) {
        return Err(part.to_error().into());
    }
    match format {
        Some(FileFormat::Table) => Ok(Kind::Table),
        Some(FileFormat::PageFile) => Ok(Kind::Index),
        Some(FileFormat::PageLog) => {
            let index = index_of_segment(path).unwrap_or_default();
            let hint = format!("`ogive repair {}` uses it", shell_path(&index));
            Err(Failure::refused(format!("{shown} is a log segment of an index"), hint))
        }
        _ => Err(Failure::refused(
            match foreign(path) {
                Some(found @ (Foreign::Input(_) | Foreign::Profile(_))) => {
                    format!("{shown} is {found}, not a table or an index")
                }
                _ => format!(
                    "{shown} is no file of Ogive, or was cut off before its tail, without which nothing can be saved"
                ),
            },
            "check the path, restore the file from a copy, or build it again",
        )),
    }
}

/// The default name of the new file.
fn name_of_new(path: &Path) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(".repaired");
    let mut new = path.with_file_name(name).into_os_string();
    if let Some(suffix) = path.extension() {
        new.push(".");
        new.push(suffix);
    }
    new.into()
}

fn is_sound(path: &Path, kind: Kind, (storage, name): (&Arc<dyn Storage>, &str), pages: &PageOptions) -> Result<bool> {
    match kind {
        Kind::Table => {
            match Table::open((Arc::clone(storage), name), &TableOptions::default().memory_bytes(pages.memory_bytes)) {
                Ok(table) => {
                    let verified = Progress::during("verifying", Unit::Bytes, |progress| table.verify(progress));
                    Ok(verified?.is_sound())
                }
                // An error that the repair explains.
                Err(Error { cause: Cause::Damaged | Cause::NotATable | Cause::Changed, .. }) => Ok(false),
                Err(error) => Err(Failure::of_opening(path, error)),
            }
        }
        Kind::Index => Ok(index::verify_at(storage, name, pages)?.is_ok()),
    }
}

/// The table that holds an index of Parquet files, if the file is one that opens.
fn beside(kind: Kind, (storage, name): (&Arc<dyn Storage>, &str), pages: &PageOptions) -> Option<Table> {
    let options = TableOptions::default().memory_bytes(pages.memory_bytes);
    let open = || Table::open((Arc::clone(storage), name), &options).ok();
    matches!(kind, Kind::Table).then(open).flatten().filter(crate::places::is_beside)
}

/// Checks an index of Parquet files, which a copy of some of its records would not be.
#[cfg(feature = "parquet")]
fn check_beside(path: &Path, table: Table) -> Result<()> {
    crate::beside::verify::check_sound(path, table)
}

#[cfg(not(feature = "parquet"))]
fn check_beside(path: &Path, _: Table) -> Result<()> {
    let message = format!("{} is an index of Parquet files", path.display());
    Err(Failure::refused(message, "this program was built without the feature parquet"))
}

fn copy(
    kind: Kind,
    (storage, name): (&Arc<dyn Storage>, &str),
    place: &OutputFile,
    pages: &PageOptions,
    interrupt: &Interrupt,
) -> Result<FileRepairReport> {
    let new: Arc<dyn Storage> = StoppableStorage::new(place.storage(LocalStorage::new), interrupt.flag());
    let (from, to) = ((storage, name), (&new, place.name.as_str()));
    Ok(Progress::during("repairing", Unit::Items, |progress| match kind {
        Kind::Table => repair_table(from, to, progress),
        Kind::Index => repair_index(from, to, &IndexOptions::default().pages(pages.clone()), progress),
    })?)
}

fn print(report: &FileRepairReport, path: &Path, new: &Path, output: &mut Output) -> Result<()> {
    let key_type = report.key_type;
    if output.is_json() {
        let key = |key: &Option<Vec<u8>>| key.as_ref().map_or(Value::Null, |key| key::to_json(key_type, key));
        let range = |range: &LostRange| {
            json!({
                "after": key(&range.after),
                "before": key(&range.before),
                "records": range.records,
                "is_exact": range.is_exact,
            })
        };
        return output.json(&json!({
            "sound": false,
            "repaired": true,
            "output": new.display().to_string(),
            "key_type": key_type.to_string(),
            "saved_records": report.saved_records,
            "lost_records": report.lost_records,
            "lost_ranges": report.lost_ranges.iter().map(range).collect::<Vec<_>>(),
            "lost_commits": report.lost_commits,
        }));
    }
    let lost =
        if report.lost_records == 0 { "none lost".into() } else { format!("{} lost", grouped(report.lost_records)) };
    output.line(format_args!(
        "{}: {} saved in {}, {lost}",
        path.display(),
        counted(report.saved_records, "record"),
        new.display()
    ))?;
    for range in report.lost_ranges.iter().take(SHOWN_RANGES) {
        let about = if range.is_exact { "" } else { "about " };
        output.line(format_args!("lost {}: {about}{}", place_of(range, key_type), counted(range.records, "record")))?;
    }
    let more = report.lost_ranges.len().saturating_sub(SHOWN_RANGES) as u64;
    if more > 0 {
        output.line(format_args!("and in {} more; --json lists them", counted(more, "range")))?;
    }
    output.flush()?;
    if let Some(cause) = &report.lost_commits {
        note(format_args!("unknown: the number of commits lost after the damage to the log: {cause}"));
    }
    Ok(())
}

/// The place of a lost range among the saved keys.
fn place_of(range: &LostRange, key_type: KeyType) -> String {
    let shown = |key: &[u8]| match key_type {
        KeyType::Text | KeyType::Bytes | KeyType::FixedBytes(_) => format!("'{}'", key::shown(key_type, key)),
        _ => key::shown(key_type, key).into_owned(),
    };
    match (&range.after, &range.before) {
        (Some(after), Some(before)) if after == before => format!("among the records of {}", shown(after)),
        (Some(after), Some(before)) => format!("between {} and {}", shown(after), shown(before)),
        (Some(after), None) => format!("after {}", shown(after)),
        (None, Some(before)) => format!("before {}", shown(before)),
        (None, None) => "everywhere".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_nothing_it_is_not_said_that_all_0_records_are_lost() {
        assert_eq!(all_lost(0, None), "it has no records to save");
        assert_eq!(all_lost(1, None), "its 1 record is lost");
        assert_eq!(all_lost(1200, None), "all 1,200 records are lost");
        let commits =
            "the commits after the damage to its log are lost, and their number is unknown: f.log-1, byte 0: x";
        let cause = Some("f.log-1, byte 0: x");
        assert_eq!(all_lost(0, cause), format!("nothing can be saved: {commits}"));
        assert_eq!(all_lost(1, cause), format!("its 1 record is lost, and {commits}"));
        assert_eq!(all_lost(2, cause), format!("all 2 records are lost, and {commits}"));
    }

    #[test]
    fn the_new_file_keeps_the_suffix() {
        for (path, new) in
            [("a/words.ogive", "a/words.repaired.ogive"), ("ids", "ids.repaired"), ("a.b/c", "a.b/c.repaired")]
        {
            assert_eq!(name_of_new(Path::new(path)), Path::new(new));
        }
    }
}
