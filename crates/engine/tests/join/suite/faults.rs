//! Goal: a failing device, a full disk, an interruption and a loss of power are typed errors or leave the old state; no
//! incomplete file ever has the final name, and no spill file outlives the next join.
//! Method: calls of every kind fail while joins spill and write, one call in each run, evenly chosen; the simulated
//! disk loses power at evenly chosen calls, and what it then holds is joined again.

use crate::some_methods;
use crate::support::{DENSE, Row, numbered, reference, shuffled, write_table};
use ogive::io::{MemoryStorage, Storage};
use ogive::join::{JoinKind, JoinMethod, JoinOptions, JoinOutput, JoinReport, JoinSource, join};
use ogive::table::external::RecordFile;
use ogive::table::{Table, TableOptions};
use ogive::{Cause, Error, Result};
use ogive_testkit::{Fault, FaultInjector, Operation, SimulatedDisk, Survival};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The least that a join takes, so that it spills.
const MEMORY_BYTES: u64 = 1 << 20;
const ROWS: u64 = 40_000;
/// Runs for each method and kind of call.
const POINTS: u64 = 4;

fn rows() -> (Vec<Row>, Vec<Row>) {
    let left: Vec<u64> = (0..ROWS).map(|at| at * 3).collect();
    let right: Vec<u64> = (0..ROWS).map(|at| at * 2).collect();
    (numbered(&left, 1), numbered(&right, 2))
}

/// A storage with both relations, as tables and as files in no order.
fn inputs() -> Vec<(String, Vec<u8>)> {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let (left, right) = rows();
    for (name, rows) in [("left", &left), ("right", &right)] {
        write_table(&storage, name, rows, DENSE);
        let mut file = storage.create(&format!("{name}.bin")).unwrap();
        let bytes: Vec<u8> = shuffled(rows).into_iter().flat_map(|(key, value)| [key, value].concat()).collect();
        file.append(&bytes).unwrap();
        file.sync().unwrap();
    }
    let names = storage.list().unwrap();
    let content = |name: &String| {
        let file = storage.open(name).unwrap();
        let mut buffer = vec![0; file.len() as usize];
        let purpose = ogive::io::Purpose::Walk;
        file.read(ogive::io::ReadRequest { offset: 0, buffer: &mut buffer, purpose }).unwrap();
        (name.clone(), buffer)
    };
    names.iter().map(content).collect()
}

/// Joins what lies in a storage into a table beside it.
fn run(
    storage: &Arc<dyn Storage>,
    method: JoinMethod,
    sorted: bool,
    stop: Option<Arc<AtomicBool>>,
) -> Result<JoinReport> {
    let options = JoinOptions::default().kind(JoinKind::Inner).method(method).memory_bytes(MEMORY_BYTES).stop(stop);
    let layout = RecordFile { header_bytes: 0, counted: false, key_bytes: 8, value_bytes: 8, little_endian: false };
    let source = |name: &str| -> Result<JoinSource> {
        if sorted {
            let options = TableOptions::default().memory_bytes(1 << 18);
            return Ok(JoinSource::table(&Table::open((storage.clone(), name), &options)?));
        }
        JoinSource::records((storage, format!("{name}.bin")), layout, false)
    };
    let mut written = JoinOutput::options();
    written.replace = true;
    let output = JoinOutput::table(storage.clone(), "joined", written);
    join(&source("left")?, &source("right")?, output, &options)
}

/// The records of the output: each key with a row of both values, which have one width each.
fn expected() -> &'static [Row] {
    static EXPECTED: OnceLock<Vec<Row>> = OnceLock::new();
    EXPECTED.get_or_init(|| {
        let (left, right) = rows();
        let joined = reference(JoinKind::Inner, &left, &right);
        joined.into_iter().map(|(key, left, right)| (key, [vec![8], left.unwrap(), right.unwrap()].concat())).collect()
    })
}

/// Whether the output is there, and then all of it, record by record.
fn is_whole(storage: &Arc<dyn Storage>) -> bool {
    if !storage.exists("joined").unwrap() {
        return false;
    }
    let table = Table::open((storage.clone(), "joined"), &TableOptions::default()).unwrap();
    assert_eq!(table.len(), expected().len() as u64);
    assert!(table.verify(&mut |_, _| {}).unwrap().is_sound());
    // No key repeats, so there is one order.
    let found = table.range::<&[u8]>(..).map(Result::unwrap);
    let other = found.zip(expected()).find(|(found, expected)| found != *expected);
    assert!(other.is_none(), "a row that is none: {other:?}");
    true
}

const INPUTS: [&str; 4] = ["left", "left.bin", "right", "right.bin"];

/// Files other than the inputs and the output.
fn leftovers(storage: &Arc<dyn Storage>) -> Vec<String> {
    storage.list().unwrap().into_iter().filter(|name| !INPUTS.contains(&name.as_str()) && name != "joined").collect()
}

/// The methods that join these, and whether from tables.
fn ways() -> Vec<(JoinMethod, bool)> {
    let is_lookup = |method: &JoinMethod| method.to_string().starts_with("inlj");
    let unsorted = some_methods().into_iter().filter(|method| !is_lookup(method));
    let sorted = some_methods().into_iter().filter(|method| *method == JoinMethod::Merge || is_lookup(method));
    unsorted.map(|method| (method, false)).chain(sorted.map(|method| (method, true))).collect()
}

/// Evenly spaced call numbers, including the first and the last.
fn points(calls: u64) -> impl Iterator<Item = u64> {
    let points = POINTS.min(calls);
    (0..points).map(move |point| if points == 1 { 0 } else { point * (calls - 1) / (points - 1) })
}

fn memory(files: &[(String, Vec<u8>)]) -> Arc<dyn Storage> {
    let storage = MemoryStorage::new();
    for (name, bytes) in files {
        let mut file = storage.create(name).unwrap();
        file.append(bytes).unwrap();
        file.sync().unwrap();
    }
    Arc::new(storage)
}

#[test]
fn whatever_fails_is_an_error_and_leaves_nothing() {
    let files = inputs();
    for (method, sorted) in ways() {
        let counting = FaultInjector::new(memory(&files));
        let storage: Arc<dyn Storage> = Arc::new(counting.clone());
        run(&storage, method, sorted, None).unwrap();
        assert!(is_whole(&storage) && leftovers(&storage).is_empty(), "{method}: {:?}", leftovers(&storage));
        counting.clear();
        run(&storage, method, sorted, None).unwrap();
        for operation in Operation::ALL {
            for at in points(counting.calls(operation)) {
                for fault in [Fault::NoSpace, Fault::Short, Fault::TooManyOpenFiles] {
                    fail(&files, method, sorted, operation, at, fault);
                }
            }
        }
    }
}

/// One run with one failing call.
fn fail(files: &[(String, Vec<u8>)], method: JoinMethod, sorted: bool, operation: Operation, at: u64, fault: Fault) {
    let what = format!("{method}, sorted: {sorted}, {operation:?} {at}, {fault:?}");
    let inner = memory(files);
    let injector = FaultInjector::new(inner.clone());
    injector.fail_once(operation, at, fault);
    let storage: Arc<dyn Storage> = Arc::new(injector.clone());
    let outcome = run(&storage, method, sorted, None);
    if !injector.triggered() {
        return;
    }
    match (&outcome, operation) {
        // What was put aside and cannot be removed spoils nothing; nor does a directory that may lose what is whole.
        // What was read ahead, and what was not needed then, neither.
        (Ok(_), Operation::Remove | Operation::SyncDirectory | Operation::Read) => assert!(is_whole(&inner), "{what}"),
        (Err(Error { cause: Cause::Io(_) | Cause::Poisoned, .. }), Operation::SyncDirectory) => {}
        (Err(Error { cause: Cause::Io(_) | Cause::Poisoned, .. }), _) => assert!(!is_whole(&inner), "{what}"),
        (Err(error), _) => panic!("{what}: {error}"),
        (Ok(_), _) => panic!("{what}: the failure was not reported"),
    }
    if operation == Operation::Remove {
        run(&inner, method, sorted, None).unwrap();
    }
    assert_eq!(leftovers(&inner), [""; 0], "{what}");
}

#[test]
fn an_interruption_leaves_nothing() {
    let files = inputs();
    for (method, sorted) in ways() {
        let calls = {
            let counting = FaultInjector::new(memory(&files));
            let storage: Arc<dyn Storage> = Arc::new(counting.clone());
            run(&storage, method, sorted, None).unwrap();
            counting.calls(Operation::Read)
        };
        for at in [0, calls / 3, calls / 2] {
            let inner = memory(&files);
            let stop = Arc::new(AtomicBool::new(false));
            let storage: Arc<dyn Storage> =
                Arc::new(StopsAtRead { inner: inner.clone(), stop: stop.clone(), left: Arc::new(AtomicU64::new(at)) });
            let outcome = run(&storage, method, sorted, Some(stop));
            let what = format!("{method}, sorted: {sorted}, stopped at read {at} of {calls}: {outcome:?}");
            assert!(matches!(outcome, Err(Error { cause: Cause::Interrupted, .. })), "{what}");
            assert!(!is_whole(&inner), "{what}");
            assert_eq!(leftovers(&inner), [""; 0], "{what}");
        }
    }
}

#[test]
fn what_a_killed_join_left_is_removed_by_the_next_one() {
    let disk = SimulatedDisk::with_files(inputs());
    for (method, sorted) in ways() {
        let whole = disk.fork();
        run(&(Arc::new(whole.clone()) as Arc<dyn Storage>), method, sorted, None).unwrap();
        let calls = whole.mutating_calls();
        for at in points(calls) {
            for survival in [Survival::Everything, Survival::NamesOnly, Survival::Subset(at)] {
                let what = format!("{method}, sorted: {sorted}, call {at} of {calls}, {survival:?}");
                let dying = disk.fork();
                dying.stop_at(at);
                let outcome = run(&(Arc::new(dying.clone()) as Arc<dyn Storage>), method, sorted, None);
                assert!(outcome.is_err() || at + 3 >= calls, "{what}: {outcome:?}");
                let after: Arc<dyn Storage> = Arc::new(dying.crash(survival));
                // Whole, or not there.
                is_whole(&after);
                run(&after, method, sorted, None).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(is_whole(&after), "{what}");
                assert_eq!(leftovers(&after), [""; 0], "{what}");
            }
        }
    }
}

/// A storage that asks the join to stop at a read.
#[derive(Clone, Debug)]
struct StopsAtRead {
    inner: Arc<dyn Storage>,
    stop: Arc<AtomicBool>,
    left: Arc<AtomicU64>,
}

impl ogive::io::StorageWrapper for StopsAtRead {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ogive::io::ReadableFile>> {
        Ok(Arc::new(StoppingReader { inner: self.inner.open(name)?, storage: self.clone() }))
    }
}

#[derive(Debug)]
struct StoppingReader {
    inner: Arc<dyn ogive::io::ReadableFile>,
    storage: StopsAtRead,
}

impl StoppingReader {
    fn count(&self, reads: u64) {
        let before = self.storage.left.fetch_sub(reads, Ordering::Relaxed);
        if before <= reads || before > u64::MAX / 2 {
            self.storage.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl ogive::io::ReaderWrapper for StoppingReader {
    fn inner(&self) -> &dyn ogive::io::ReadableFile {
        &*self.inner
    }

    fn read(&self, request: ogive::io::ReadRequest<'_>) -> Result<()> {
        self.count(1);
        self.inner.read(request)
    }

    fn read_many(&self, requests: Vec<ogive::io::ReadRequest<'_>>) -> Result<()> {
        self.count(requests.len() as u64);
        self.inner.read_many(requests)
    }
}
