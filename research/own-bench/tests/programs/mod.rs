//! Programs as subjects: the one of this crate, and others that go wrong.

use std::process::Command;
use std::time::{Duration, Instant};

use ogive_research::Error;
use ogive_research::external::{PipeCost, ProgramFault, ProgramIndex, ProgramWork};

use super::{TestResult, of, own_bench, records};

const PROGRAM: &str = concat!("program:", env!("CARGO_BIN_EXE_sorted_array"));

/// The program of this crate, whose replies are edited.
fn edited(edit: &str) -> String {
    format!("'{}' | sed -u '{edit}'", env!("CARGO_BIN_EXE_sorted_array"))
}

fn fault_of<T>(result: ogive_research::Result<T>) -> ProgramFault {
    match result.map(|_| ()) {
        Err(Error::Program { fault, .. }) => fault,
        other => unreachable!("{other:?}"),
    }
}

/// An index of the keys 0, 10, ..., 9990 with each key plus one as value.
fn tens(command: &str) -> ogive_research::Result<ProgramIndex> {
    let mut index = ProgramIndex::start(command, 4096, 60)?;
    index.bulk_load((0..1_000).map(|key| Ok(10 * key)), |key| key + 1, &PipeCost::default())?;
    Ok(index)
}

fn all_tens() -> Vec<u64> {
    (0..1_000).map(|key| 10 * key).collect()
}

#[test]
fn a_program_is_measured_beside_structures_of_the_process() -> TestResult {
    let run = ["run", "disk/lookups", "--keys", "uniform:20k", "--lookups", "3k", "--json", "--structure", "btree"];
    let found = records(&[&run[..], &[PROGRAM]].concat())?;
    assert_eq!(found.len(), 2);
    let program = of(&found, PROGRAM);
    assert_eq!(program["program"], "sorted-array 1.0");
    assert_eq!(program["operations"], 3_000);
    // 20,000 pairs in 79 blocks of 256: a search leaves the range of a block after about seven steps.
    let blocks = program["blocks_per_get"].as_f64().unwrap();
    assert!((6.0..8.5).contains(&blocks), "{program}");
    assert_eq!(program["blocks_per_get"], program["blocks_read_per_operation"]);
    assert!(program["blocks_per_scan100"].as_f64() > Some(blocks), "{program}");
    assert_eq!(program["file_bytes"], 79 * 4096);
    let us = |field: &str| program[field].as_f64().unwrap();
    assert!(us("program_us_per_operation") > 0.0 && us("pipe_us_per_operation") > 0.0, "{program}");
    assert!(us("wall_us_per_operation") > us("program_us_per_operation"), "{program}");
    Ok(())
}

#[test]
fn a_program_runs_every_workload_and_the_bulk_load() -> TestResult {
    let small = ["--keys", "triangles:3k", "--lookups", "2500", "--modelled-only", "--json", "--structure", PROGRAM];
    let found = records(&[&["run", "aulid/throughput"], &small[..]].concat())?;
    let workloads: Vec<&str> = found.iter().map(|record| record["workload"].as_str().unwrap()).collect();
    assert_eq!(workloads, ["w1", "w2", "w3", "w4", "w5", "w6", "append"]);
    for record in &found {
        assert!(record["error"].is_null() && record["program_ops_per_s"].as_f64() > Some(0.0), "{record}");
        let writes = record["workload"] != "w1" && record["workload"] != "w2";
        assert_eq!(record["blocks_written_per_operation"].as_f64() > Some(0.0), writes, "{record}");
    }
    let loaded = records(&["run", "aulid/bulk-load", "--keys", "triangles:3k", "--json", "--structure", PROGRAM])?;
    assert_eq!((loaded.len(), &loaded[0]["keys_count"]), (1, &3_000.into()));
    assert_eq!(loaded[0]["file_bytes"], 12 * 4096);
    assert!(loaded[0]["wall_s"].as_f64() > loaded[0]["load_s"].as_f64(), "{}", loaded[0]);
    Ok(())
}

#[test]
fn experiments_that_need_pages_refuse_programs_and_name_those_that_do_not() -> TestResult {
    let refused = own_bench(&["run", "aulid/insert", "--structure", PROGRAM])?;
    let message = str::from_utf8(&refused.stderr)?;
    assert_eq!(refused.status.code(), Some(1));
    assert!(message.contains("program:") && message.contains("disk/lookups, disk/hybrids"), "{message}");
    Ok(())
}

#[test]
fn a_wrong_answer_names_program_key_and_both_values() -> TestResult {
    let mut work = ProgramWork::default();
    let command = edited(r#"/elapsed_ns/s/"values":\[1,11,/"values":[1,12,/"#);
    let error = tens(&command)?.gets(&[0, 10, 20], |key| Some(key + 1), &PipeCost::default(), &mut work).unwrap_err();
    let message = error.to_string();
    assert!(message.contains(&command) && message.contains("get of key 10 gave 12 instead of 11"));
    assert_eq!(work, ProgramWork::default());

    let mut index = tens(&edited(r#"/elapsed_ns/s/\[20,21,30,31/[20,21,30,32/"#))?;
    let scanned = index.scans(&[20], 3, &all_tens(), |key| key + 1, &PipeCost::default(), &mut work);
    assert!(matches!(fault_of(scanned), ProgramFault::WrongAnswer { request: "scan", key: 20, .. }));

    let mut index = tens(&edited(r#"s/"values":\[null/"values":[6/"#))?;
    let absent = index.gets(&[5], |_| None, &PipeCost::default(), &mut work);
    assert!(matches!(fault_of(absent), ProgramFault::WrongAnswer { key: 5, .. }));
    Ok(())
}

#[test]
fn wrong_counts_and_clocks_are_noticed() -> TestResult {
    let mut work = ProgramWork::default();
    let insert =
        |index: &mut ProgramIndex, work: &mut ProgramWork| index.inserts(&[3], |key| key, &PipeCost::default(), work);
    let fault = fault_of(insert(&mut tens(&edited(r#"s/"added":1/"added":2/"#))?, &mut work));
    assert!(matches!(fault, ProgramFault::WrongCount { request: "insert", found: 2, expected: 1, .. }), "{fault}");

    // Inserting a key again adds nothing.
    let mut index = tens(&edited(""))?;
    insert(&mut index, &mut work)?;
    assert!(matches!(fault_of(insert(&mut index, &mut work)), ProgramFault::WrongCount { found: 0, .. }));

    assert_eq!(tens(&edited(""))?.size(1_000)?.file_bytes, Some(4 * 4096));
    assert!(matches!(fault_of(tens(&edited(""))?.size(999)), ProgramFault::WrongCount { found: 1_000, .. }));

    let mut slow = tens(&edited(r#"/"values"/s/"elapsed_ns":[0-9]*/"elapsed_ns":999999999999/"#))?;
    let fault = fault_of(slow.gets(&[0], |key| Some(key + 1), &PipeCost::default(), &mut work));
    assert!(matches!(fault, ProgramFault::Clock { stated_ns: 999_999_999_999, .. }), "{fault}");

    let mut boastful = tens(&edited(r#"/"values"/s/"blocks_read":[0-9]*/"blocks_read":18446744073709551615/"#))?;
    let fault = fault_of(boastful.gets(&[0], |key| Some(key + 1), &PipeCost::default(), &mut work));
    assert!(matches!(&fault, ProgramFault::Unsound { request: "get", reason } if reason.starts_with("states")));
    let huge = edited(r#"s/"file_bytes":[0-9]*/"file_bytes":18446744073709551615/"#);
    assert!(matches!(fault_of(tens(&huge)?.size(1_000)), ProgramFault::Unsound { request: "size", .. }));

    let unable = tens(&edited(r#"s/"scan",//"#))?;
    assert!(unable.needs("insert").is_ok());
    assert!(matches!(fault_of(unable.needs("scan")), ProgramFault::Lacks { operation: "scan" }));
    Ok(())
}

#[test]
fn programs_that_are_no_subjects_are_faults_of_their_own() {
    let hello = r#"echo "{\"protocol\":1,\"name\":\"x\"}""#;
    let start = |command: &str, timeout_s: u64| fault_of(ProgramIndex::start(command, 4096, timeout_s));
    let load = |command: &str| fault_of(tens(command));
    let fault = start("exit 3", 60);
    assert!(
        matches!(fault, ProgramFault::Ended { request: "hello", status: Some(status) } if status.code() == Some(3))
    );
    let fault = start("no-such-program-of-ours", 60);
    assert!(matches!(fault, ProgramFault::Ended { status: Some(status), .. } if status.code() == Some(127)));
    let fault = load(&format!("{hello}; kill -9 $$"));
    assert!(matches!(fault, ProgramFault::Ended { request: "load" | "build", .. }), "{fault}");
    let fault = start("echo hello world; cat", 60);
    assert!(matches!(&fault, ProgramFault::Invalid { line, .. } if line == "hello world"), "{fault}");
    assert!(matches!(start("echo '{}'; cat", 60), ProgramFault::Unsound { request: "hello", .. }));
    let fault = start(r#"echo '{"protocol":2,"name":"x"}'; cat"#, 60);
    assert!(matches!(fault, ProgramFault::Protocol { theirs: 2, .. }), "{fault}");
    let fault = load(&format!(r#"{hello}; echo '{{"error":"no room"}}'; cat"#));
    assert!(matches!(&fault, ProgramFault::Failed { reason, .. } if reason == "no room"), "{fault}");
    // Neither the line nor the wait may be without an end.
    let fault = start("cat /dev/zero", 60);
    assert!(matches!(fault, ProgramFault::LongLine { .. }), "{fault}");
    let begin = Instant::now();
    let fault = start("sleep 600; true", 1);
    assert!(matches!(fault, ProgramFault::Silent { request: "hello", timeout_s: 1 }), "{fault}");
    assert!(begin.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_failing_program_does_not_end_the_run() -> TestResult {
    let run = ["run", "disk/lookups", "--keys", "uniform:5k", "--lookups", "100", "--json", "--structure"];
    let found = records(&[&run[..], &["program:exit 3", "btree"]].concat())?;
    assert_eq!(found.len(), 2);
    assert!(of(&found, "program:exit 3")["error"].as_str().unwrap().contains("program `exit 3` ended before"));
    assert!(of(&found, "btree")["blocks_per_get"].as_f64() > Some(1.0));
    Ok(())
}

#[test]
fn a_program_that_makes_values_up_is_not_measured() -> TestResult {
    // Right for every key that is there, and wrong for the absent ones that are looked up before the run.
    let program = format!("program:{}", edited("s/null/1/g"));
    let run = ["run", "disk/lookups", "--keys", "sparse:2k", "--lookups", "100", "--json", "--structure", "btree"];
    let found = records(&[&run[..], &[program.as_str()]].concat())?;
    let record = of(&found, &program);
    assert!(record["error"].as_str().unwrap().ends_with("gave 1 instead of nothing"), "{record}");
    assert!(record["program_ops_per_s"].is_null(), "{record}");
    Ok(())
}

#[test]
fn the_program_in_cpp_answers_as_well_where_there_is_a_compiler() -> TestResult {
    let folder = tempfile::tempdir()?;
    let (source, program) =
        (concat!(env!("CARGO_MANIFEST_DIR"), "/sorted_array.cpp"), folder.path().join("sorted_array"));
    let compiled = Command::new("c++").args(["-O1", "-std=c++17", "-o"]).arg(&program).arg(source).status();
    let Ok(compiled) = compiled else {
        eprintln!("no C++ compiler: nothing is tested");
        return Ok(());
    };
    assert!(compiled.success());
    let name = format!("program:{}", program.display());
    let small = ["--keys", "sparse:3k", "--lookups", "2500", "--modelled-only", "--json", "--structure", &name];
    let found = records(&[&["run", "aulid/throughput"], &small[..]].concat())?;
    assert_eq!(found.len(), 7);
    for record in &found {
        assert!(record["error"].is_null() && record["operations"].as_f64() > Some(1_000.0), "{record}");
        assert!(record["blocks_read_per_operation"].is_null(), "it counts no blocks: {record}");
    }
    Ok(())
}
