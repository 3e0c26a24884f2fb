//! Times of scans in key order and of batches of lookups, beside a Parquet file that is not sorted, and the bytes that
//! they read of it. Reads the file `shuffled.parquet` of a folder, which `benches/scans.py` makes; it also measures
//! other readers of it.
//!
//! ```console
//! $ python3 crates/parquet/benches/scans.py make DATA 5000000
//! $ cargo bench -p ogive-parquet --bench scans -- "$PWD/DATA"
//! ```

#![expect(clippy::disallowed_macros, clippy::disallowed_methods, reason = "a program measures and prints times")]

use ogive::Storage;
use ogive::io::LocalStorage;
use ogive::table::{TableOptions, TableWriteOptions};
use ogive_parquet::{BuildOptions, ParquetIndex, ParquetScan, PathFolder, Trace};
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// The range that is scanned, by its keys.
const RANGE: std::ops::Range<u64> = 1_000_000..1_200_000;
/// Keys that are looked up together.
const KEYS: u64 = 1_000;
/// Memory of an index, in MiB: that of the command without `--memory`, and more.
const MEMORY_MIB: [u64; 2] = [64, 1024];

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Follows a scan for some rows, and returns how many came, and the bytes of its requests.
fn follow(mut scan: ParquetScan, rows: u64) -> Outcome<(u64, u64)> {
    let mut found = 0;
    while found < rows
        && let Some(batch) = scan.next()
    {
        found += batch?.num_rows() as u64;
    }
    Ok((found, scan.into_trace().unwrap_or_default().bytes()))
}

/// Prints the best time of three of what returns a number of rows and of bytes.
fn measure(what: &str, memory_mib: u64, work: impl Fn() -> Outcome<(u64, u64)>) -> Outcome<()> {
    let (mut best, mut counts) = (f64::INFINITY, (0, 0));
    for _ in 0..3 {
        let started = Instant::now();
        counts = work()?;
        best = best.min(started.elapsed().as_secs_f64());
    }
    let (rows, mib) = (counts.0, counts.1 >> 20);
    println!("{what:28} {memory_mib:5} MiB of memory {rows:9} rows {mib:5} MiB read {best:8.3} s");
    Ok(())
}

fn main() -> Outcome<()> {
    // Cargo adds options of its own.
    let mut words = std::env::args().skip(1).filter(|word| !word.starts_with("--"));
    let data = PathBuf::from(words.next().ok_or("name the folder of the file")?);
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(&data));
    let folder = Arc::new(PathFolder::of_index(&data.join("scans.idx"))?);
    let options = BuildOptions::new("shuffled.parquet", &["id"]).table(TableWriteOptions::default().replace(true));
    ParquetIndex::build(storage.clone(), "scans.idx", folder.clone(), options)?;
    for memory_mib in MEMORY_MIB {
        let options = TableOptions::default().memory_bytes(memory_mib << 20);
        let open = || ParquetIndex::open(storage.clone(), "scans.idx", folder.clone(), &options);
        let range = || RANGE.start.to_be_bytes()..RANGE.end.to_be_bytes();
        let trace = || Some(Trace::new());
        measure("all, in the files' order", memory_mib, || follow(open()?.scan_files(None)?, u64::MAX))?;
        measure("a range", memory_mib, || follow(open()?.scan_traced(range(), None, trace())?, u64::MAX))?;
        measure("a range, all wanted", memory_mib, || {
            follow(open()?.scan_traced(range(), None, trace())?.limit(u64::MAX), u64::MAX)
        })?;
        measure("the first row of a range", memory_mib, || follow(open()?.scan_traced(range(), None, trace())?, 1))?;
        measure("ten rows", memory_mib, || follow(open()?.scan_traced(range(), None, trace())?.limit(10), 10))?;
        measure("all rows", memory_mib, || {
            follow(open()?.scan_traced::<&[u8]>(.., None, trace())?.limit(u64::MAX), u64::MAX)
        })?;
        measure("keys, looked up together", memory_mib, || {
            let index = open()?;
            let keys: Vec<[u8; 8]> = (0..KEYS).map(|at| (at * 7_919 % index.rows()).to_be_bytes()).collect();
            let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
            let mut trace = Trace::new();
            let found = index.multi_get_traced(&keys, None, Some(&mut trace))?;
            Ok((found.iter().map(|rows| rows.num_rows() as u64).sum(), trace.bytes()))
        })?;
    }
    Ok(())
}
