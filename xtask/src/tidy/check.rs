//! Gathers the files, asks every rule, and prints what they found.

use super::project::{Finding, Project};
use super::{circles, direction, exports, language, manifest, reach, rust, size, text, vendored};
use crate::Failure;
use std::path::Path;

/// Checks all rules on the repository at `root`.
pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    let project = Project::load(root)?;
    let mut findings = findings(&project);
    if findings.is_empty() {
        let exported = exports::exports(&project.sources).len();
        let lines = size::lines_without_tests(&project.sources, exports::ROOT);
        println!(
            "tidy: {} Rust files and {} others are in order; the engine has {lines} lines without tests, and exports \
             {exported} items",
            project.sources.len(),
            project.others.len()
        );
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
    found.extend(circles::check(&project.sources));
    found.extend(exports::check(&project.sources));
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
