//! `cargo xtask gate`: the cost of calls at another revision and in the working tree, measured in turn.
//!
//! `research/gate` is compiled against the engine of both. Instructions are counted by Valgrind; processor time is the
//! median of several rounds, since a machine that does other work gives single times that differ by a tenth.

use crate::Failure;
use crate::process::Step;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Rounds of processor time, unless said.
const ROUNDS: usize = 9;
/// Ratio above which a call is named as slower.
const RATIO_MAX: f64 = 1.03;

/// What is compared, and how.
struct Comparison<'a> {
    revision: &'a str,
    instructions: bool,
    rounds: usize,
    /// Only calls whose name contains this.
    name: &'a str,
}

/// Compares a revision with the working tree at `root`.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), Failure> {
    let comparison = parse(words)?;
    let folder = root.join("target/gate");
    let before = build_before(root, &folder, comparison.revision)?;
    let after = build(&folder, "after", root)?;
    for side in [&before, &after] {
        if side.data.is_dir() {
            fs::remove_dir_all(&side.data).map_err(|error| cannot("remove", &side.data, &error))?;
        }
        fs::create_dir_all(&side.data).map_err(|error| cannot("create", &side.data, &error))?;
        side.output(&["prepare", &side.data.display().to_string()], false)?;
    }
    let names = after.output(&["list"], false)?;
    let (mut slower, unit) = (Vec::new(), if comparison.instructions { "instructions" } else { "ns of one call" });
    println!("{:<24} {:>14} {:>14}  after / before ({unit})", "call", "before", "after");
    for name in names.lines().filter(|name| name.contains(comparison.name)) {
        let (old, new) = compare(&comparison, name, &before, &after)?;
        let ratio = new / old;
        println!("{name:<24} {old:>14.1} {new:>14.1}  {ratio:.3}");
        if ratio > RATIO_MAX {
            slower.push(format!("{name} {ratio:.3}"));
        }
    }
    match slower[..] {
        [] => Ok(()),
        _ => Err(Failure::Check(format!("over {RATIO_MAX}: {}", slower.join(", ")))),
    }
}

fn parse<'a>(words: &[&'a str]) -> Result<Comparison<'a>, Failure> {
    let usage = || Failure::Usage("gate takes REVISION [NAME] [--instructions | --rounds N]".to_owned());
    let mut comparison = Comparison { revision: "", instructions: false, rounds: ROUNDS, name: "" };
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        match word {
            "--instructions" => comparison.instructions = true,
            "--rounds" => {
                comparison.rounds = words.next().and_then(|word| word.parse().ok()).ok_or_else(usage)?;
            }
            _ if word.starts_with('-') => return Err(usage()),
            _ if comparison.revision.is_empty() => comparison.revision = word,
            _ if comparison.name.is_empty() => comparison.name = word,
            _ => return Err(usage()),
        }
    }
    if comparison.revision.is_empty() || comparison.rounds == 0 { Err(usage()) } else { Ok(comparison) }
}

/// A compiled program with its data.
struct Side {
    program: PathBuf,
    data: PathBuf,
}

impl Side {
    /// What the program prints; if asked, with its instructions counted.
    fn output(&self, words: &[&str], is_counted: bool) -> Result<String, Failure> {
        let mut command = Command::new(if is_counted { Path::new("valgrind") } else { &self.program });
        if is_counted {
            command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*measured_work*"]);
            command.arg(&self.program);
        }
        let ended = command.args(words).output().map_err(|error| cannot("start", &self.program, &error))?;
        let (printed, told) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
        match ended.status.success() {
            true if is_counted => Ok(told.into_owned()),
            true => Ok(printed.into_owned()),
            false => Err(Failure::Check(format!("`{} {}` failed: {told}", self.program.display(), words.join(" ")))),
        }
    }

    fn cost(&self, name: &str, is_counted: bool) -> Result<f64, Failure> {
        let data = self.data.display().to_string();
        let unreadable = |printed: &str| Failure::Check(format!("cannot read what `{name}` printed: {printed}"));
        if !is_counted {
            let printed = self.output(&["run", name, &data], false)?;
            return printed.trim().parse().map_err(|_| unreadable(&printed));
        }
        // The line "Collected : 12345".
        let told = self.output(&["count", name, &data], true)?;
        let count = told.lines().find_map(|line| line.split_once("Collected :")).map(|(_, count)| count.trim());
        count.and_then(|count| count.parse().ok()).ok_or_else(|| unreadable(&told))
    }
}

/// The cost of a call before and after: the medians of rounds that are run in turn.
fn compare(comparison: &Comparison<'_>, name: &str, before: &Side, after: &Side) -> Result<(f64, f64), Failure> {
    let rounds = if comparison.instructions { 1 } else { comparison.rounds };
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        old.push(before.cost(name, comparison.instructions)?);
        new.push(after.cost(name, comparison.instructions)?);
    }
    Ok((median(old), median(new)))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Compiles the program against the engine of a revision, which is checked out below `folder`.
fn build_before(root: &Path, folder: &Path, revision: &str) -> Result<Side, Failure> {
    let tree = folder.join("tree");
    if tree.is_dir() {
        Step::new("gate", &format!("git worktree remove --force {}", tree.display())).run(root)?;
    }
    Step::new("gate", &format!("git worktree add --quiet --detach {} {revision}", tree.display())).run(root)?;
    build(folder, "before", &tree)
}

/// Compiles the program as a package of its own against the engine in `tree`, with the versions that are locked there.
fn build(folder: &Path, name: &str, tree: &Path) -> Result<Side, Failure> {
    let package = folder.join(name);
    let source = package.join("src");
    fs::create_dir_all(&source).map_err(|error| cannot("create", &source, &error))?;
    let engine = |path: &str| tree.join("crates").join(path).display().to_string();
    let manifest = format!(
        "[package]\nname = \"ogive-gate\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         ogive = {{ path = {:?} }}\nogive-object-store = {{ path = {:?} }}\n\
         rustix = {{ version = \"1.1\", features = [\"time\"] }}\n\n[profile.release]\ndebug = \"line-tables-only\"\n",
        engine("engine"),
        engine("object-store")
    );
    let written = package.join("Cargo.toml");
    fs::write(&written, manifest).map_err(|error| cannot("write", &written, &error))?;
    let locked = package.join("Cargo.lock");
    fs::copy(tree.join("Cargo.lock"), &locked).map_err(|error| cannot("copy", &locked, &error))?;
    let files = ["main.rs", "calls.rs", "data.rs", "measure.rs"];
    let program_source = folder.join("../../research/gate/src");
    for file in files {
        let from = program_source.join(file);
        fs::copy(&from, source.join(file)).map_err(|error| cannot("copy", &from, &error))?;
    }
    let line = format!("cargo build --release --manifest-path {}", written.display());
    // One folder for both, so that dependencies are compiled once; the next build writes its program over this one.
    let target = folder.join("build");
    Step::new("gate", &line).with("CARGO_TARGET_DIR", &target.display().to_string()).run(folder)?;
    let (built, program) = (target.join("release/ogive-gate"), package.join("ogive-gate"));
    fs::copy(&built, &program).map_err(|error| cannot("copy", &built, &error))?;
    Ok(Side { program, data: folder.join("data").join(name) })
}

fn cannot(action: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::Check(format!("cannot {action} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_a_revision_a_name_and_how_to_measure() {
        let told = parse(&["HEAD~3", "store get", "--rounds", "3"]);
        assert!(matches!(
            told,
            Ok(Comparison { revision: "HEAD~3", name: "store get", rounds: 3, instructions: false })
        ));
        assert!(matches!(parse(&["HEAD", "--instructions"]), Ok(Comparison { instructions: true, .. })));
        for words in [&[][..], &["HEAD", "--rounds"], &["HEAD", "--rounds", "0"], &["HEAD", "--fast"], &["a", "b", "c"]]
        {
            assert!(parse(words).is_err(), "{words:?}");
        }
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
    }
}
