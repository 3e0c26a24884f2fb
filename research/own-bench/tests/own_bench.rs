//! The example of a bench of one's own. Goal: an index, a key set and a store of another crate are measured as those of
//! the project, and a program as the first two. Method: whole runs of the command.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod programs;
mod stores;

use std::process::{Command, Output};

use ogive_testkit::index::router_agrees_with_a_map;
use own_bench::index::SampledArray;
use serde_json::Value;

type TestResult = Result<(), Box<dyn std::error::Error>>;

fn own_bench(arguments: &[&str]) -> std::io::Result<Output> {
    Command::new(env!("CARGO_BIN_EXE_own-bench")).args(arguments).output()
}

/// The records of a run, without the first, which describes the machine.
fn records(arguments: &[&str]) -> Result<Vec<Value>, Box<dyn std::error::Error>> {
    let output = own_bench(arguments)?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = str::from_utf8(&output.stdout)?.lines().map(serde_json::from_str);
    let records: Vec<Value> = lines.collect::<Result<_, _>>()?;
    assert_eq!(records[0]["command"].as_str().unwrap().split(' ').next(), Some("own-bench"));
    Ok(records[1..].to_vec())
}

fn of<'r>(records: &'r [Value], structure: &str) -> &'r Value {
    records.iter().find(|record| record["structure"] == structure).unwrap()
}

#[test]
fn an_own_index_is_measured_on_an_own_key_set() -> TestResult {
    let run = ["run", "disk/lookups", "--keys", "triangles", "-n", "100k", "--lookups", "2k", "--json"];
    let run = [&run[..], &["--structure", "sampled-array", "btree"]].concat();
    let found = records(&run)?;
    assert_eq!(found.len(), 2);
    let (own, btree) = (of(&found, "sampled-array"), of(&found, "btree"));
    assert_eq!(own["keys"], "triangles:100k:seed=1");
    // Top, array and leaf; the B+-tree of this size has as many levels.
    assert_eq!(own["height"], 3);
    let blocks = own["blocks_per_get"].as_f64().unwrap();
    assert!((2.9..=3.0).contains(&blocks), "{own}");
    assert_eq!(own["leaf_blocks_per_get"], btree["leaf_blocks_per_get"]);
    Ok(())
}

#[test]
fn an_own_index_takes_inserts_and_is_among_those_compared_by_default() -> TestResult {
    let run = ["run", "aulid/blocks", "--keys", "triangles:20k", "--lookups", "500", "--resident", "0", "--json"];
    let found = records(&run)?;
    assert!(found.iter().all(|record| record["error"].is_null()), "{found:?}");
    assert!(found.iter().any(|record| record["structure"] == "ogive"));
    for phase in ["bulk", "grown"] {
        let is_own = |record: &&Value| record["structure"] == "sampled-array" && record["phase"] == phase;
        let own = found.iter().find(is_own).unwrap();
        assert!(own["blocks_written_per_insert"].as_f64() >= Some(1.0), "{own}");
        assert!(own["blocks_per_scan100"].as_f64() >= own["blocks_per_get"].as_f64(), "{own}");
    }
    Ok(())
}

#[test]
fn own_key_sets_are_listed_and_described() -> TestResult {
    let listed = own_bench(&["list"])?;
    assert!(str::from_utf8(&listed.stdout)?.contains("triangles:stride=3"));
    let described = own_bench(&["keys", "triangles:1k:stride=1", "--stats", "--json"])?;
    let described: Value = serde_json::from_slice(&described.stdout)?;
    assert_eq!((&described["distinct"], &described["max_key"]), (&1_000.into(), &(999 * 1_000 / 2).into()));
    let refused = own_bench(&["keys", "triangles:1k:stride=9"])?;
    assert_eq!(refused.status.code(), Some(1));
    assert!(str::from_utf8(&refused.stderr)?.contains("stride is a number from 1 to 4"));
    Ok(())
}

#[test]
fn the_router_agrees_with_a_map() {
    router_agrees_with_a_map::<u64>(&|| Box::new(SampledArray));
    router_agrees_with_a_map::<u128>(&|| Box::new(SampledArray));
}
