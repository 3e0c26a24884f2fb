//! `cargo xtask fuzz`: runs the fuzz targets of `fuzz/`, one for each decoder, on the stable compiler.

use crate::Failure;
use crate::process::{Step, has_subcommand, timed};
use std::path::Path;
use std::process::Command;

const DEFAULT_SECONDS: u32 = 60;

/// Fuzzes the target that `words` name, or all of them in turn.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), Failure> {
    let (wanted, seconds) = parse(words)?;
    let known = targets(root)?;
    let chosen: Vec<&String> = known.iter().filter(|name| wanted.is_none_or(|wanted| wanted == *name)).collect();
    if chosen.is_empty() {
        return Err(Failure::Usage(format!("no such fuzz target; there are: {}", known.join(", "))));
    }
    if !has_subcommand("fuzz") {
        Step::new("cargo-fuzz", "cargo install cargo-fuzz --locked").run(root)?;
    }
    let seeds = "cargo run --quiet --package ogive-fuzz --bin seeds -- fuzz/corpus";
    Step::new("seeds", seeds).run(root)?;
    for name in chosen {
        timed(&format!("fuzz {name} for {seconds} s"), || fuzz(root, name, seconds))?;
    }
    Ok(())
}

fn parse<'a>(words: &[&'a str]) -> Result<(Option<&'a str>, u32), Failure> {
    let (mut target, mut seconds) = (None, DEFAULT_SECONDS);
    let mut rest = words.iter();
    while let Some(&word) = rest.next() {
        match word {
            "--seconds" => {
                let number = rest.next().and_then(|number| number.parse().ok()).filter(|number| *number > 0);
                seconds = number.ok_or_else(|| Failure::Usage("--seconds needs a whole number above 0".to_owned()))?;
            }
            _ if word.starts_with('-') || target.is_some() => {
                return Err(Failure::Usage(format!("unexpected argument: {word}")));
            }
            _ => target = Some(word),
        }
    }
    Ok((target, seconds))
}

/// Names of all fuzz targets, sorted.
fn targets(root: &Path) -> Result<Vec<String>, Failure> {
    let folder = root.join("fuzz/fuzz_targets");
    let entries = std::fs::read_dir(&folder)
        .map_err(|error| Failure::Check(format!("cannot list {}: {error}", folder.display())))?;
    let files = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = files.filter_map(|file| file.strip_suffix(".rs").map(str::to_owned)).collect();
    names.sort();
    Ok(names)
}

/// The stable compiler instruments for coverage only with unstable flags enabled; an address sanitizer would find
/// nothing in a workspace that forbids unsafe code.
fn fuzz(root: &Path, name: &str, seconds: u32) -> Result<(), Failure> {
    let mut command = Command::new("cargo");
    command.args(["fuzz", "run", "--sanitizer", "none", name, "--", &format!("-max_total_time={seconds}")]);
    let status = command.env("RUSTC_BOOTSTRAP", "1").env_remove("CARGO_MANIFEST_DIR").current_dir(root).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(Failure::Check(format!(
            "fuzz target {name} failed; the input is under fuzz/artifacts/{name}: make it a test"
        ))),
        Err(error) => Err(Failure::Check(format!("cannot start cargo fuzz: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_and_seconds_come_in_any_order() {
        assert!(matches!(parse(&[]), Ok((None, DEFAULT_SECONDS))));
        assert!(matches!(parse(&["--seconds", "5", "profile"]), Ok((Some("profile"), 5))));
        assert!(matches!(parse(&["profile", "--seconds", "5"]), Ok((Some("profile"), 5))));
    }

    #[test]
    fn wrong_arguments_are_refused() {
        for words in [&["--seconds"][..], &["--seconds", "0"], &["--seconds", "x"], &["a", "b"], &["--fast"]] {
            assert!(matches!(parse(words), Err(Failure::Usage(_))), "{words:?}");
        }
    }
}
