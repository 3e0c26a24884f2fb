//! Goal: a thread that the system refuses is reported, or dispensed with, and changes no row. Method: the same joins
//! again and again, with another thread refused each time, and then with all from that one on.

use super::{JoinOptions, JoinOutput, JoinSource, join};
use crate::error::{Cause, Error, Result};
use crate::io::{MemoryStorage, Storage, refusing};
use crate::table::{Table, TableOptions, TableWriteOptions, TableWriter};
use crate::types::KeyType;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const ROWS: u64 = 20_000;

fn table(storage: &Arc<dyn Storage>, name: &str, step: u64) -> Table {
    let options = TableWriteOptions { key_type: KeyType::U64, ..TableWriteOptions::default() };
    let mut writer = TableWriter::create((Arc::clone(storage), name), options).unwrap();
    (0..ROWS).for_each(|row| writer.append(&(row * step).to_be_bytes(), &row.to_be_bytes()).unwrap());
    writer.finish().unwrap();
    Table::open((Arc::clone(storage), name), &TableOptions::default()).unwrap()
}

fn joined(left: &Table, right: &Table, output: JoinOutput) -> Result<u64> {
    let options = JoinOptions { threads: 4, memory_bytes: 64 << 20, ..JoinOptions::default() };
    Ok(join(&JoinSource::table(left), &JoinSource::table(right), output, &options)?.rows)
}

#[test]
fn a_join_gives_the_same_rows_with_fewer_threads_or_says_why_not() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let (left, right) = (table(&storage, "left", 2), table(&storage, "right", 3));
    let mut asked = 0;
    for lasting in [false, true] {
        for at in 0..20 {
            let rows = Arc::new(AtomicU64::new(0));
            let counted = Arc::clone(&rows);
            let output = JoinOutput::caller(move |_, _, _| {
                counted.fetch_add(1, Ordering::Relaxed);
                Ok(())
            });
            let (outcome, was_asked) = refusing(at, lasting, || joined(&left, &right, output));
            asked += u64::from(was_asked);
            match outcome {
                Ok(_) => assert_eq!(rows.load(Ordering::Relaxed), ROWS.div_ceil(3), "{at}"),
                Err(error @ Error { cause: Cause::Io(_), .. }) if error.action() == "start a thread for" => {
                    assert!(was_asked, "{at}")
                }
                Err(error) => panic!("{at}: {error}"),
            }
        }
    }
    assert!(asked > 0);
}

/// Without write-behind, data is written at once.
#[test]
fn an_output_needs_no_thread_to_write_behind() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let (left, right) = (table(&storage, "left", 2), table(&storage, "right", 3));
    for at in 0..6 {
        let name = format!("output-{at}");
        let output = JoinOutput::table(Arc::clone(&storage), &name, JoinOutput::options());
        match refusing(at, false, || joined(&left, &right, output)).0 {
            Ok(_) => {
                let table = Table::open((Arc::clone(&storage), &name), &TableOptions::default()).unwrap();
                assert_eq!(table.len(), ROWS.div_ceil(3), "{at}");
                assert!(table.verify(&mut |_, _| {}).unwrap().is_sound(), "{at}");
            }
            Err(error @ Error { cause: Cause::Io(_), .. }) if error.action() == "start a thread for" => {
                assert!(!storage.exists(&name).unwrap(), "{at}")
            }
            Err(error) => panic!("{at}: {error}"),
        }
    }
}
