//! The tests of pages in a real browser: Chromium from the system's packages, driven by playwright's client for Python,
//! which is installed in a folder of its own.

use crate::Failure;
use crate::process::{Step, answers};
use crate::virtual_environment::{has_python, program};
use std::path::{Path, PathBuf};

/// The folder of the tests, and of the list of packages that they need.
const TESTS: &str = "crates/report/browser";
/// The names under which systems have Chromium.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/// The variables by which the tests find the browser and the command.
const BROWSER_VARIABLE: &str = "OGIVE_CHROMIUM";
const COMMAND_VARIABLE: &str = "OGIVE_PROGRAM";

/// Runs the tests. Where there is no Chromium, says so and does nothing.
pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    let Some(browser) = find(root) else {
        println!(
            "\n!! NOT RUN: the tests of pages in a browser. There is no Chromium, and it cannot be installed here.\n\
             !! Install it (apt-get install chromium), or name one by {BROWSER_VARIABLE}.\n"
        );
        return Ok(());
    };
    if !has_python() {
        println!("\n!! NOT RUN: the tests of pages in a browser need Python 3; install python3.\n");
        return Ok(());
    }
    let list = root.join(TESTS).join("requirements.txt").display().to_string();
    let pytest = program(root, "browser", &["-r", &list], "pytest")?;
    // As the tests build it: the features of one package would be those of another build.
    Step::new("browser", "cargo build --workspace --all-features --bins --examples").linted().run(root)?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let command = target.join("debug/ogive").display().to_string();
    Step::new("browser", &format!("{} -q -p no:cacheprovider {TESTS}", pytest.display()))
        .with(BROWSER_VARIABLE, &browser.display().to_string())
        .with(COMMAND_VARIABLE, &command)
        .run(root)
}

/// The browser, which is installed if it is missing and this process may install packages.
fn find(root: &Path) -> Option<PathBuf> {
    let known = || {
        let named = std::env::var_os(BROWSER_VARIABLE).map(PathBuf::from);
        named.into_iter().find(|browser| answers(browser)).or_else(in_path)
    };
    known().or_else(|| {
        for line in ["apt-get update --quiet", "apt-get install --yes --quiet --no-install-recommends chromium"] {
            Step::new("browser", line).with("DEBIAN_FRONTEND", "noninteractive").run(root).ok()?;
        }
        known()
    })
}

/// The path of a browser of the system: playwright takes no bare names.
fn in_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let programs = BROWSERS.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    programs.into_iter().find(|browser| browser.is_file())
}
