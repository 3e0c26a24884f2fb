//! Requests, rounds and bytes of cold lookups beside a Parquet file: sorted and shuffled, from nothing and with the
//! index open, and the time that they would take on an object store. Reads the files `sorted.parquet` and
//! `shuffled.parquet` of a folder, which `benches/lookups.py` makes; it also measures other readers of them.
//!
//! ```console
//! $ python3 crates/parquet/benches/lookups.py make DATA 10000000
//! $ cargo bench -p ogive-parquet --bench lookups -- "$PWD/DATA"
//! ```

#![expect(clippy::disallowed_macros, reason = "a program prints what it found")]

use ogive::Profile;
use ogive::io::LocalStorage;
use ogive::table::{TableOptions, TableWriteOptions};
use ogive_parquet::{BuildOptions, ParquetIndex, PathFolder, Trace};
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

/// Lookups of each kind.
const LOOKUPS: u64 = 200;

/// Sums over lookups.
#[derive(Default)]
struct Sums {
    requests: usize,
    rounds: u32,
    bytes: u64,
    modelled_us: f64,
}

impl Sums {
    fn add(&mut self, trace: &Trace, profile: &Profile) {
        self.requests += trace.requests.len();
        self.rounds += trace.rounds();
        self.bytes += trace.bytes();
        for round in trace.requests.chunk_by(|left, right| left.round == right.round) {
            let sizes: Vec<u64> = round.iter().map(|request| request.bytes).collect();
            self.modelled_us += profile.batch_us(&sizes);
        }
    }

    fn print(&self, what: &str) {
        let each = |sum: f64| sum / LOOKUPS as f64;
        println!(
            "{what:32} {:6.2} requests {:5.2} rounds {:10.0} bytes {:8.1} ms on s3",
            each(self.requests as f64),
            each(self.rounds.into()),
            each(self.bytes as f64),
            each(self.modelled_us) / 1000.0
        );
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds options of its own.
    let mut words = std::env::args().skip(1).filter(|word| !word.starts_with("--"));
    let data = PathBuf::from(words.next().ok_or("name the folder of the files")?);
    let profile = Profile::named("s3")?;
    let storage = Arc::new(LocalStorage::new(&data));
    let folder = Arc::new(PathFolder::new(&data));
    for name in ["sorted", "shuffled"] {
        let table = TableWriteOptions::default().profile(profile.clone()).replace(true);
        let options = BuildOptions::new(&format!("{name}.parquet"), &["id"]).table(table);
        let index = format!("{name}.idx");
        let report = ParquetIndex::build(storage.clone(), &index, folder.clone(), options)?;
        println!(
            "{name}: {} rows, {} pages, index {} bytes (places {}, separators {} for {} intervals)",
            report.rows,
            report.pages,
            report.table.file_bytes,
            report.place_bytes,
            report.separator_bytes,
            report.intervals
        );
        let (mut cold, mut open) = (Sums::default(), Sums::default());
        for lookup in 0..LOOKUPS {
            let id = lookup * 0x9e37_79b9 % report.rows;
            let opened = ParquetIndex::open(
                storage.clone(),
                &index,
                folder.clone(),
                &TableOptions::default().profile(profile.clone()),
            )?;
            let key = opened.key_type().parse(&id.to_string())?;
            let mut trace = Trace::new();
            let found = opened.get_traced(&key, None, Some(&mut trace))?;
            if found.num_rows() != 1 {
                return Err(format!("{} rows of {id}", found.num_rows()).into());
            }
            open.add(&trace, &profile);
            let mut whole = Trace::new();
            whole.add_index_reads(opened.table().path(), &[opened.table().opening()], false);
            cold.add(&whole, &profile);
            cold.add(&trace, &profile);
        }
        cold.print(&format!("{name}, from nothing"));
        open.print(&format!("{name}, index open"));
    }
    Ok(())
}
