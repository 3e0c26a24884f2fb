//! The S3 server of the tests: moto, installed in a folder of its own where it is missing.

use crate::process::{Step, answers};
use std::path::{Path, PathBuf};

/// The variable by which the tests find the program.
pub(crate) const PROGRAM_VARIABLE: &str = "OGIVE_MOTO_SERVER";

/// The program, which is installed if it is missing; `None`, with a message, where that is not possible: then the tests
/// that need it say that they are skipped.
pub(crate) fn prepare(root: &Path) -> Option<PathBuf> {
    let known = std::env::var_os(PROGRAM_VARIABLE).map(PathBuf::from);
    if let Some(program) = known.into_iter().chain([PathBuf::from("moto_server")]).find(|program| answers(program)) {
        return Some(program);
    }
    let folder = root.join("target/moto");
    let program = folder.join("bin/moto_server");
    if answers(&program) {
        return Some(program);
    }
    if !answers(Path::new("python3")) {
        println!("skipped: tests of the S3 protocol need Python 3, to install moto; install python3");
        return None;
    }
    let (shown, pip) = (folder.display().to_string(), folder.join("bin/pip").display().to_string());
    let step =
        |words: [&str; 4]| Step { name: "moto", words: words.map(str::to_owned).to_vec(), environment: Vec::new() };
    let install = || {
        step(["python3", "-m", "venv", &shown]).run(root)?;
        step([&pip, "install", "--quiet", "moto[server]"]).run(root)
    };
    match install() {
        Ok(()) => Some(program),
        Err(_) => {
            println!("skipped: tests of the S3 protocol need moto, which cannot be installed; see the message above");
            None
        }
    }
}
