//! Goal: events tell of rare work and of failures, lookups are silent, and metrics count what happened. Method: a
//! subscriber that writes lines, and a recorder, of this thread alone; stores that do all work in their calls.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use ogive::{Db, DbOptions, Index, IndexOptions, MemoryStorage};
use ogive_testkit::{Fault, FaultInjector, Operation};
use std::io::Write;
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Lines {
    /// The events since the last call.
    fn take(&self) -> Vec<String> {
        let text = String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

/// Runs `work` with a subscriber that takes everything.
fn with_events(work: impl FnOnce(&Lines)) {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .without_time()
        .with_ansi(false)
        .finish();
    tracing::subscriber::with_default(subscriber, || work(&lines));
}

/// Asserts that there is one event of each of these texts, in order, among `events`.
fn assert_events(events: &[String], expected: &[&str]) {
    let mut rest = events.iter();
    for text in expected {
        assert!(rest.any(|event| event.contains(text)), "no event {text:?} in {events:#?}");
    }
}

fn options() -> DbOptions {
    DbOptions::default().threads(0)
}

#[test]
fn a_store_reports_rare_work_and_lookups_nothing() {
    with_events(|lines| {
        let storage = Arc::new(MemoryStorage::new());
        let db = Db::open(storage.clone(), &options()).unwrap();
        assert_events(&lines.take(), &[" INFO ogive: opened"]);
        db.insert("a", "1").unwrap();
        db.flush().unwrap();
        db.insert("a", "2").unwrap();
        assert_events(&lines.take(), &["flushed store="]);
        db.compact().unwrap();
        assert_events(&lines.take(), &["flushed", "compacted"]);
        assert_eq!(db.get("a").unwrap().as_deref(), Some(&b"2"[..]));
        assert_eq!(db.get("b").unwrap(), None);
        assert_eq!(db.multi_get(["a", "b"]).unwrap().len(), 2);
        assert_eq!(db.iter().count(), 1);
        db.insert("c", "3").unwrap();
        assert_eq!(lines.take(), Vec::<String>::new());
        drop(db);
        let _db = Db::open(storage, &options()).unwrap();
        let events = lines.take();
        assert_events(&events, &["opened"]);
        assert!(events.iter().any(|event| event.contains("is_new=false was_closed=true")), "{events:?}");
    });
}

#[test]
fn a_failure_is_reported_once_with_its_cause() {
    with_events(|lines| {
        let injector = Arc::new(FaultInjector::new(Arc::new(MemoryStorage::new())));
        let db = Db::open(injector.clone(), &options()).unwrap();
        lines.take();
        injector.fail_once(Operation::Sync, 0, Fault::NoSpace);
        assert!(db.insert("a", "1").is_err());
        assert!(db.insert("b", "2").is_err());
        let events = lines.take();
        assert_eq!(events.iter().filter(|event| event.contains("closed to writes")).count(), 1, "{events:#?}");
        assert!(events[0].contains("ERROR") && events[0].contains("cause=cannot sync"), "{events:#?}");
        db.resume().unwrap();
        assert_events(&lines.take(), &["open to writes again"]);
    });
}

#[test]
fn a_writer_that_is_taken_over_and_the_one_that_takes_over_say_so() {
    with_events(|lines| {
        let storage = Arc::new(MemoryStorage::objects());
        let before = Db::open(storage.clone(), &options()).unwrap();
        before.insert("a", "1").unwrap();
        lines.take();
        let _after = Db::open(storage, &options()).unwrap();
        assert_events(&lines.take(), &["took over from another writer", "opened"]);
        assert!(before.insert("b", "2").is_err());
        assert_events(&lines.take(), &["taken over by another writer"]);
    });
}

#[test]
fn a_checkpoint_of_an_index_is_reported_and_lookups_are_not() {
    with_events(|lines| {
        let index: Index<u64, u64> =
            Index::create((Arc::new(MemoryStorage::new()), "ages"), &IndexOptions::default()).unwrap();
        let mut transaction = index.write().unwrap();
        transaction.insert(1815, 36).unwrap();
        transaction.commit().unwrap();
        assert_eq!(index.get(1815).unwrap(), Some(36));
        assert_eq!(lines.take(), Vec::<String>::new());
        index.checkpoint().unwrap();
        assert_events(&lines.take(), &["checkpoint written index=memory:/ages"]);
    });
}

#[cfg(feature = "metrics")]
mod metrics {
    use super::*;
    use metrics_exporter_prometheus::PrometheusBuilder;
    use ogive::{LocalStorage, Storage, Table, TableOptions, TableWriteOptions, TableWriter};

    /// Runs `work` with a recorder; returns what Prometheus would read.
    fn rendered(work: impl FnOnce()) -> String {
        let recorder = PrometheusBuilder::new().build_recorder();
        let handle = recorder.handle();
        ::metrics::with_local_recorder(&recorder, work);
        handle.render()
    }

    /// The value of a metric, given with its labels.
    fn value(text: &str, metric: &str) -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(metric)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {metric} in\n{text}")).parse().unwrap()
    }

    #[test]
    fn a_store_counts_what_it_does() {
        let folder = tempfile::tempdir().unwrap();
        let mut flushes = 0;
        let text = rendered(|| {
            let db = Db::open(folder.path(), &options()).unwrap();
            for key in 0..100_u8 {
                db.insert([key], "value").unwrap();
            }
            db.flush().unwrap();
            for key in 0..100_u8 {
                assert!(db.get([key]).unwrap().is_some());
            }
            assert!(db.get_into("absent", &mut Vec::new()).is_ok());
            db.multi_get(["a", "b", "c"]).unwrap();
            flushes = db.activity().flushes;
        });
        let value = |name: &str| value(&text, &format!("{name}{{store=\"{}\"}}", folder.path().display()));
        assert_eq!(value("ogive_store_gets_total"), 101.0);
        assert_eq!(value("ogive_store_batched_gets_total"), 3.0);
        assert_eq!(value("ogive_store_operations_total"), 100.0);
        assert!(value("ogive_store_user_bytes_total") >= 600.0);
        assert_eq!(value("ogive_store_flushes_total"), flushes as f64);
        assert_eq!(value("ogive_store_flush_duration_seconds_count"), flushes as f64);
        assert!(value("ogive_store_cache_hits_total") > 90.0);
        assert!(value("ogive_store_cache_misses_total") >= 1.0);
        assert_eq!(value("ogive_store_failed"), 0.0);
        let level = format!("ogive_store_level_tables{{store=\"{}\",level=\"0\"}} 1", folder.path().display());
        assert!(text.contains(&level), "{text}");
        assert!(text.contains("# HELP ogive_store_gets_total Lookups of single keys."), "{text}");
    }

    #[test]
    fn scrubbing_counts_what_it_reads_and_the_files_that_are_damaged() {
        let memory = MemoryStorage::new();
        let mut read_bytes = 0;
        let text = rendered(|| {
            let options = DbOptions::default().threads(1).scrub_bytes_per_s(1 << 30);
            let db = Db::open(Arc::new(memory.clone()), &options).unwrap();
            db.insert("a", "1").unwrap();
            db.flush().unwrap();
            let name = memory.list().unwrap().into_iter().find(|name| name.ends_with(".table")).unwrap();
            memory.put(&name, vec![7; 5000]).unwrap();
            while db.stats().scrub.findings.is_empty() || db.stats().scrub.passes == 0 {
                std::thread::yield_now();
            }
            db.close().unwrap();
            read_bytes = db.stats().scrub.read_bytes;
        });
        let value = |name: &str| value(&text, &format!("{name}{{store=\"memory:\"}}"));
        assert_eq!(value("ogive_store_damaged_files"), 1.0);
        assert!(value("ogive_store_scrub_passes_total") >= 1.0);
        assert_eq!(value("ogive_store_scrubbed_bytes_total"), read_bytes as f64);
    }

    #[test]
    fn tables_count_lookups_and_storages_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let mut length_bytes = 0;
        let text = rendered(|| {
            let storage = Arc::new(LocalStorage::new(folder.path()));
            let mut writer = TableWriter::create((storage.clone(), "t"), TableWriteOptions::default()).unwrap();
            writer.append(b"apple", b"red").unwrap();
            writer.finish().unwrap();
            let table = Table::open((storage.clone(), "t"), &TableOptions::default()).unwrap();
            assert!(table.get(b"apple").unwrap().is_some());
            assert!(table.get(b"apple").unwrap().is_some());
            length_bytes = storage.open("t").unwrap().len();
        });
        assert_eq!(value(&text, "ogive_table_gets_total"), 2.0);
        assert_eq!(value(&text, "ogive_table_cache_hits_total"), 1.0);
        assert_eq!(value(&text, "ogive_table_cache_misses_total"), 1.0);
        assert!(value(&text, "ogive_storage_written_bytes_total{storage=\"local\"}") >= length_bytes as f64);
        assert!(value(&text, "ogive_storage_read_bytes_total{storage=\"local\"}") > 0.0);
    }
}
