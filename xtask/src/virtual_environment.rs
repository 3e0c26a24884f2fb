//! Virtual environments of Python: made where they are missing, in a folder of `target`.

use crate::Failure;
use crate::process::{Step, answers};
use std::path::{Path, PathBuf};

/// Whether there is Python 3.
pub(crate) fn has_python() -> bool {
    answers(Path::new("python3"))
}

/// A program of the virtual environment `target/NAME`, in which the words after `pip install` are installed if it is
/// missing.
pub(crate) fn program(root: &Path, name: &'static str, install: &[&str], program: &str) -> Result<PathBuf, Failure> {
    let folder = root.join("target").join(name);
    let found = folder.join("bin").join(program);
    if answers(&found) {
        return Ok(found);
    }
    let (shown, pip) = (folder.display().to_string(), folder.join("bin/pip").display().to_string());
    let step = |words: &[&str]| Step {
        name,
        words: words.iter().map(|&word| word.to_owned()).collect(),
        environment: Vec::new(),
    };
    step(&["python3", "-m", "venv", &shown]).run(root)?;
    step(&[&[&pip, "install", "--quiet"], install].concat()).run(root)?;
    Ok(found)
}
