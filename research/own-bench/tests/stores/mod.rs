//! Stores of another crate beside Ogive: the one of this crate, and others that go wrong.

use std::fs;
use std::path::Path;
use std::process::Command;

use ogive_research::stores::{StoreBatch, StoreSessions, StoreSettings};
use own_bench::store::LOG_STORE;
use serde_json::Value;

use super::{TestResult, own_bench};

/// Options of a run that takes seconds.
const SMALL: &[&str] = &[
    "stores",
    "run",
    "--json",
    "-n",
    "5k",
    "--operations",
    "2k",
    "--cold-operations",
    "300",
    "--synced-commits",
    "100",
    "--memory",
    "64",
    "--memtable",
    "1",
];

/// The results of a run of stores, without machine and settings.
fn results(program: &str, more: &[&str]) -> Result<Vec<Value>, Box<dyn std::error::Error>> {
    let output = Command::new(program).args(SMALL).args(more).output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = str::from_utf8(&output.stdout)?.lines().map(serde_json::from_str);
    let records: Vec<Value> = lines.collect::<Result<_, _>>()?;
    Ok(records.into_iter().filter(|record| record["experiment"] == "rivals").collect())
}

#[test]
fn an_own_store_is_measured_beside_ogive() -> TestResult {
    let workloads = [
        "load-random",
        "load-synced",
        "put-random",
        "get",
        "get-absent",
        "scan-100",
        "cold-get",
        "cold-first",
        "overwrite",
        "ycsb-a",
        "ycsb-e",
    ];
    let run =
        [&["--system", "log", "ogive", "--keys", "triangles", "--rounds", "2", "--workload"], &workloads[..]].concat();
    let found = results(env!("CARGO_BIN_EXE_own-bench"), &run)?;
    assert!(found.iter().all(|record| record["error"].is_null()), "{found:?}");
    for workload in workloads {
        for system in ["log", "ogive"] {
            // The first lookups are counted in the name: `cold-first-10`.
            let is_own = |name: &str| name == workload || workload == "cold-first" && name.starts_with("cold-first-");
            let of = |record: &&Value| record["system"] == system && is_own(record["workload"].as_str().unwrap());
            let record = found.iter().find(of).unwrap();
            assert!(record["ns_per_op"].as_f64() > Some(0.0), "{record}");
            assert!(record["operations"].as_u64() >= Some(1), "{record}");
            assert_eq!(record["keys"], "triangles");
        }
    }
    let disk = |system: &str| {
        let of = |record: &&Value| record["system"] == system && record["workload"] == "load-random, compact";
        found.iter().find(of).unwrap()["disk_bytes"].as_u64().unwrap()
    };
    // 5,000 records of 16 + 64 bytes.
    assert!(disk("log") >= 400_000 && disk("ogive") >= 300_000, "{} {}", disk("log"), disk("ogive"));
    Ok(())
}

#[test]
fn own_stores_are_listed_and_a_wrong_name_leads_to_them() -> TestResult {
    let listed = own_bench(&["stores", "list", "--json"])?;
    let listed = str::from_utf8(&listed.stdout)?;
    assert!(listed.contains(r#""system":"log","settings":"all records in memory"#), "{listed}");
    let refused = own_bench(&["stores", "run", "--system", "logg"])?;
    let message = str::from_utf8(&refused.stderr)?;
    assert_eq!(refused.status.code(), Some(1));
    assert!(message.contains(r#"no store "logg""#) && message.contains(r#"did you mean "log"?"#), "{message}");
    Ok(())
}

#[test]
fn a_store_that_answers_wrongly_is_told_with_key_and_answer_and_the_others_go_on() -> TestResult {
    let run = ["--system", "wrong-value", "missing-keys", "short-scan", "ends", "log", "--workload"];
    let run = [&run[..], &["put-sequential", "get", "scan-100", "cold-get", "ycsb-b"]].concat();
    let found = results(env!("CARGO_BIN_EXE_wrong_stores"), &run)?;
    let of = |system: &str| found.iter().filter(|record| record["system"] == system).collect::<Vec<&Value>>();
    for (system, told) in [
        ("wrong-value", ["get of key 0x", ": they differ at byte 63"]),
        ("missing-keys", ["get of key 0x", "answered that there is none instead of 0x"]),
        ("short-scan", ["scan of ", "records instead of"]),
        ("ends", ["ended before it answered", "exit status: 9"]),
    ] {
        let [records @ .., last] = &of(system)[..] else { panic!("{system} has no record") };
        let error = last["error"].as_str().unwrap();
        assert!(told.iter().all(|part| error.contains(part)), "{last}");
        // What came before the error may be right; nothing comes after it.
        assert!(records.iter().all(|record| record["error"].is_null()), "{records:?}");
        assert!(records.iter().all(|record| record["workload"] != last["workload"]), "{records:?}");
    }
    let log = of("log");
    assert!(log.iter().all(|record| record["error"].is_null()), "{log:?}");
    for workload in ["put-sequential", "get", "scan-100", "cold-get", "ycsb-b"] {
        assert!(log.iter().any(|record| record["workload"] == workload), "{workload}: {log:?}");
    }
    Ok(())
}

fn opened(folder: &Path) -> Result<Box<dyn StoreSessions>, Box<dyn std::error::Error>> {
    let settings =
        StoreSettings { memory_bytes: 1 << 20, memtable_bytes: 1 << 20, synced: true, direct: false, lz4: false };
    Ok((LOG_STORE.open)(folder, &settings)?)
}

fn put(store: &dyn StoreSessions, records: &[(&str, &str)]) -> TestResult {
    let mut batch = StoreBatch::default();
    records.iter().for_each(|(key, value)| batch.push(key.as_bytes(), value.as_bytes()));
    Ok(store.writer()?.write(&batch)?)
}

fn all(store: &dyn StoreSessions) -> Result<String, Box<dyn std::error::Error>> {
    let mut out = Vec::new();
    store.reader(true)?.scan(b"", 100, &mut out)?;
    Ok(String::from_utf8(out)?)
}

#[test]
fn the_own_store_keeps_whole_commits_and_cuts_off_a_torn_one() -> TestResult {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("records.log");
    put(opened(folder.path())?.as_ref(), &[("b", "2"), ("a", "1")])?;
    let whole = fs::metadata(&log)?.len();
    put(opened(folder.path())?.as_ref(), &[("a", "3"), ("c", "4")])?;
    assert_eq!(all(opened(folder.path())?.as_ref())?, "a3b2c4");
    let bytes = fs::read(&log)?;
    for end in whole..bytes.len() as u64 {
        fs::write(&log, &bytes[..end as usize])?;
        let store = opened(folder.path())?;
        assert_eq!(all(store.as_ref())?, "a1b2", "{end}");
        assert_eq!(fs::metadata(&log)?.len(), whole, "{end}");
    }
    put(opened(folder.path())?.as_ref(), &[("d", "5")])?;
    assert_eq!(all(opened(folder.path())?.as_ref())?, "a1b2d5");
    Ok(())
}

#[test]
fn the_own_store_is_smaller_after_compaction_and_takes_writes() -> TestResult {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("records.log");
    let mut store = opened(folder.path())?;
    for value in ["1", "2", "3"] {
        put(store.as_ref(), &[("a", value), ("b", value)])?;
    }
    let before = fs::metadata(&log)?.len();
    store.compact()?;
    assert_eq!(fs::metadata(&log)?.len() * 3, before);
    put(store.as_ref(), &[("c", "4")])?;
    drop(store);
    assert_eq!(all(opened(folder.path())?.as_ref())?, "a3b3c4");
    Ok(())
}
