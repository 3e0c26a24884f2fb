//! Failing calls: device errors and full disks are typed errors, acknowledged changes survive, and a handle rejects
//! writes after a failed write or sync.
//!
//! Every storage call fails once, in each way, while a short history is written to an index and while it is read; then
//! the storage is read without faults.

use super::support::{IndexChange, Map, NAME, Numbers, entries, memory, open, options};
use crate::{Fault, Operation, Random, enumerate_faults};
use ogive::index::{IndexKind, IndexOptions};
use ogive::io::Storage;
use ogive::{Error, Result};
use std::sync::Arc;

const FAULTS: [Fault; 4] = [Fault::DeviceError, Fault::NoSpace, Fault::Short, Fault::TooManyOpenFiles];

/// The transactions of the history, and the entries of the index before and after each.
fn history() -> (Vec<Vec<IndexChange>>, Vec<Map>) {
    let mut random = Random::new(9);
    let keys: Vec<u64> = (0..200).map(|i| (i % 3) * (1 << 44) + i * 5).collect();
    let mut states: Vec<Map> = vec![(0..60).map(|i| (i * 9, i)).collect()];
    let mut transactions = Vec::new();
    for round in 0..8 {
        let changes: Vec<IndexChange> = (0..15).map(|_| IndexChange::random(&mut random, &keys, round < 5)).collect();
        let mut map = states.last().unwrap().clone();
        changes.iter().for_each(|change| _ = change.in_map(&mut map));
        transactions.push(changes);
        states.push(map);
    }
    (transactions, states)
}

fn loaded(kind: IndexKind, map: &Map) -> Arc<dyn Storage> {
    let storage = memory();
    let index = Numbers::create((storage.clone(), NAME), &options(kind)).unwrap();
    index.bulk_load(map.clone()).unwrap();
    storage
}

/// The outcome of a history with a fault.
struct Outcome {
    acknowledged: usize,
    error: Option<Error>,
}

fn change(storage: &Arc<dyn Storage>, transactions: &[Vec<IndexChange>]) -> Outcome {
    let mut acknowledged = 0;
    let mut work = || -> Result<()> {
        let index = open(storage)?;
        for (number, changes) in transactions.iter().enumerate() {
            let mut transaction = index.write()?;
            changes.iter().try_for_each(|change| change.in_index(&mut transaction).map(|_| ()))?;
            if let Err(error) = transaction.commit() {
                refuses_further_writes(&index, &error);
                return Err(error);
            }
            acknowledged += 1;
            if number % 3 == 2
                && let Err(error) = index.checkpoint()
            {
                refuses_further_writes(&index, &error);
                return Err(error);
            }
        }
        Ok(())
    };
    let error = work().err();
    Outcome { acknowledged, error }
}

/// Checks that no writes follow a failed commit, after which the content of the disk is unknown.
fn refuses_further_writes(index: &Numbers, because: &Error) {
    if because.io_error().is_none() || !["write", "sync"].contains(&because.action()) {
        return;
    }
    let again = index.write().and_then(|mut transaction| {
        transaction.insert(1, 1)?;
        transaction.commit()
    });
    assert!(again.is_err(), "after {because} the next commit succeeded");
}

/// Fails every call once: acknowledged entries survive.
pub fn fail_every_call(kind: IndexKind) {
    let (transactions, states) = history();
    for operation in Operation::ALL {
        for fault in FAULTS {
            let check = |at: u64, outcome: Outcome, storage: Arc<dyn Storage>| {
                let what = format!("{kind}: {operation:?} {at}, {fault:?}");
                let index = open(&storage).unwrap_or_else(|error| panic!("{what}: {error}"));
                let reader = index.reader().unwrap();
                let found = entries(&reader).unwrap_or_else(|error| panic!("{what}: {error}"));
                let Outcome { acknowledged, error } = outcome;
                let next = (acknowledged + 2).min(states.len());
                assert!(
                    states[acknowledged..next].contains(&found),
                    "{what}: {acknowledged} transactions were acknowledged; {error:?}"
                );
                reader.verify().unwrap_or_else(|error| panic!("{what}: {error}"));
            };
            enumerate_faults(
                operation,
                fault,
                || loaded(kind, &states[0]),
                |storage| change(&storage, &transactions),
                check,
            );
        }
    }
}

/// Fails every read once: an error, never a wrong answer.
pub fn failed_reads_return_errors(kind: IndexKind) {
    let (_, states) = history();
    let map = &states[0];
    let storage = loaded(kind, map);
    for fault in FAULTS {
        let read = |storage: Arc<dyn Storage>| -> Result<(Map, Vec<Option<u64>>)> {
            let index = open(&storage)?;
            let found: Result<Vec<Option<u64>>> = map.keys().map(|&key| index.get(key)).collect();
            Ok((entries(&index.reader()?)?, found?))
        };
        let check = |at: u64, outcome: Result<(Map, Vec<Option<u64>>)>, _| match outcome {
            Ok((entries, found)) => {
                assert_eq!(&entries, map, "{kind}: read {at}");
                assert!(found.iter().all(Option::is_some), "{kind}: read {at}");
            }
            Err(error) => assert!(error.to_string().contains(NAME), "{kind}: read {at}: {error}"),
        };
        enumerate_faults(Operation::Read, fault, || Arc::clone(&storage), read, check);
    }
}

/// Fails reads of a range: it ends with the error.
pub fn iterators_end_after_an_error(kind: IndexKind) {
    let map: Map = (0..2000).map(|i| (i, i)).collect();
    let storage = loaded(kind, &map);
    let injector = crate::FaultInjector::new(storage);
    let storage: Arc<dyn Storage> = Arc::new(injector.clone());
    let mut open_options = ogive::page::PageOptions::default();
    super::support::without_memory(&mut open_options);
    let index = Numbers::open((storage.clone(), NAME), &IndexOptions::default().pages(open_options.clone())).unwrap();
    for backward in [false, true] {
        let mut range = index.iter().unwrap();
        let mut step = || if backward { range.next_back() } else { range.next() };
        (0..100).for_each(|_| _ = step().unwrap().unwrap());
        injector.fail_from(Operation::Read, 0, Fault::DeviceError);
        let failed = std::iter::from_fn(&mut step).find(Result::is_err);
        assert!(failed.is_some(), "{kind}: no read failed");
        injector.clear();
        assert!(step().is_none(), "{kind}: it continued");
    }
}
