//! Gathers the files, asks every rule, and prints what they found.

use super::{direction, language, manifest, reach, rust, size, text, vendored};
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
    fn load(root: &Path) -> Result<Self, Failure> {
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

/// Checks all rules on the repository at `root`.
pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    let project = Project::load(root)?;
    let mut findings = findings(&project);
    if findings.is_empty() {
        println!("tidy: {} Rust files and {} others are in order", project.sources.len(), project.others.len());
        return Ok(());
    }
    findings.sort();
    findings.dedup();
    for finding in &findings {
        eprintln!("{}:{}: {}", finding.path, finding.line, finding.message);
    }
    Err(Failure::Check(format!("tidy: {} findings", findings.len())))
}

fn findings(project: &Project) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(direction::check(&project.sources));
    found.extend(reach::check(project));
    found.extend(manifest::check(project));
    found.extend(vendored::check(project));
    found.extend(language::check_names(project));
    found.extend(text::check_contents(project));
    for source in &project.sources {
        found.extend(rust::check(source));
        found.extend(size::check(source));
        found.extend(language::check(source));
        found.extend(text::check(&source.path, &source.text));
    }
    for (path, content) in &project.others {
        found.extend(text::check(path, content));
        found.extend(text::check_links(path, content, project));
        found.extend(language::check_document(path, content));
    }
    found
}
