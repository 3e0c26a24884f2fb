//! A store on a real server that talks S3, in use: 60 rounds of 16 writers that open it at once; then a store of ten
//! gigabytes, which one process changes for ten minutes, with compactions, collections of values and removals of old
//! files, while another one follows and compares all that it reads.
//!
//! ```console
//! $ export AWS_ENDPOINT=http://127.0.0.1:9000 AWS_ACCESS_KEY_ID=... AWS_SECRET_ACCESS_KEY=... AWS_REGION=us-east-1
//! $ cargo bench -p ogive-object-store --bench live -- s3://bucket/prefix [GIGABYTES] [MINUTES] [ROUNDS]
//! ```

#![expect(clippy::disallowed_macros, reason = "a program prints what it found")]
#![expect(clippy::disallowed_methods, reason = "it measures the time of a real server, and the memory of its process")]

#[path = "../../tests/objects/faulty_store.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "a module of tests, of which no faults are used here")]
mod faulty_store;
mod model;
mod reader;

use model::{COUNTER, key, operations, value};
use ogive::io::{Storage, locate_folder};
use ogive::verify::verify_store;
use ogive::{Db, DbOptions};
use std::error::Error;
use std::panic::resume_unwind;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

type Outcome = Result<(), Box<dyn Error>>;

/// Writers that open the store at once.
const WRITERS: usize = 16;
/// Bytes of a record at the mean, key included; see [`model::value`].
const RECORD_BYTES: u64 = 925;
/// Records of a batch of the load.
const LOADED: u64 = 2_000;
/// Seconds that old files stay. Less than usual, so that many are removed while a reader follows.
const GRACE_S: u64 = 60;
/// The word that makes this program a reader.
const FOLLOW: &str = "follow";

fn options() -> DbOptions {
    // A small share of dead values, so that many files are collected.
    DbOptions::default().objects(|objects| objects.grace_s(GRACE_S)).values(|values| values.dead_share(0.01))
}

fn storage(url: &str, name: &str) -> ogive::Result<Arc<dyn Storage>> {
    locate_folder(format!("{url}/{name}"))
}

/// Opens a store from many threads at once. All acknowledged writes must be there in the end, and one writer stays.
fn openings(url: &str, rounds: u64) -> Outcome {
    let begun = Instant::now();
    let storage = storage(url, "openings")?;
    let (acknowledged, opened) = (AtomicU64::new(0), AtomicU64::new(0));
    for round in 0..rounds {
        let barrier = Barrier::new(WRITERS);
        let write = |writer: usize| -> ogive::Result<Option<Db>> {
            barrier.wait();
            let is_fenced = |error: &ogive::Error| matches!(error, ogive::Error { cause: ogive::Cause::Fenced, .. });
            let db = match Db::open(Arc::clone(&storage), &options()) {
                Err(error) if is_fenced(&error) => return Ok(None),
                opened => opened?,
            };
            opened.fetch_add(1, Ordering::Relaxed);
            match db.insert(format!("{round} {writer}"), "x") {
                Err(error) if is_fenced(&error) => return Ok(None),
                written => written?,
            }
            acknowledged.fetch_add(1, Ordering::Relaxed);
            Ok(Some(db))
        };
        let write = &write;
        let writers: Vec<Option<Db>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(move || write(writer))).collect();
            let joined = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
            joined.collect::<Result<_, _>>()
        })?;
        let last = |db: &Db| db.insert(format!("{round} last"), "x").is_ok();
        let staying = writers.iter().flatten().filter(|db| last(db)).count();
        if staying != 1 {
            return Err(format!("round {round}: {staying} writers stay").into());
        }
    }
    let db = Db::open_read_only(storage, &options())?;
    let found = db.iter().collect::<ogive::Result<Vec<_>>>()?.len() as u64;
    let acknowledged = acknowledged.into_inner() + rounds;
    if found < acknowledged {
        return Err(format!("{acknowledged} writes were acknowledged, and {found} are there").into());
    }
    println!(
        "openings: {rounds} rounds of {WRITERS} writers at once in {:.0} s: one writer stayed in each, {} had opened \
         the store before another one did; {acknowledged} writes acknowledged, {found} there",
        begun.elapsed().as_secs_f64(),
        opened.into_inner() - rounds
    );
    Ok(())
}

fn load(db: &Db, places: u64) -> Outcome {
    let begun = Instant::now();
    for first in (0..places).step_by(LOADED as usize) {
        let mut batch = db.batch();
        for place in first..places.min(first + LOADED) {
            batch.insert(db, key(place), value(place, 0));
        }
        batch.commit()?;
    }
    db.flush()?;
    let stats = db.stats();
    println!(
        "load: {places} records in {:.0} s; {:.2} GB in tables, {:.2} GB in {} value files",
        begun.elapsed().as_secs_f64(),
        stats.table_bytes as f64 / 1e9,
        stats.value_file_bytes as f64 / 1e9,
        stats.value_files
    );
    Ok(())
}

fn verify(storage: &Arc<dyn Storage>, when: &str) -> Outcome {
    let begun = Instant::now();
    let report = verify_store(storage, &mut |_, _| {})?;
    if let Some(finding) = report.findings.first() {
        return Err(format!("verify {when}: {finding:?}").into());
    }
    println!("verify {when}: sound, in {:.0} s", begun.elapsed().as_secs_f64());
    Ok(())
}

/// Changes a store while a process of its own reads it.
fn live(url: &str, gigabytes: f64, time: Duration) -> Outcome {
    let storage = storage(url, "store")?;
    let db = Db::open(Arc::clone(&storage), &options())?;
    let places = (gigabytes * 1e9) as u64 / RECORD_BYTES;
    load(&db, places)?;
    let seconds = time.as_secs().to_string();
    let program = std::env::current_exe()?;
    let mut reader =
        Command::new(program).args([FOLLOW, &format!("{url}/store"), &places.to_string(), &seconds]).spawn()?;
    let before = db.activity();
    let (begun, mut batches) = (Instant::now(), 0_u64);
    let status = loop {
        batches += 1;
        let mut batch = db.batch();
        for (place, is_removal) in operations(batches, places) {
            match is_removal {
                true => batch.remove(&db, key(place)),
                false => batch.insert(&db, key(place), value(place, batches)),
            };
        }
        batch.insert(&db, COUNTER, batches.to_be_bytes());
        batch.commit()?;
        if let Some(status) = reader.try_wait()? {
            break status;
        }
    };
    let activity = db.activity();
    println!(
        "writer: {batches} batches, {:.2} GB in {:.0} s; {} flushes, {} compactions that wrote {:.2} GB, {:.3} GB of \
         values moved by collections; {} value files now",
        (activity.user_bytes - before.user_bytes) as f64 / 1e9,
        begun.elapsed().as_secs_f64(),
        activity.flushes - before.flushes,
        activity.compactions - before.compactions,
        (activity.compaction_written_bytes - before.compaction_written_bytes) as f64 / 1e9,
        (activity.moved_value_bytes - before.moved_value_bytes) as f64 / 1e9,
        db.stats().value_files
    );
    if !status.success() {
        return Err("the reader has failed".into());
    }
    verify(&storage, "of the open store")?;
    db.close()?;
    verify(&storage, "of the closed store")
}

fn main() -> Outcome {
    // Cargo adds options of its own.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    ogive_object_store::register();
    match words[..] {
        [FOLLOW, url, places, seconds] => reader::follow(url, places.parse()?, Duration::from_secs(seconds.parse()?)),
        [url, ref rest @ ..] => {
            let number = |at: usize, usual: f64| rest.get(at).map_or(Ok(usual), |word| word.parse::<f64>());
            openings(url, number(2, 60.0)? as u64)?;
            live(url, number(0, 10.0)?, Duration::from_secs_f64(60.0 * number(1, 10.0)?))
        }
        [] => {
            println!("needs a server that talks S3: live s3://bucket/prefix [GIGABYTES] [MINUTES] [ROUNDS]");
            Ok(())
        }
    }
}
