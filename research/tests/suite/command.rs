//! Whole runs of the `ogive-research` command: output and exit codes.

use std::process::{Command, Output, Stdio};

type TestResult = Result<(), Box<dyn std::error::Error>>;

fn ogive_research(arguments: &[&str]) -> std::io::Result<Output> {
    Command::new(env!("CARGO_BIN_EXE_ogive-research")).args(arguments).output()
}

fn json_lines(output: &Output) -> Result<Vec<serde_json::Value>, Box<dyn std::error::Error>> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(str::from_utf8(&output.stdout)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

#[test]
fn keys_are_printed_in_decimal() -> TestResult {
    let output = ogive_research(&["keys", "powers:4"])?;
    assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"1\n2\n4\n8\n"[..], &b""[..]));
    Ok(())
}

#[test]
fn keys_written_to_a_file_are_described_as_they_were_made() -> TestResult {
    let folder = tempfile::TempDir::new()?;
    let file = folder.path().join("zipf.u64");
    let file = file.to_str().ok_or("no path")?;
    let written = json_lines(&ogive_research(&["keys", "zipf:5k", "-o", file, "--stats", "--json"])?)?;
    let read = json_lines(&ogive_research(&["keys", file, "--stats", "--json"])?)?;
    for field in ["count", "distinct", "longest_repeat", "min_key", "max_key"] {
        assert!(written[0][field].is_u64());
        assert_eq!(written[0][field], read[0][field], "{field}");
    }
    assert_eq!((&read[0]["keys"], &read[0]["distinct"]), (&"zipf.u64".into(), &500.into()));
    let refused = ogive_research(&["keys", "zipf:5k", "-o", file])?;
    assert_eq!(refused.status.code(), Some(1));
    assert!(str::from_utf8(&refused.stderr)?.contains("--force"));
    assert!(ogive_research(&["keys", "zipf:6k", "-o", file, "--force"])?.status.success());
    assert_eq!(std::fs::metadata(file)?.len(), 8 + 6_000 * 8);
    Ok(())
}

#[test]
fn an_experiment_prints_the_machine_and_then_its_records() -> TestResult {
    let run = ["run", "keys/generators", "--keys", "uniform", "linear:7", "-n", "5k", "--seeds", "3", "--json"];
    let lines = json_lines(&ogive_research(&run)?)?;
    let experiments: Vec<_> = lines.iter().map(|line| line["experiment"].as_str().unwrap_or_default()).collect();
    assert_eq!(experiments, ["machine", "keys/generators", "keys/generators"]);
    assert!(lines[0]["cores"].as_u64() >= Some(1));
    assert_eq!((&lines[1]["count"], &lines[2]["count"]), (&5_000.into(), &7.into()));
    let rate = |field: &str| lines[1][field].as_f64();
    assert!(rate("keys_per_s_min") <= rate("keys_per_s") && rate("keys_per_s") <= rate("keys_per_s_max"));
    Ok(())
}

#[test]
fn every_listed_name_can_be_used() -> TestResult {
    for line in json_lines(&ogive_research(&["list", "--json"])?)? {
        if line["experiment"] == "key sets" {
            let name = line["name"].as_str().ok_or("no name")?;
            assert!(ogive_research(&["keys", &format!("{name}:50"), "--stats"])?.status.success(), "{name}");
        }
    }
    Ok(())
}

#[test]
fn wrong_usage_is_2_and_a_failure_1_with_a_way_out() -> TestResult {
    for (arguments, code, told) in [
        (&["keys"][..], 2, "SPEC"),
        (&["run", "keys/generators", "-n", "lots"], 2, "10M"),
        (&["run", "keys/generators", "--seeds", "0"], 2, "1.."),
        (&["keys", "uniformly"], 1, "did you mean \"uniform\"? `ogive-research list` names"),
        (&["keys", "fetch"], 2, "NAME"),
        (&["keys", "fetch", "nothing"], 1, "no real key set \"nothing\" can be fetched; `ogive-research list` names"),
        (&["keys", "fetch", "fb_200"], 1, "did you mean \"fb_200M\"?"),
        (&["run", "nothing"], 1, "no experiment \"nothing\"; `ogive-research list` names them"),
        (&["run", "aulid/block"], 1, "did you mean \"aulid/blocks\"?"),
    ] {
        let output = ogive_research(arguments)?;
        let message = str::from_utf8(&output.stderr)?;
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        assert!(message.contains(told) && output.stdout.is_empty(), "{arguments:?}: {message}");
    }
    Ok(())
}

#[test]
fn an_experiment_of_which_nothing_was_measured_fails_after_its_records() -> TestResult {
    let of = |structures: &[&str]| {
        let small = ["run", "disk/lookups", "--json", "--modelled-only", "-n", "2k", "--lookups", "50", "--structure"];
        ogive_research(&[&small, structures].concat())
    };
    let all = of(&["program:false"])?;
    assert_eq!(all.status.code(), Some(1));
    assert!(str::from_utf8(&all.stderr)?.contains("nothing was measured of disk/lookups; the records say why"));
    assert!(str::from_utf8(&all.stdout)?.contains(r#""error":"program"#));
    // Some experiments measure a device only.
    let nothing = ogive_research(&["run", "join/coded", "--modelled-only", "-n", "2k"])?;
    let told = str::from_utf8(&nothing.stderr)?;
    assert!(nothing.status.code() == Some(1) && told.contains("leave --modelled-only out"), "{told}");
    // Others were measured.
    assert!(of(&["btree", "program:false"])?.status.success());
    Ok(())
}

#[test]
fn a_key_set_that_cannot_be_used_is_reported_and_the_others_follow() -> TestResult {
    let of = |keys: &[&str]| {
        let small = ["run", "disk/storage", "--json", "--modelled-only", "--structure", "btree", "--keys"];
        ogive_research(&[&small, keys].concat())
    };
    let run = of(&["uniform:99999999999999", "dense:2k"])?;
    let printed = str::from_utf8(&run.stdout)?;
    assert!(run.status.success() && printed.contains("keys do not fit memory; pass a smaller -n\"}"), "{printed}");
    assert!(printed.contains(r#""keys":"dense:"#), "{printed}");
    // So can a damaged file.
    let folder = tempfile::TempDir::new()?;
    let short = folder.path().join("short.u64");
    std::fs::write(&short, [2_u64.to_le_bytes(), 7_u64.to_le_bytes()].concat())?;
    let short = short.to_str().unwrap_or_default();
    for experiment in ["disk/storage", "airindex/knobs", "bourbon/find-table", "join/table2"] {
        let run = ogive_research(&["run", experiment, "--json", "--modelled-only", "--keys", short, "dense:2k"])?;
        let printed = str::from_utf8(&run.stdout)?;
        let is_told = printed.contains("states 2 keys") && printed.contains(r#""keys":"dense:"#);
        assert!(run.status.success() && is_told, "{experiment}: {printed}");
    }
    // A name that is wrong is noticed before anything runs.
    let run = of(&["dense:2k", "no-such-set"])?;
    assert!(run.status.code() == Some(1) && !str::from_utf8(&run.stdout)?.contains(r#""keys":"dense:"#));
    Ok(())
}

#[test]
fn counts_repeat() -> TestResult {
    let folder = tempfile::TempDir::new()?;
    let sizes = ["-n", "20k", "--keys", "lognormal", "--lookups", "2k", "--modelled-only", "--json"];
    for name in ["first.jsonl", "second.jsonl"] {
        let mut records = Vec::new();
        for experiment in [&["aulid/throughput", "--workload", "w3", "w5"][..], &["disk/buffer"]] {
            let run = ogive_research(&[&["run"], experiment, &sizes].concat())?;
            assert!(run.status.success());
            records.extend(run.stdout);
        }
        std::fs::write(folder.path().join(name), records)?;
    }
    let paths = ["first.jsonl", "second.jsonl"].map(|name| folder.path().join(name).display().to_string());
    let compared = ogive_research(&["paper", "diff", &paths[0], &paths[1], "--json"])?;
    let printed = str::from_utf8(&compared.stdout)?;
    let exact: Vec<&str> = printed.lines().filter(|line| line.contains("exact")).collect();
    assert!(!printed.is_empty() && exact.is_empty(), "{exact:#?}");
    Ok(())
}

#[test]
fn a_closed_pipe_is_no_error() -> TestResult {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ogive-research"))
        .args(["keys", "linear:10M"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    drop(child.stdout.take());
    let output = child.wait_with_output()?;
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
    Ok(())
}

#[test]
fn sets_without_keys_to_look_up_and_memory_that_no_join_takes_are_refused() -> TestResult {
    for (experiment, keys, code, told) in [
        ("bourbon/find-table", "0", 1, "has no keys to find"),
        ("store/coding", "0", 1, "has no keys to look up"),
        ("join/fig4", "1000", 2, "a join takes at least 1048576 bytes"),
    ] {
        let memory: &[&str] = if experiment == "join/fig4" { &["--memory", "1000"] } else { &[] };
        let run = ogive_research(&[&["run", experiment, "--modelled-only", "-n", keys][..], memory].concat())?;
        let printed = [run.stdout, run.stderr].concat();
        let printed = str::from_utf8(&printed)?;
        assert!(printed.contains(told) && run.status.code() == Some(code), "{experiment}: {printed}");
    }
    let run = ogive_research(&["run", "aulid/endurance", "--modelled-only", "-n", "1", "--json"])?;
    let records = str::from_utf8(&run.stdout)?;
    assert!(records.contains("no key is left to look up") && run.status.success(), "{records}");
    Ok(())
}
