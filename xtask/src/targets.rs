//! `cargo xtask targets`: the engine is checked without its features, and with each alone; the library crates and the
//! command are checked for other systems, as far as their standard libraries are installed.
//!
//! A check compiles everything but links nothing, so it needs no tools of the other system. Crates that build C code do
//! (`ogive-object-store` for TLS, `ogive-parquet` for Zstandard), and are left out.

use crate::Failure;
use crate::process::Step;
use std::path::Path;
use std::process::Command;

/// The systems that the project means to support. Only the first is tested.
const TARGETS: [&str; 5] = [
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
];

/// The features of the engine that have a part of its interface each.
const PARTS: [&str; 4] = ["join", "index", "tune", "typed"];

/// Checks the engine without its default features, and with each part alone: none may need another without saying so.
fn check_parts(root: &Path) -> Result<(), Failure> {
    let line = "cargo check -p ogive --no-default-features";
    Step::new("targets", line).linted().run(root)?;
    PARTS.iter().try_for_each(|part| Step::new("targets", &format!("{line} --features {part}")).linted().run(root))
}

/// Checks each target whose standard library is installed, and names the others. What the other checks compile for is
/// not checked again.
pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    check_parts(root)?;
    let host = rustc(&["-vV"]).and_then(|told| Some(told.split("host: ").nth(1)?.lines().next()?.to_owned()));
    let others = TARGETS.iter().copied().filter(|target| host.as_deref() != Some(*target));
    let (installed, absent): (Vec<&str>, Vec<&str>) = others.partition(|target| is_installed(target));
    for target in &installed {
        let libraries = "cargo check -p ogive-model -p ogive --features ogive/metrics --target";
        let command = "cargo check -p ogive-cli --no-default-features --target";
        for line in [libraries, command] {
            Step::new("targets", &format!("{line} {target}")).run(root)?;
        }
        println!("targets: checked {target}");
    }
    if !absent.is_empty() {
        let names = absent.join(" ");
        println!("targets: NOT checked, because their standard libraries are not installed: {names}");
        println!("targets: `rustup target add {names}` installs them");
    }
    Ok(())
}

/// What the compiler prints.
fn rustc(words: &[&str]) -> Option<String> {
    let printed = Command::new("rustc").args(words).output().ok()?;
    Some(String::from_utf8_lossy(&printed.stdout).into_owned())
}

/// Whether the standard library of a target is there.
fn is_installed(target: &str) -> bool {
    let Some(folder) = rustc(&["--print", "target-libdir", "--target", target]) else { return false };
    let Ok(files) = std::fs::read_dir(folder.trim()) else { return false };
    files.flatten().any(|file| file.file_name().to_string_lossy().starts_with("libstd"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_does_not_exist_is_not_installed() {
        assert!(!is_installed("pdp11-unknown-unix"));
    }
}
