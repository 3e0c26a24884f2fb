//! Tests of the jobs of a worker: a store that answers rightly passes all of them, and wrong answers are reported with
//! their keys.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{PoisonError, RwLock};

use anyhow::Result;

use super::state::State;
use crate::stores::protocol::{LoadOrder, Setup};
use crate::stores::systems::Systems;
use crate::stores::{KeyValueStore, StoreBatch, StoreResult, StoreSessions, StoreSettings, StoreSystem};

/// The fault of a store.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// One value in a hundred has another first byte.
    Value,
    /// One key in a hundred is not found.
    Missing,
    /// Every key is found.
    Invented,
    /// Scans leave out their second record.
    Scan,
    /// Records are never overwritten.
    Stale,
}

/// A map in memory.
struct FaultyStore {
    records: RwLock<BTreeMap<Vec<u8>, Vec<u8>>>,
    fault: Fault,
}

const RIGHT: StoreSystem = system("right", |_, _| open(Fault::None));
const VALUE: StoreSystem = system("value", |_, _| open(Fault::Value));
const MISSING: StoreSystem = system("missing", |_, _| open(Fault::Missing));
const INVENTED: StoreSystem = system("invented", |_, _| open(Fault::Invented));
const SCAN: StoreSystem = system("scan", |_, _| open(Fault::Scan));
const STALE: StoreSystem = system("stale", |_, _| open(Fault::Stale));

const fn system(
    name: &'static str,
    open: fn(&Path, &StoreSettings) -> StoreResult<Box<dyn StoreSessions>>,
) -> StoreSystem {
    StoreSystem { name, settings: |_| String::new(), reads_directly: false, open }
}

fn open(fault: Fault) -> StoreResult<Box<dyn StoreSessions>> {
    Ok(Box::new(FaultyStore { records: RwLock::default(), fault }))
}

fn is_hit(key: &[u8]) -> bool {
    key.iter().map(|byte| usize::from(*byte)).sum::<usize>().is_multiple_of(100)
}

impl KeyValueStore for FaultyStore {
    fn write(&self, batch: &StoreBatch) -> StoreResult<()> {
        let mut records = self.records.write().unwrap_or_else(PoisonError::into_inner);
        for (key, value) in batch.iter() {
            if self.fault != Fault::Stale || !records.contains_key(key) {
                records.insert(key.to_vec(), value.to_vec());
            }
        }
        Ok(())
    }

    fn get(&self, key: &[u8], out: &mut Vec<u8>) -> StoreResult<bool> {
        let records = self.records.read().unwrap_or_else(PoisonError::into_inner);
        out.clear();
        if self.fault == Fault::Missing && is_hit(key) {
            return Ok(false);
        }
        let value = records.get(key);
        value.into_iter().for_each(|value| out.extend_from_slice(value));
        if self.fault == Fault::Value && is_hit(key) && !out.is_empty() {
            out[0] ^= 1;
        }
        Ok(value.is_some() || self.fault == Fault::Invented)
    }

    fn scan(&self, from: &[u8], entries: usize, out: &mut Vec<u8>) -> StoreResult<usize> {
        let records = self.records.read().unwrap_or_else(PoisonError::into_inner);
        out.clear();
        let skipped = usize::from(self.fault == Fault::Scan);
        let passed = records.range(from.to_vec()..).enumerate().filter(|(at, _)| skipped == 0 || *at != 1);
        Ok(passed.take(entries).inspect(|(_, (key, value))| out.extend([key.as_slice(), value].concat())).count())
    }
}

/// The worker of a store, which is loaded.
fn loaded(system: &'static StoreSystem, folder: &Path) -> Result<State> {
    let setup = Setup {
        system: system.name.into(),
        keys: "lognormal".into(),
        number: 3_000,
        seed: 1,
        key_form: "bytes8".into(),
        value_bytes: 20,
        memtable_bytes: 1 << 20,
        lz4: false,
        held_out: 500,
    };
    let mut state = State::new(setup, &Systems::with(&[system])?)?;
    state.open(folder, 1 << 20, false, false)?;
    state.load(LoadOrder::Random)?;
    Ok(state)
}

#[test]
fn a_store_that_is_right_passes_every_job() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut state = loaded(&RIGHT, folder.path())?;
    state.warm()?;
    assert_eq!(state.gets(true, "uniform", 2_000, 1)?.operations, 2_000);
    state.gets(false, "uniform", 2_000, 1)?;
    state.scans(100, "uniform", 200, 1)?;
    for (seed, mix) in (1..).zip(["ycsb-a", "ycsb-d", "ycsb-e", "ycsb-f", "ycsb-e"]) {
        state.mix(mix, "zipf", 2_000, seed)?;
        state.overwrites("uniform", 500, seed)?;
        state.check(1_000, seed)?;
    }
    assert!(state.inserted > 100, "{}", state.inserted);
    // Only some records are there, and no others.
    let mut state = State::new(state.setup, &Systems::with(&[&RIGHT])?)?;
    state.open(folder.path(), 1 << 20, false, false)?;
    state.load_one_by_one(LoadOrder::Random, 3, 1_000)?;
    state.check(1_000, 1).map(|_| ())
}

#[test]
fn wrong_answers_are_told_with_key_and_answer() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let error_of = |system, job: &dyn Fn(&mut State) -> Result<()>| -> Result<String> {
        let error = job(&mut loaded(system, folder.path())?).unwrap_err();
        Ok(error.to_string())
    };
    let value = error_of(&VALUE, &|state| state.gets(true, "uniform", 3_000, 1).map(|_| ()))?;
    assert!(value.starts_with("get of key 0x") && value.ends_with(": they differ at byte 0"), "{value}");
    let missing = error_of(&MISSING, &|state| state.gets(true, "uniform", 3_000, 1).map(|_| ()))?;
    assert!(missing.starts_with("get of key 0x") && missing.contains("answered that there is none"), "{missing}");
    let invented = error_of(&INVENTED, &|state| state.gets(false, "uniform", 100, 1).map(|_| ()))?;
    assert!(invented.ends_with("answered 0x (0 bytes) instead of that there is none"), "{invented}");
    for job in [
        &(|state: &mut State| state.warm().map(|_| ())) as &dyn Fn(&mut State) -> Result<()>,
        &|state| state.scans(10, "uniform", 100, 1).map(|_| ()),
        &|state| state.mix("ycsb-e", "zipf", 500, 1).map(|_| ()),
    ] {
        let scan = error_of(&SCAN, job)?;
        assert!(scan.starts_with("scan of ") && scan.ends_with(" as key of record 1"), "{scan}");
    }
    Ok(())
}

#[test]
fn a_store_that_keeps_old_values_is_found_by_mixes_and_by_the_check_after_overwrites() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut state = loaded(&STALE, folder.path())?;
    state.check(1_000, 1)?;
    state.overwrites("uniform", 2_000, 1)?;
    assert!(state.check(1_000, 1).is_err());
    let mut state = loaded(&STALE, folder.path())?;
    let error = state.mix("ycsb-a", "zipf", 2_000, 1).map(|timed| timed.operations).unwrap_err();
    assert!(error.to_string().starts_with("get of key 0x"), "{error}");
    Ok(())
}
