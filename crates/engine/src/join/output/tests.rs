//! Goal: every kind of output holds the rows of the join when complete, and its name does not exist before.

use super::JoinOutput;
use crate::error::{Cause, Error, Result};
use crate::io::{MemoryStorage, Storage};
use crate::join::rows::form::{RowForm, RowMarks};
use crate::join::rows::joined_records::JoinedRecords;
use crate::join::rows::options::{JoinKind, JoinOptions};
use crate::join::rows::sink::RowSink;
use crate::join::rows::task::Task;
use crate::table::external::{RecordFile, index_records};
use crate::table::{Table, TableOptions, TableWriteOptions};
use crate::types::{KeyType, RecordType};
use std::sync::{Arc, Mutex};

const ROWS: u64 = 50_000;

fn form(key_type: KeyType, key: Option<usize>) -> RowForm {
    RowForm { kind: JoinKind::Inner, key_type, key, left: Some(8), right: Some(4), marks: RowMarks::default() }
}

fn records_of(key_type: KeyType) -> JoinedRecords {
    let bytes = RecordType::new(key_type, KeyType::Bytes);
    JoinedRecords::new(JoinKind::Inner, key_type, [&bytes, &bytes], [Some(8), Some(4)]).unwrap()
}

fn task() -> Arc<Task> {
    Task::new(&JoinOptions { memory_bytes: 4 << 20, ..JoinOptions::default() }).unwrap()
}

fn give(sink: &mut dyn RowSink) -> Result<()> {
    (0..ROWS).try_for_each(|i| sink.row(&(i / 2).to_be_bytes(), Some(&i.to_le_bytes()), Some(&[7; 4])))
}

fn expected(i: u64) -> (Vec<u8>, Vec<u8>) {
    ((i / 2).to_be_bytes().to_vec(), [&i.to_le_bytes()[..], &[7; 4]].concat())
}

fn finished(mut output: JoinOutput<'_>, form: RowForm) -> u64 {
    let mut sink = output.begin(form, records_of(form.key_type), &task(), 1 << 20).unwrap();
    give(&mut *sink).unwrap();
    let rows = sink.rows();
    sink.finish().unwrap();
    rows
}

#[test]
fn a_table_holds_all_rows_whether_its_keys_are_numbers_or_strings_of_one_width() {
    for key_type in [KeyType::U64, KeyType::Bytes] {
        let storage = Arc::new(MemoryStorage::new());
        let output = JoinOutput::table(storage.clone(), "out", JoinOutput::options());
        assert_eq!(finished(output, form(key_type, Some(8))), ROWS);
        let table = Table::open((storage.clone(), "out"), &TableOptions::default()).unwrap();
        assert_eq!(table.key_type(), key_type);
        let row = |(key, value): (Vec<u8>, Vec<u8>)| (key, [&[8], &value[..]].concat());
        assert_eq!(table.value_type().to_string(), "{left: bytes8, right: bytes4}");
        assert!(table.iter().map(|row| row.unwrap()).eq((0..ROWS).map(expected).map(row)));
        assert_eq!(storage.list().unwrap(), ["out"]);
    }
}

#[test]
fn a_file_of_records_is_what_an_index_can_be_made_beside() {
    let storage = Arc::new(MemoryStorage::new());
    finished(JoinOutput::records(storage.clone(), "out", false), form(KeyType::U64, Some(8)));
    let records = RecordFile { header_bytes: 0, counted: false, key_bytes: 8, value_bytes: 12, little_endian: false };
    index_records(storage.clone(), "out", "out.ogive", records, TableWriteOptions::default()).unwrap();
    let table = Table::open((storage.clone(), "out.ogive"), &TableOptions::default()).unwrap();
    assert!(table.iter().map(|row| row.unwrap()).eq((0..ROWS).map(expected)));
    let mut output = JoinOutput::records(storage.clone(), "other", false);
    let refused = output.begin(form(KeyType::Bytes, None), records_of(KeyType::Bytes), &task(), 1 << 20);
    assert!(matches!(refused, Err(Error { cause: Cause::Input, .. })));
    let mut output = JoinOutput::records(storage.clone(), "out", false);
    let taken = output.begin(form(KeyType::U64, Some(8)), records_of(KeyType::U64), &task(), 1 << 20);
    assert!(matches!(taken, Err(Error { cause: Cause::Io(_), .. })));
    finished(JoinOutput::records(storage, "out", true), form(KeyType::U64, Some(8)));
}

#[test]
fn lines_are_written_as_the_caller_forms_them() {
    let storage = Arc::new(MemoryStorage::new());
    let line = |key: &[u8], left: Option<&[u8]>, right: Option<&[u8]>, out: &mut Vec<u8>| {
        let text = format!("{} {} {}\n", key.escape_ascii(), left.map_or(0, <[u8]>::len), right.map_or(0, <[u8]>::len));
        out.extend_from_slice(text.as_bytes());
        Ok(())
    };
    assert_eq!(finished(JoinOutput::lines(storage.clone(), "out", false, line), form(KeyType::Bytes, None)), ROWS);
    let text = String::from_utf8(storage.content("out").unwrap()).unwrap();
    assert_eq!(text.lines().count() as u64, ROWS);
    assert!(text.lines().all(|line| line.ends_with(" 8 4")));
}

/// Promises 7: what is not finished leaves nothing under its name or any other.
#[test]
fn an_output_that_is_dropped_leaves_nothing_behind() {
    let storage = Arc::new(MemoryStorage::new());
    let outputs = [
        JoinOutput::table(storage.clone(), "out", JoinOutput::options()),
        JoinOutput::records(storage.clone(), "out", false),
        JoinOutput::lines(storage.clone(), "out", false, |key, _, _, out| {
            out.extend_from_slice(key);
            Ok(())
        }),
    ];
    for mut output in outputs {
        let mut sink = output.begin(form(KeyType::U64, Some(8)), records_of(KeyType::U64), &task(), 1 << 20).unwrap();
        give(&mut *sink).unwrap();
        drop(sink);
        assert_eq!(storage.list().unwrap(), Vec::<String>::new());
    }
}

#[test]
fn the_caller_gets_rows_as_they_are_and_its_error_ends_the_join() {
    let seen = Arc::new(Mutex::new(0));
    let theirs = seen.clone();
    let mut output = JoinOutput::caller(move |key, left, right| {
        assert_eq!((key.len(), left.map(<[u8]>::len), right), (8, Some(8), Some(&[7; 4][..])));
        *theirs.lock().unwrap() += 1;
        if *theirs.lock().unwrap() == 10 { Err(Error::interrupted()) } else { Ok(()) }
    });
    let mut sink = output.begin(form(KeyType::U64, Some(8)), records_of(KeyType::U64), &task(), 1 << 20).unwrap();
    assert!(matches!(give(&mut *sink), Err(Error { cause: Cause::Interrupted, .. })));
    assert_eq!(*seen.lock().unwrap(), 10);
}

/// Pitfalls, learned 16: memory that grows with the output is refused, not taken.
#[test]
fn an_index_that_outgrows_the_memory_of_the_join_is_refused() {
    let storage = Arc::new(MemoryStorage::new());
    let task = Task::new(&JoinOptions { memory_bytes: 1 << 20, ..JoinOptions::default() }).unwrap();
    let options = TableWriteOptions { block_bytes: Some(512), ..JoinOutput::options() };
    let _rest = task.budget.take((768 << 10) - 1, "the rest").unwrap();
    let mut output = JoinOutput::table(storage.clone(), "out", options);
    let mut sink = output.begin(form(KeyType::U64, Some(8)), records_of(KeyType::U64), &task, 256 << 10).unwrap();
    let refused = (0..40).try_for_each(|_| give_sorted(&mut *sink));
    assert!(matches!(refused, Err(Error { cause: Cause::JoinMemory { .. }, .. })), "{refused:?}");
    drop(sink);
    assert_eq!(storage.list().unwrap(), Vec::<String>::new());
}

/// Rows of one and the same key: always in order.
fn give_sorted(sink: &mut dyn RowSink) -> Result<()> {
    (0..ROWS).try_for_each(|i| sink.row(&[9; 8], Some(&i.to_le_bytes()), Some(&[7; 4])))
}
