//! The tour of the book runs as printed. Method: each line is run by a shell in an empty folder, with the built
//! command in its path; the measurement of the device is shortened.

use super::run::Folder;
use std::path::Path;
use std::process::{Command, Stdio};

const README: &str = include_str!("../../../../README.md");
const TOUR: &str = include_str!("../../../../docs/tour.md");

/// The lines of the tour that are typed.
fn lines() -> Vec<&'static str> {
    let block = TOUR.split("```console\n").nth(1).unwrap().split("```").next().unwrap();
    let lines: Vec<&str> = block.lines().filter(|line| !line.is_empty()).collect();
    assert!(lines.len() > 15, "{lines:?}");
    lines.into_iter().map(|line| line.strip_prefix("$ ").unwrap()).collect()
}

#[test]
fn the_command_as_it_is_installed_reads_what_the_readme_says() {
    let manifest = include_str!("../../Cargo.toml");
    let install = README.lines().find(|line| line.starts_with("$ cargo install --path crates/cli")).unwrap();
    let features = install.split("--features ").nth(1).unwrap().split_whitespace().next().unwrap();
    assert_eq!(features, "parquet");
    assert!(manifest.contains("\nparquet = "), "{manifest}");
    let folder = Folder::new();
    folder.write("rows.parquet", "PAR1");
    let run = folder.run(&["build", "rows.parquet", "-o", "t"]);
    if cfg!(feature = "parquet") {
        run.exits_with(1).complains_of("rows.parquet");
    } else {
        run.exits_with(2).complains_of("cargo install --path crates/cli --features parquet");
    }
}

#[test]
fn every_line_of_the_tour_runs_as_it_is_printed() {
    let folder = Folder::new();
    let programs = Path::new(env!("CARGO_BIN_EXE_ogive")).parent().unwrap();
    let path = std::env::join_paths([programs.to_owned()].into_iter().chain(std::env::split_paths("/usr/bin:/bin")));
    let path = path.unwrap();
    for line in lines() {
        let line = line.replace("ogive profile .", "ogive profile . --seconds 0.05 --file-size 32MiB");
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).current_dir(folder.path("")).env("PATH", &path).stdin(Stdio::null());
        let output = shell.output().unwrap();
        let (told, complaint) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{line}\n{told}\n{complaint}");
        assert!(!complaint.contains("error:") && !complaint.contains("warning: nothing"), "{line}\n{complaint}");
    }
}
