//! The tests of the Python package: the wheel is built, installed from its file into a virtual environment, and tested
//! there.

use crate::process::Step;
use crate::virtual_environment::{has_python, program};
use crate::{Failure, moto};
use std::fs;
use std::path::Path;

/// The folder of the package, the virtual environment below `target`, the wheels and the source distribution in it.
const PACKAGE: &str = "crates/python";
const ENVIRONMENT: &str = "python";
const WHEELS: &str = "target/python/wheels";
const SOURCE: &str = "target/python/source";

/// Builds, installs and tests the package; without Python, says that it is skipped.
pub(crate) fn run(root: &Path, server: Option<&Path>) -> Result<(), Failure> {
    if !has_python() {
        println!("skipped: the Python package is tested with Python 3.10 or newer; install python3");
        return Ok(());
    }
    let requirements = format!("{PACKAGE}/requirements-test.txt");
    let maturin = program(root, ENVIRONMENT, &["-r", &requirements], "maturin")?;
    let tool = |name: &str| maturin.with_file_name(name).display().to_string();
    // Wheels of other versions must not be installed.
    _ = fs::remove_dir_all(root.join(WHEELS));
    let line = format!("{} build --profile dev --manifest-path {PACKAGE}/Cargo.toml --out {WHEELS}", tool("maturin"));
    Step::new("wheel", &line).run(root)?;
    let pip = format!("{} -m pip install --quiet --force-reinstall --no-deps {}", tool("python"), wheel(root)?);
    Step::new("wheel", &pip).run(root)?;
    check_source(root, &tool)?;
    let packaged = format!("{PACKAGE}/pyproject.toml");
    Step::new("types", &format!("{} --config-file {packaged} -p ogive", tool("mypy"))).run(root)?;
    let python = tool("python");
    let checked = format!("{} --pythonpath {python} {PACKAGE}/python/ogive", tool("pyright"));
    Step::new("types", &checked).run(root)?;
    // Of the wheel, not of the folder: `python` has no native module.
    let documented = format!("{python} -m pytest -q -p no:cacheprovider --doctest-modules --pyargs ogive");
    Step::new("documented examples", &documented).run(root)?;
    let tests = Step::new("tests", &format!("{python} -m pytest -q -p no:cacheprovider {PACKAGE}/tests"));
    match server {
        Some(server) => tests.with(moto::PROGRAM_VARIABLE, &server.display().to_string()),
        None => tests,
    }
    .run(root)
}

/// Makes the source distribution, and sees that cargo finds all crates in it; it does not build them again.
fn check_source(root: &Path, tool: &dyn Fn(&str) -> String) -> Result<(), Failure> {
    _ = fs::remove_dir_all(root.join(SOURCE));
    let made = format!("{} sdist --manifest-path {PACKAGE}/Cargo.toml --out {SOURCE}", tool("maturin"));
    Step::new("source distribution", &made).run(root)?;
    let unpacked = format!("{} -m tarfile -e {} {SOURCE}/unpacked", tool("python"), built(root, SOURCE, "gz")?);
    Step::new("source distribution", &unpacked).run(root)?;
    let folders = fs::read_dir(root.join(SOURCE).join("unpacked")).into_iter().flatten().flatten();
    for folder in folders.map(|entry| entry.path().join("crates/python/Cargo.toml")) {
        let manifest = folder.display();
        let tree = format!("cargo tree --offline --depth 1 -p ogive-python --manifest-path {manifest}");
        Step::new("source distribution", &tree).run(root)?;
    }
    Ok(())
}

/// The wheel that was built.
fn wheel(root: &Path) -> Result<String, Failure> {
    built(root, WHEELS, "whl")
}

/// The file that maturin made in a folder.
fn built(root: &Path, folder: &str, extension: &str) -> Result<String, Failure> {
    let entries = fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
    let mut files = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|it| it == extension));
    match files.next() {
        Some(file) => Ok(file.display().to_string()),
        None => Err(Failure::Check(format!("maturin built nothing in {folder}"))),
    }
}
