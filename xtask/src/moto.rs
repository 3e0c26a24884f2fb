//! The S3 server of the tests: moto, installed in a folder of its own where it is missing.

use crate::process::answers;
use crate::virtual_environment::{has_python, program};
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
    if !has_python() {
        println!("skipped: tests of the S3 protocol need Python 3, to install moto; install python3");
        return None;
    }
    let program = program(root, "moto", &["moto[server]"], "moto_server").ok();
    if program.is_none() {
        println!("skipped: tests of the S3 protocol need moto, which cannot be installed; see the message above");
    }
    program
}
