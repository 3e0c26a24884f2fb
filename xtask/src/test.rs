//! `cargo xtask test`: every check of the project, in order, until one fails.

use crate::process::{Step, ensure_components, timed};
use crate::{Failure, long, tidy};
use std::path::Path;

/// Runs all checks on the repository at `root`, and with `with_long` the tests that take minutes, too.
pub(crate) fn run(root: &Path, with_long: bool) -> Result<(), Failure> {
    ensure_components(root)?;
    let mut times = Vec::new();
    for check in checks() {
        let (name, seconds) = match &check {
            Check::Program(step) => (step.name, timed(&format!("{}: {}", step.name, step.line()), || step.run(root))?),
            Check::Tidy => ("tidy", timed("tidy: cargo xtask tidy", || tidy::run(root))?),
        };
        times.push((name, seconds));
    }
    if with_long {
        times.push(("long tests", timed("long tests", || run_long(root))?));
    }
    println!("\nAll checks passed.");
    for (name, seconds) in &times {
        println!("  {seconds:7.1} s  {name}");
    }
    println!("  {:7.1} s  together", times.iter().map(|(_, seconds)| seconds).sum::<f64>());
    Ok(())
}

enum Check {
    Program(Step),
    Tidy,
}

fn checks() -> Vec<Check> {
    vec![
        Check::Program(Step::new("format", "cargo fmt --all --check")),
        Check::Program(Step::new("format of fuzz/", "cargo fmt --manifest-path fuzz/Cargo.toml --check")),
        Check::Program(Step::new("format of rivals/", "cargo fmt --manifest-path rivals/Cargo.toml --check")),
        Check::Program(Step::new("clippy", "cargo clippy --workspace --all-targets --all-features -- -D warnings")),
        Check::Tidy,
        Check::Program(Step::new("tests", "cargo test --workspace --all-features --lib --bins --tests")),
        Check::Program(Step::new("doc tests", "cargo test --workspace --all-features --doc")),
        fuzz_targets(),
        // `--lib`: the command `ogive` and the library `ogive` would write the same page.
        Check::Program(
            Step::new("documentation", "cargo doc --workspace --all-features --lib --no-deps")
                .with("RUSTDOCFLAGS", "-D warnings"),
        ),
    ]
}

/// The fuzz targets on fixed inputs, without libFuzzer. They are a workspace of their own; the folder of build results
/// is shared, so that dependencies are compiled once.
fn fuzz_targets() -> Check {
    let shared = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    let line = "cargo test --manifest-path fuzz/Cargo.toml --no-default-features --lib --tests";
    Check::Program(Step::new("fuzz targets", line).with("CARGO_TARGET_DIR", &shared))
}

/// Lists the long tests with their minutes, then runs them one at a time: several of them measure memory.
fn run_long(root: &Path) -> Result<(), Failure> {
    let tests = long::all(root)?;
    println!("{} long tests, about {} minutes:", tests.len(), tests.iter().map(|test| test.minutes).sum::<u32>());
    for test in &tests {
        println!("  {:3} min  {} ({})", test.minutes, test.name, test.path);
    }
    Step::new(
        "long tests",
        "cargo test --release --workspace --all-features --lib --bins --tests -- --ignored --test-threads=1",
    )
    .run(root)
}
