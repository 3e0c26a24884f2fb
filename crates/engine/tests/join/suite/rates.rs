//! Goal: print the figures from which the planner's rates are derived, and the error of its predictions.
//! Method: every method joins relations in memory, so that all work is processor work; the time of the whole process
//! counts. Times are not asserted; requests and bytes must be near the prediction.

use crate::methods;
use crate::support::{DENSE, Row, Shape, numbered, write_table};
use ogive::io::{MemoryStorage, Profile, Storage};
use ogive::join::{JoinKind, JoinMethod, JoinOptions, JoinOutput, JoinReport, JoinSource, join};
use ogive::table::external::RecordFile;
use ogive::table::{Table, TableOptions};
use std::sync::Arc;

const ROWS: u64 = 2_000_000;
const ROUNDS: usize = 3;

/// Time of this process on all cores so far, in milliseconds.
fn process_ms() -> f64 {
    let status = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let own: f64 = status.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0.0);
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: f64 = fields.iter().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    (ticks * 10.0).max(own / 1e6)
}

fn run(left: &JoinSource, right: &JoinSource, method: JoinMethod, memory_bytes: u64) -> Option<(JoinReport, f64)> {
    let mut best: Option<(JoinReport, f64)> = None;
    for _ in 0..ROUNDS {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let options = JoinOptions::default()
            .kind(JoinKind::Inner)
            .method(method)
            .memory_bytes(memory_bytes)
            .profile(Profile::named("nvme").unwrap())
            .spill(Some((storage.clone(), "spilled".into())));
        let output = JoinOutput::table(storage, "joined", JoinOutput::options());
        let before_ms = process_ms();
        let report = match join(left, right, output, &options) {
            Ok(report) => report,
            Err(ogive::Error { cause: ogive::Cause::Input | ogive::Cause::JoinMemory { .. }, .. }) => return None,
            Err(error) => panic!("{method}: {error}"),
        };
        let took_ms = process_ms() - before_ms;
        if best.as_ref().is_none_or(|(_, best_ms)| took_ms < *best_ms) {
            best = Some((report, took_ms));
        }
    }
    best
}

fn show(what: &str, left: &JoinSource, right: &JoinSource, memory_bytes: u64, wanted: &dyn Fn(JoinMethod) -> bool) {
    println!("{what}, {} MiB", memory_bytes >> 20);
    println!("  method               core ms  predicted   wall ms  requests  predicted    KiB read  predicted");
    for method in methods().into_iter().filter(|method| wanted(*method)) {
        let Some((report, took_ms)) = run(left, right, method, memory_bytes) else { continue };
        let predicted = report.explanation.as_ref().unwrap().predicted;
        println!(
            "  {:<18} {took_ms:>9.0} {:>10.1} {:>9.1} {:>9} {:>10.0} {:>11} {:>10.0}   loading {:.1} reading {:.1} \
            joining {:.1} writing {:.1}",
            method.to_string(),
            predicted.cpu_us / 1e3,
            report.seconds.total() * 1e3,
            report.requests,
            predicted.requests,
            report.bytes_read >> 10,
            predicted.bytes_read / 1024.0,
            report.seconds.loading * 1e3,
            report.seconds.reading * 1e3,
            report.seconds.joining * 1e3,
            report.seconds.writing * 1e3,
        );
    }
}

/// Rising keys with gaps that vary by a factor of a thousand.
fn keys() -> Vec<u64> {
    let mut random = ogive_testkit::Random::new(5);
    let mut key = 0;
    (0..ROWS)
        .map(|_| {
            let most = 1 << (4 + random.below(10));
            key += 1 + random.below(most);
            key
        })
        .collect()
}

fn file(rows: &[Row]) -> JoinSource {
    let storage = MemoryStorage::new();
    let mut file = storage.create("rows").unwrap();
    let bytes: Vec<u8> =
        crate::support::shuffled(rows).into_iter().flat_map(|(key, value)| [key, value].concat()).collect();
    file.append(&bytes).unwrap();
    file.sync().unwrap();
    drop(file);
    let layout = RecordFile { header_bytes: 0, counted: false, key_bytes: 8, value_bytes: 8, little_endian: false };
    JoinSource::records((Arc::new(storage), "rows"), layout, false).unwrap()
}

#[test]
#[ignore = "long: 3 minutes"]
fn rates_of_methods_are_shown() {
    let keys = keys();
    let shape = Shape { block_bytes: 4096, ..DENSE };
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let inner = numbered(&keys, 1);
    write_table(&storage, "inner", &inner, shape);
    let table = |name: &str| {
        let options = TableOptions::default().memory_bytes(1 << 20);
        JoinSource::table(&Table::open((storage.clone(), name), &options).unwrap())
    };
    for ratio in [1_usize, 10, 100, 1000] {
        let mut random = ogive_testkit::Random::new(9);
        let some: Vec<u64> = keys.iter().copied().filter(|_| random.one_in(ratio as u64)).collect();
        let outer = numbered(&some, 2);
        let name = format!("outer{ratio}");
        write_table(&storage, &name, &outer, shape);
        show(&format!("sorted, ratio {ratio}"), &table(&name), &table("inner"), 256 << 20, &|method| {
            !method.to_string().starts_with("partition")
        });
        if ratio == 1 || ratio == 100 {
            for memory_bytes in [256 << 20, 12 << 20] {
                show(&format!("unsorted, ratio {ratio}"), &file(&outer), &file(&inner), memory_bytes, &|method| {
                    !method.to_string().starts_with("inlj")
                });
            }
        }
    }
}
