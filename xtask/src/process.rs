//! Running other programs, and installing the ones that are missing.

use crate::Failure;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// What `-D warnings` is to the compiler that `cargo clippy` runs.
const LINTS: &str = "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";

/// One program to run: its words, and what to add to its environment.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) words: Vec<String>,
    pub(crate) environment: Vec<(&'static str, String)>,
}

impl Step {
    pub(crate) fn new(name: &'static str, line: &str) -> Self {
        Self { name, words: line.split_whitespace().map(str::to_owned).collect(), environment: Vec::new() }
    }

    pub(crate) fn with(mut self, variable: &'static str, value: &str) -> Self {
        self.environment.push((variable, value.to_owned()));
        self
    }

    /// Has Clippy compile the members of the workspace, and takes warnings for errors: a check of its own would compile
    /// all dependencies once more. Steps that share what they compile must all be linted.
    pub(crate) fn linted(self) -> Self {
        self.with("RUSTC_WORKSPACE_WRAPPER", "clippy-driver").with("CLIPPY_ARGS", LINTS)
    }

    /// The step as a person would type it.
    pub(crate) fn line(&self) -> String {
        let variables = self.environment.iter().map(|(variable, value)| format!("{variable}={value:?}"));
        variables.chain(self.words.iter().cloned()).collect::<Vec<_>>().join(" ")
    }

    /// Runs the step in `root`, its output going where ours goes.
    pub(crate) fn run(&self, root: &Path) -> Result<(), Failure> {
        let mut command = Command::new(&self.words[0]);
        command
            .args(&self.words[1..])
            .current_dir(root)
            .envs(self.environment.iter().map(|(variable, value)| (variable, value)));
        // Set by the cargo that runs us for this package alone; other builds must not see them.
        command.env_remove("CARGO_MANIFEST_DIR").env_remove("CARGO_MANIFEST_PATH");
        match command.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Failure::Check(format!("`{}` failed ({status})", self.line()))),
            Err(error) => Err(Failure::Check(format!("cannot start `{}`: {error}", self.line()))),
        }
    }
}

/// Runs `work` under a heading and prints how long it took. Returns the duration in seconds.
pub(crate) fn timed(heading: &str, work: impl FnOnce() -> Result<(), Failure>) -> Result<f64, Failure> {
    println!("\n== {heading}");
    let start = Instant::now();
    let outcome = work();
    let seconds = start.elapsed().as_secs_f64();
    println!("== {} after {seconds:.1} s", if outcome.is_ok() { "done" } else { "FAILED" });
    outcome.map(|()| seconds)
}

/// Whether `cargo NAME` exists.
pub(crate) fn has_subcommand(name: &str) -> bool {
    let quiet = Command::new("cargo").args([name, "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

/// Whether a program exists and runs.
pub(crate) fn answers(program: &Path) -> bool {
    let quiet = Command::new(program).arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

/// Makes sure that `cargo fmt` and `cargo clippy` exist; distributions that ship them with the compiler need no rustup.
pub(crate) fn ensure_components(root: &Path) -> Result<(), Failure> {
    if has_subcommand("fmt") && has_subcommand("clippy") {
        return Ok(());
    }
    Step::new("components", "rustup component add rustfmt clippy").run(root).map_err(|_| {
        Failure::Check(
            "rustfmt and clippy are needed and rustup could not add them; install them and try again".to_owned(),
        )
    })
}
