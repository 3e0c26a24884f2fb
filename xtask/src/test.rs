//! `cargo xtask test`: every check of the project, in order, until one fails.

use crate::process::{Step, ensure_components, timed};
use crate::{Failure, book, browser, import, long, minio, moto, python, sql, targets, tidy};
use std::fs;
use std::path::{Path, PathBuf};

/// Runs all checks on the repository at `root`, and with `with_long` the tests that take minutes, too.
///
/// The laboratory, and the workspace of SQL, whose dependencies compile for minutes, are left out if only the core is
/// asked for.
pub(crate) fn run(root: &Path, with_long: bool, only_core: bool) -> Result<(), Failure> {
    ensure_components(root)?;
    let mut times = Vec::new();
    let server = moto::prepare(root);
    if only_core {
        println!("left out: research/ and the workspace sql/; run `cargo xtask test` for all");
    }
    let crates = if only_core { CORE } else { ALL };
    for check in checks(crates, server.as_deref()) {
        if only_core && matches!(check, Check::Sql) {
            continue;
        }
        let (name, seconds) = match &check {
            Check::Program(step) => (step.name, timed(&format!("{}: {}", step.name, step.line()), || step.run(root))?),
            Check::Tidy => ("tidy", timed("tidy: cargo xtask tidy", || tidy::run(root))?),
            Check::Targets => ("targets", timed("targets: cargo xtask targets", || targets::run(root))?),
            Check::Book => ("book", timed("book: cargo xtask book", || book::run(root))?),
            Check::Examples => ("examples", timed("examples: cargo run --example ...", || run_examples(root, crates))?),
            Check::Python => ("Python package", timed("Python package", || python::run(root, server.as_deref()))?),
            Check::Sql => ("SQL", timed("SQL: the workspace sql/", || sql::run(root))?),
            Check::Browser => ("browser", timed("browser: cargo xtask browser", || browser::run(root))?),
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

/// The words of cargo for all crates of the workspace, and for the products alone.
const ALL: &str = "--workspace --all-features";
const CORE: &str = "--workspace --exclude ogive-research --exclude own-bench --exclude ogive-gate --all-features";

enum Check {
    Program(Step),
    Tidy,
    Examples,
    Python,
    Targets,
    Book,
    Browser,
    Sql,
}

fn checks(crates: &str, server: Option<&Path>) -> Vec<Check> {
    let tests = Step::new("tests", &format!("cargo test {crates} --lib --bins --tests")).linted();
    let tests = match server {
        Some(server) => tests.with(moto::PROGRAM_VARIABLE, &server.display().to_string()),
        None => tests,
    };
    vec![
        Check::Program(Step::new("format", "cargo fmt --all --check")),
        Check::Program(Step::new("format of fuzz/", "cargo fmt --manifest-path fuzz/Cargo.toml --check")),
        Check::Program(Step::new("format of import/", "cargo fmt --manifest-path import/Cargo.toml --check")),
        Check::Program(Step::new("format of rivals/", "cargo fmt --manifest-path research/rivals/Cargo.toml --check")),
        Check::Program(Step::new("format of sql/", "cargo fmt --manifest-path sql/Cargo.toml --all --check")),
        Check::Program(
            Step::new("clippy", &format!("cargo test {crates} --lib --bins --tests --benches --no-run")).linted(),
        ),
        Check::Tidy,
        // `--lib`: the command `ogive` and the library `ogive` would write the same page.
        Check::Program(
            Step::new("documentation", &format!("cargo doc {crates} --lib --no-deps"))
                .with("RUSTDOCFLAGS", "-D warnings"),
        ),
        Check::Program(tests),
        Check::Program(Step::new("doc tests", &format!("cargo test {crates} --doc")).linted()),
        Check::Examples,
        Check::Python,
        Check::Targets,
        Check::Book,
        Check::Browser,
        Check::Sql,
    ]
}

/// Builds all example programs, then runs each: a program that fails says what is wrong with it.
fn run_examples(root: &Path, crates: &str) -> Result<(), Failure> {
    Step::new("examples", &format!("cargo build {crates} --examples")).linted().run(root)?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    for name in examples(root, crates == ALL)? {
        let program = target.join("debug/examples").join(&name);
        let words = vec![program.display().to_string()];
        Step { name: "example", words, environment: Vec::new() }.run(root)?;
    }
    Ok(())
}

/// The names of all examples, in order; those of the laboratory if it is built.
fn examples(root: &Path, with_research: bool) -> Result<Vec<String>, Failure> {
    let failed = |error| Failure::Check(format!("cannot list the crates: {error}"));
    let mut names = Vec::new();
    let crates = fs::read_dir(root.join("crates")).map_err(failed)?.map(|entry| entry.map(|entry| entry.path()));
    let research = with_research.then(|| Ok(root.join("research")));
    for folder in crates.chain(research) {
        // Most crates have none.
        let folder = folder.map_err(failed)?.join("examples");
        let paths = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        // Beside a program may lie what it needs.
        let paths = paths.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
        names.extend(paths.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())));
    }
    names.sort();
    Ok(names)
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
    .run(root)?;
    import::run(root)?;
    minio::run_live(root)
}
