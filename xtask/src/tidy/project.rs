//! The files of the project, and what rules find in them.

use crate::Failure;
use crate::source::{Source, project_files, read_text};
use std::path::Path;

/// One broken rule: where, what, and what to do about it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) message: String,
}

impl Finding {
    pub(crate) fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

/// All text files of the project; the Rust ones also as code.
pub(crate) struct Project {
    pub(crate) sources: Vec<Source>,
    /// Path and content of every other file that is text.
    pub(crate) others: Vec<(String, String)>,
}

impl Project {
    pub(crate) fn load(root: &Path) -> Result<Self, Failure> {
        let mut project = Self { sources: Vec::new(), others: Vec::new() };
        for path in project_files(root)? {
            if path.ends_with(".rs") {
                let text = read_text(root, &path)?;
                project.sources.push(Source::new(&path, &text));
            } else if let Ok(text) = read_text(root, &path) {
                // What is not UTF-8 is a fixture, and has no prose to check.
                project.others.push((path, text));
            }
        }
        Ok(project)
    }

    /// Content of the file at `path`, if there is one.
    pub(crate) fn other(&self, path: &str) -> Option<&str> {
        self.others.iter().find(|(name, _)| name == path).map(|(_, text)| text.as_str())
    }
}
