//! Crash tests of table writers. Goal: after a power failure at any moment a name has its old table, its new one, or
//! none, each complete. Method: every mutating call of a writer fails once, and each disk state that may result is
//! opened, searched and verified; then the next writer of the name must succeed and clean up.

use ogive::io::{LocalStorage, MemoryStorage, Storage};
use ogive::table::{Table, TableOptions, TableWriteOptions, TableWriter};
use ogive::{Cause, Error, KeyType, Result};
use ogive_testkit::{CrashOptions, SimulatedDisk, enumerate_crashes};
use std::io::ErrorKind;
use std::sync::Arc;

fn options(replace: bool) -> TableWriteOptions {
    TableWriteOptions::default().key_type(KeyType::U64).block_bytes(512).replace(replace)
}

/// Writes a table of records with values of this byte, including one of several chunks, so that the file is written in
/// parts.
fn write(disk: &SimulatedDisk, mark: u8, replace: bool) -> Result<()> {
    let mut writer = TableWriter::create((Arc::new(disk.clone()), "t"), options(replace))?;
    for i in 0..300_u64 {
        let length = if i % 100 == 50 { 900_000 } else { 24 };
        writer.append(&(i * 3).to_be_bytes(), &vec![mark; length])?;
    }
    writer.finish()?;
    Ok(())
}

/// The mark of the table found, which must be complete.
fn mark_of(disk: &SimulatedDisk) -> std::result::Result<Option<u8>, String> {
    if !disk.exists("t").map_err(|error| error.to_string())? {
        return Ok(None);
    }
    let read = || -> Result<(u8, bool)> {
        let table = Table::open((Arc::new(disk.clone()), "t"), &TableOptions::default())?;
        let mark = table.get(&0_u64.to_be_bytes())?.map_or(0, |value| value[0]);
        let report = table.verify(&mut |_, _| {})?;
        let values = table.iter().all(|record| record.is_ok_and(|(_, value)| value.iter().all(|&byte| byte == mark)));
        Ok((mark, report.is_sound() && report.records == 300 && values))
    };
    match read() {
        Ok((mark, true)) => Ok(Some(mark)),
        Ok((mark, false)) => Err(format!("the table with mark {mark} is not whole")),
        Err(error) => Err(error.to_string()),
    }
}

/// The next writer succeeds, and leaves nothing but its table.
fn writes_again(disk: &SimulatedDisk) -> std::result::Result<(), String> {
    let again = disk.fork();
    write(&again, 9, true).map_err(|error| format!("the next writer failed: {error}"))?;
    let left: Vec<String> = again.files().into_keys().collect();
    if mark_of(&again)? != Some(9) || left != ["t"] {
        return Err(format!("the next writer left {left:?}"));
    }
    Ok(())
}

fn crash_everywhere(start: &SimulatedDisk, old: Option<u8>) {
    let crashes = CrashOptions { random_images: 4, ..CrashOptions::default() };
    let report = enumerate_crashes(
        crashes,
        start,
        |disk| write(disk, 2, old.is_some()).is_ok(),
        |&acknowledged, disk, point| {
            let found = mark_of(disk)?;
            if acknowledged && found != Some(2) || found != old && found != Some(2) {
                return Err(format!("{found:?} was found, acknowledged: {acknowledged}"));
            }
            // One image of each moment: the next writer repeats the same work.
            if point.call % 2 == 0 { writes_again(disk) } else { Ok(()) }
        },
    )
    .unwrap_or_else(|failure| panic!("{failure}"));
    assert!(report.points > 6, "{report:?}");
}

#[test]
fn a_new_table_is_there_wholly_or_not_at_all() {
    crash_everywhere(&SimulatedDisk::new(), None);
}

#[test]
fn a_replaced_table_is_the_old_one_or_the_new_one() {
    let start = SimulatedDisk::new();
    write(&start, 1, false).unwrap();
    crash_everywhere(&start, Some(1));
}

#[test]
fn a_replaced_table_is_there_wholly_although_a_writer_was_killed_before() {
    let start = SimulatedDisk::new();
    write(&start, 1, false).unwrap();
    start.create("t.0123456789abcdef.ogive-tmp").unwrap().append(&[7; 5000]).unwrap();
    start.sync_directory().unwrap();
    crash_everywhere(&start, Some(1));
}

#[test]
fn a_live_writer_of_the_same_name_is_no_leftover() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let storages: [Arc<dyn Storage>; 2] = [Arc::new(MemoryStorage::new()), Arc::new(LocalStorage::new(folder.path()))];
    for storage in storages {
        let create = || TableWriter::create((storage.clone(), "t"), options(true)).unwrap();
        let (mut first, mut second) = (create(), create());
        first.append(&1_u64.to_be_bytes(), b"first").unwrap();
        second.append(&1_u64.to_be_bytes(), b"second").unwrap();
        let value = || {
            let table = Table::open((storage.clone(), "t"), &TableOptions::default()).unwrap();
            table.get(&1_u64.to_be_bytes()).unwrap().unwrap()
        };
        second.finish().unwrap();
        assert_eq!(value(), b"second");
        first.finish().unwrap();
        assert_eq!(value(), b"first");
        assert_eq!(storage.list().unwrap(), ["t"]);
    }
}

#[test]
fn of_two_writers_of_a_new_name_the_first_to_finish_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let storages: [Arc<dyn Storage>; 2] = [Arc::new(LocalStorage::new(folder.path())), Arc::new(MemoryStorage::new())];
    for storage in storages {
        let writer = |value: &[u8], replace| {
            let options = TableWriteOptions::default().replace(replace);
            let mut writer = TableWriter::create((storage.clone(), "t"), options).unwrap();
            writer.append(b"key", value).unwrap();
            writer
        };
        let (first, second, third) = (writer(b"first", false), writer(b"second", false), writer(b"third", true));
        first.finish().unwrap();
        let taken = second.finish().map(|_| ());
        assert!(matches!(taken, Err(Error { cause: Cause::Io(ErrorKind::AlreadyExists), .. })));
        let value = || Table::open((storage.clone(), "t"), &TableOptions::default()).unwrap().get(b"key").unwrap();
        assert_eq!(value(), Some(b"first".to_vec()));
        third.finish().unwrap();
        assert_eq!(value(), Some(b"third".to_vec()));
        assert_eq!(storage.list().unwrap(), ["t"], "nothing is left of the second");
    }
}
