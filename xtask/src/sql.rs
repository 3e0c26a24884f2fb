//! The checks of the workspace `sql`, whose compiler must be newer than that of the core.

use crate::Failure;
use crate::process::Step;
use std::path::Path;
use std::process::Command;

/// The minor version of Rust that DataFusion needs.
const MINOR: u32 = 94;

/// Lints and tests the workspace; with an older compiler, says that it is left out.
pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    let asked = Command::new("rustc").arg("--version").current_dir(root).output();
    let printed = asked.map(|it| String::from_utf8_lossy(&it.stdout).into_owned()).unwrap_or_default();
    let minor = printed.split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok());
    if minor.is_none_or(|minor| minor < MINOR) {
        println!("left out: the workspace sql/ needs Rust 1.{MINOR} or newer, and this is {}", printed.trim());
        return Ok(());
    }
    let build = "cargo test --manifest-path sql/Cargo.toml --workspace --no-run";
    Step::new("clippy of sql/", build).linted().run(root)?;
    Step::new("tests of sql/", "cargo test --manifest-path sql/Cargo.toml --workspace").linted().run(root)
}
