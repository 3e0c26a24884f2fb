//! The demonstration and the measurement of a profile. Method: a small tree of files instead of the whole machine, and
//! a short measurement.

use super::run::Folder;
use serde_json::Value;

fn tree() -> Folder {
    let folder = Folder::new();
    for number in 0..300 {
        let path = folder.path(&format!("tree/{}/{number}.txt", number % 7));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x".repeat(number)).unwrap();
    }
    folder
}

#[test]
fn the_demonstration_shows_designs_traces_and_where_the_tables_are() {
    let folder = tree();
    let text = folder.run(&["demo", "tree", "--dir", "tables"]).exits_with(0).stdout;
    let names = ["paths-nvme.ogive", "paths-s3.ogive", "times-nvme.ogive", "times-s3.ogive"];
    for word in ["300 files", "tuned for s3", "btree", "open", "not found", "Next:"].into_iter().chain(names) {
        assert!(text.contains(word), "no {word:?} in\n{text}");
    }
    for name in names {
        let table = format!("tables/{name}");
        folder.run(&["count", &table]).exits_with(0).prints("300\n");
        folder.run(&["verify", &table]).exits_with(0);
    }
    let sizes: u64 = folder
        .run(&["scan", "tables/times-s3.ogive"])
        .exits_with(0)
        .stdout
        .lines()
        .map(|line| line.split_once('\t').unwrap().1.parse::<u64>().unwrap())
        .sum();
    assert_eq!(sizes, 299 * 300 / 2);
    folder.run(&["get", "tables/paths-s3.ogive", "tree/1/113.txt"]).exits_with(0);
}

#[test]
fn the_demonstration_without_files_compares_a_tuned_index_with_a_btree() {
    let folder = Folder::new();
    folder.write("mine.txt", "not to be read");
    let arguments = ["demo", "--events", "200000", "--dir", "tables"];
    let text = folder.run(&arguments).exits_with(0).stdout;
    for word in ["200,000 generated events", "B-tree", "bits/key", "reads/lookup", "--explain", "ogive scan", "Next:"] {
        assert!(text.contains(word), "no {word:?} in\n{text}");
    }
    assert!(!text.contains("mine.txt"), "{text}");
    let told = folder.run(&[&arguments[..], &["--json"]].concat()).exits_with(0).json();
    assert_eq!(told["events"], 200_000);
    let tables = told["tables"].as_array().unwrap();
    let of = |index: usize, field: &str| tables[index]["report"][field].as_u64().unwrap();
    assert!(of(0, "index_bytes") * 2 < of(1, "index_bytes"), "{told}");
    for (index, name) in ["events-tuned.ogive", "events-btree.ogive"].into_iter().enumerate() {
        let table = format!("tables/{name}");
        assert_eq!((of(index, "records"), &tables[index]["path"]), (200_000, &Value::from(table.as_str())));
        // What is told is what a lookup of the command reads.
        let key = folder.run(&["nth", &table, "77777"]).exits_with(0).stdout;
        let key = key.split('\t').next().unwrap();
        let got = folder.run(&["get", &table, key, "--explain", "--json"]).exits_with(0).json();
        let sums = &tables[index]["present"];
        let reads = sums["requests"].as_f64().unwrap() / sums["keys"].as_f64().unwrap();
        assert!((got["reads"].as_array().unwrap().len() as f64 - reads).abs() < 1.0, "{reads} {got}");
        folder.run(&["verify", &table]).exits_with(0);
    }
    for wrong in [["demo", "--files", "7"], ["demo", "--seconds", "7"]] {
        folder.run(&wrong).exits_with(2).complains_of("FROM");
    }
    folder.run(&["demo", ".", "--events", "7"]).exits_with(2).complains_of("--events");
}

/// The commands that the demonstration ends with.
fn closing_commands(text: &str) -> Vec<String> {
    let closing = text.split("Next:").nth(1).unwrap();
    let commands: Vec<String> = closing.lines().filter_map(|line| line.strip_prefix("  ")).map(str::to_owned).collect();
    assert!(commands.len() > 7, "{text}");
    commands
}

#[test]
fn the_closing_commands_of_the_demonstration_work_as_they_are_printed() {
    let folder = tree();
    // A shell would take this name apart.
    std::fs::rename(folder.path("tree"), folder.path("it's a tree")).unwrap();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_ogive"));
    let with_program = std::env::join_paths([program.parent().unwrap(), "/usr/bin".as_ref(), "/bin".as_ref()]).unwrap();
    for (path, name) in [("/usr/bin:/bin".into(), program.to_str().unwrap()), (with_program, "ogive")] {
        let demo = |arguments: &[&str]| {
            let mut demo = folder.command(&[&["demo", "--dir", "my tables"], arguments].concat());
            String::from_utf8(demo.env("PATH", &path).output().unwrap().stdout).unwrap()
        };
        let of_files = closing_commands(&demo(&["it's a tree"]));
        for command in of_files.into_iter().chain(closing_commands(&demo(&["--events", "5000"]))) {
            assert!(command.starts_with(&format!("{name} ")) || command.starts_with("ls "), "{command}");
            let command = command.replace("profile .", "profile . --seconds 0.05 --file-size 32MiB");
            let mut shell = std::process::Command::new("sh");
            let ran = shell.args(["-c", &command]).current_dir(folder.path("")).env("PATH", &path).output().unwrap();
            let printed = !ran.stdout.is_empty() || command.contains("> ");
            assert!(ran.status.success() && printed, "{command}\n{}", String::from_utf8_lossy(&ran.stderr));
        }
    }
}

#[test]
fn the_demonstration_can_be_repeated_and_read_by_programs() {
    let folder = tree();
    folder.run(&["demo", "tree", "--dir", "tables", "--files", "100"]).exits_with(0);
    let report = folder.run(&["demo", "tree", "--dir", "tables", "--json"]).exits_with(0).json();
    assert_eq!(report["files"], 300);
    let tables = report["tables"].as_array().unwrap();
    assert_eq!(tables.len(), 4);
    for table in tables {
        // A slow machine looks up fewer keys than there are.
        let keys = table["present"]["keys"].as_u64().unwrap();
        assert!((1..=300).contains(&keys), "{table}");
        assert!(table["modelled_us"].as_f64().unwrap() > 0.0);
        let requests = |which: &str| table[which]["requests"].as_u64().unwrap();
        assert!(requests("present") >= keys && requests("absent") > 0, "{table}");
    }
    folder.run(&["demo", "nowhere", "--dir", "tables"]).exits_with(1).complains_of("nowhere");
    folder.write("file", "");
    folder.run(&["demo", "tree", "--dir", "file"]).exits_with(1).complains_of("file");
}

#[test]
fn a_measured_profile_is_stored_and_can_be_tuned_for() {
    let folder = Folder::new();
    let flags = ["--seconds", "0.2", "--file-size", "32MiB"];
    let run = folder.run(&[&["profile", ".", "-o", "mine.json", "--json"], &flags[..]].concat()).exits_with(0);
    let stored: Value = serde_json::from_slice(&std::fs::read(folder.path("mine.json")).unwrap()).unwrap();
    assert_eq!(run.json(), stored);
    assert_eq!(folder.names(), ["mine.json"]);
    folder.write("words.txt", "a\nb\nc\n");
    folder.build("words.txt", "t.ogive", &["--for", "mine.json"]);
    let name = run.json()["name"].as_str().unwrap().to_owned();
    assert!(std::path::Path::new(&name).is_absolute(), "{name} says nothing about where it was measured");
    let text = folder.run(&[&["profile", ".", "-o", "mine.json"], &flags[..]].concat()).exits_with(0).stdout;
    assert!(text.contains("reads at once") && text.contains("p99"), "{text}");
    let refused = folder.run(&[&["profile", ".", "-o", "words.txt"], &flags[..]].concat()).exits_with(1);
    refused.complains_of("words.txt");
    assert_eq!(std::fs::read_to_string(folder.path("words.txt")).unwrap(), "a\nb\nc\n");
}

#[test]
fn a_profile_with_senseless_values_is_refused() {
    let folder = Folder::new();
    folder.write("words.txt", "a\nb\nc\n");
    for values in ["\"latency_us\": 0, \"bandwidth_mb_per_s\": 1", "\"latency_us\": 1e999, \"bandwidth_mb_per_s\": 1"] {
        folder.write("bad.json", format!("{{\"ogive_profile\": 1, \"name\": \"bad\", \"parallel\": 1, {values}}}"));
        folder.run(&["build", "words.txt", "-o", "t.ogive", "--for", "bad.json"]).exits_with(2).complains_of("bad");
    }
    assert_eq!(folder.names(), ["bad.json", "words.txt"]);
}
