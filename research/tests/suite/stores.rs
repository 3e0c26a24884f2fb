//! Whole runs of `ogive-research stores`: the list, each workload at small size, wrong names, and a worker that is
//! killed.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

type TestResult = Result<(), Box<dyn std::error::Error>>;

/// Options of a run that takes seconds.
const SMALL: &[&str] = &["stores", "run", "--json", "-n", "3k", "--memory", "64", "--memtable", "1"];

fn ogive_research(arguments: &[&str]) -> std::io::Result<Output> {
    Command::new(env!("CARGO_BIN_EXE_ogive-research")).args(arguments).output()
}

fn parsed(lines: &[u8]) -> Result<Vec<Value>, Box<dyn std::error::Error>> {
    Ok(str::from_utf8(lines)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

/// The records of a run that succeeds.
fn records(arguments: &[&str]) -> Result<Vec<Value>, Box<dyn std::error::Error>> {
    let output = ogive_research(arguments)?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    parsed(&output.stdout)
}

fn names<'r>(records: &'r [Value], experiment: &str, field: &str) -> Vec<&'r str> {
    let of = records.iter().filter(|record| record["experiment"] == experiment);
    of.filter_map(|record| record[field].as_str()).collect()
}

#[test]
fn systems_and_workloads_are_listed_but_not_the_worker() -> TestResult {
    let listed = records(&["stores", "list", "--json"])?;
    let systems = names(&listed, "systems", "system");
    assert_eq!(systems, ["ogive", "ogive-separated", "ogive-plain", "ogive-plr"]);
    let workloads = names(&listed, "workloads", "workload");
    assert!(workloads.contains(&"load-random") && workloads.contains(&"ycsb-f"), "{workloads:?}");
    let help = ogive_research(&["stores", "--help"])?;
    assert!(!str::from_utf8(&help.stdout)?.contains("worker"));
    Ok(())
}

#[test]
fn every_workload_runs_on_every_system_and_no_answer_is_wrong() -> TestResult {
    let small = ["--operations", "500", "--cold-operations", "100", "--synced-commits", "40", "--rounds", "2"];
    let found = records(&[SMALL, &small].concat())?;
    assert_eq!(found[0]["experiment"], "machine");
    assert_eq!(names(&found, "systems", "system").len(), 4);
    assert!(found.iter().all(|record| record["error"].is_null()), "{found:?}");
    let listed = records(&["stores", "list", "--json"])?;
    for workload in names(&listed, "workloads", "workload") {
        for system in names(&listed, "systems", "system") {
            // `cold-first` has a record for 1, 10 and 100 lookups.
            let is_first = |name: &str| workload == "cold-first" && name.starts_with("cold-first-");
            let of = |record: &&Value| {
                let name = record["workload"].as_str().unwrap_or_default();
                record["system"] == system && (name == workload || is_first(name))
            };
            let record = found.iter().find(of).ok_or(format!("no {workload} of {system}"))?;
            assert!(record["experiment"] == "rivals" && record["ns_per_op"].as_f64() > Some(0.0), "{record}");
            let is_load = workload.starts_with("load-") || workload.starts_with("put-");
            assert_eq!(record["rounds"], if is_load { 1 } else { 2 }, "{record}");
            assert!(record["disk_bytes"].as_u64() > Some(0), "{record}");
        }
    }
    Ok(())
}

#[test]
fn requests_key_forms_and_other_orders_are_taken() -> TestResult {
    let run = ["--system", "ogive", "--workload", "get", "ycsb-b", "--order", "sequential", "--key-form", "hex100"];
    let more = ["--requests", "sequential", "latest", "--operations", "300", "--value", "0", "--lz4", "--rounds", "1"];
    let found = records(&[SMALL, &run, &more].concat())?;
    assert!(found.iter().all(|record| record["error"].is_null()), "{found:?}");
    for (workload, requests) in [("get", "sequential"), ("get", "latest:0.99"), ("ycsb-b", "latest:0.99")] {
        let of = |record: &Value| record["workload"] == workload && record["requests"] == requests;
        assert!(found.iter().any(of), "{workload} {requests}: {found:?}");
    }
    Ok(())
}

#[test]
fn wrong_names_are_errors_before_anything_runs() -> TestResult {
    for (arguments, code, told) in [
        (["--system", "ogive-plane"], 1, "did you mean \"ogive-plain\"?"),
        (["--system", "nothing"], 1, "no store \"nothing\" among ogive, ogive-separated"),
        (["--workload", "nothing"], 2, "a workload is one of load-random"),
        (["--keys", "uniformly"], 1, "did you mean \"uniform\"?"),
        (["--folder", "no/such/folder"], 1, "no folder can be made under no/such/folder"),
    ] {
        let output = ogive_research(&[SMALL, &arguments].concat())?;
        let message = str::from_utf8(&output.stderr)?;
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        // Wrong usage is told as an object, too.
        let printed = str::from_utf8(&output.stdout)?;
        let told_as_asked = if code == 2 { printed.contains("\"error\"") } else { printed.is_empty() };
        assert!(message.contains(told) && told_as_asked, "{arguments:?}: {message}");
    }
    assert_eq!(ogive_research(&["stores", "worker", "{}"])?.status.code(), Some(1));
    Ok(())
}

/// The process of the worker of a system, among the children of a process.
fn worker_of(parent: u32, system: &str) -> Option<String> {
    let own = format!("\"system\":\"{system}\"");
    std::fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
        let words = std::fs::read_to_string(entry.path().join("cmdline")).ok()?;
        let status = std::fs::read_to_string(entry.path().join("status")).ok()?;
        let is_child = status.lines().any(|line| line == format!("PPid:\t{parent}"));
        (is_child && words.contains(&own)).then(|| entry.file_name().to_string_lossy().into_owned())
    })
}

#[test]
fn a_worker_that_is_killed_is_an_error_of_its_system_and_the_others_go_on() -> TestResult {
    let run = ["--system", "ogive-plain", "ogive", "--workload", "get", "ycsb-a", "--operations", "20k"];
    let mut bench = Command::new(env!("CARGO_BIN_EXE_ogive-research"))
        .args([SMALL, &run, &["--rounds", "20"]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut told = BufReader::new(bench.stderr.take().ok_or("no standard error")?).lines();
    let in_the_middle = told.any(|line| line.is_ok_and(|line| line == "get, round 3 of 20: ogive-plain"));
    assert!(in_the_middle);
    let worker = worker_of(bench.id(), "ogive-plain").ok_or("no worker")?;
    assert!(Command::new("kill").args(["-9", &worker]).status()?.success());
    // Nothing may wait for a reader of what else is told.
    told.for_each(drop);
    let mut lines = Vec::new();
    bench.stdout.take().ok_or("no standard output")?.read_to_end(&mut lines)?;
    assert!(bench.wait()?.success());
    let found = parsed(&lines)?;
    let of = |system: &str, workload: &str| -> Vec<&Value> {
        let is_own = |record: &&Value| record["system"] == system && record["workload"] == workload;
        found.iter().filter(is_own).collect()
    };
    let [killed] = of("ogive-plain", "get")[..] else { panic!("{found:?}") };
    let error = killed["error"].as_str().unwrap_or_default();
    assert!(error.contains("the process of the store ended before it answered (signal: 9"), "{killed}");
    assert!(of("ogive-plain", "ycsb-a").is_empty());
    for workload in ["get", "ycsb-a"] {
        assert!(matches!(of("ogive", workload)[..], [record] if record["rounds"] == 20), "{found:?}");
    }
    Ok(())
}
