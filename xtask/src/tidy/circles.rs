//! Files do not import one another in large circles, and a folder has few enough files to be read as a list.

use super::imports::{circles, imports_of};
use super::project::Finding;
use crate::source::Source;
use std::collections::{BTreeMap, BTreeSet};

/// Most files of a circle of imports: more of them have no order in which they can be read.
const CIRCLE_FILES_MAX: usize = 4;
/// Most files of one folder.
const FOLDER_FILES_MAX: usize = 32;
/// Most files of one folder of the halls of the engine, which have rooms.
const ROOM_FILES_MAX: usize = 20;
/// The halls of the engine.
const HALLS: &[&str] = &["table", "lsm", "join", "index", "io"];

/// Circles and folders that are too large.
pub(crate) fn check(sources: &[Source]) -> Vec<Finding> {
    let mut found = Vec::new();
    for root in crate_roots(sources) {
        let imports = imports_of(sources, root);
        for circle in circles(&imports).into_iter().filter(|circle| circle.len() > CIRCLE_FILES_MAX) {
            let message = format!(
                "a circle of imports over {} files, at most {CIRCLE_FILES_MAX}: move what they share below them: {}",
                circle.len(),
                circle.iter().map(|path| path.strip_prefix(root).unwrap_or(path)).collect::<Vec<_>>().join(", ")
            );
            found.push(Finding::new(circle[0], 1, message));
        }
    }
    for (folder, files) in folders(sources) {
        let most = files_max(folder);
        if files > most {
            found.push(Finding::new(folder, 1, format!("{files} files, at most {most}: divide the folder by role")));
        }
    }
    found
}

/// Source folders of the crates, such as `crates/model/src/`.
fn crate_roots(sources: &[Source]) -> BTreeSet<&str> {
    let roots = sources.iter().filter_map(|source| {
        let end = source.path.find("/src/")? + "/src/".len();
        matches!(&source.path[end..], "lib.rs" | "main.rs").then(|| &source.path[..end])
    });
    roots.collect()
}

/// Number of Rust files of each folder of sources.
fn folders(sources: &[Source]) -> BTreeMap<&str, usize> {
    let mut folders = BTreeMap::new();
    for (folder, _) in sources.iter().filter_map(|source| source.path.rsplit_once('/')) {
        if folder.contains("/src/") || folder.ends_with("/src") {
            *folders.entry(folder).or_insert(0) += 1;
        }
    }
    folders
}

fn files_max(folder: &str) -> usize {
    let hall = folder.strip_prefix("crates/engine/src/").and_then(|inside| inside.split('/').next());
    if hall.is_some_and(|hall| HALLS.contains(&hall)) { ROOM_FILES_MAX } else { FOLDER_FILES_MAX }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_circles_and_folders_are_found() {
        let ring = |files: usize| {
            let names: String = (0..files).map(|file| format!("mod m{file};\n")).collect();
            let mut sources = vec![Source::new("a/src/lib.rs", &names)];
            sources.extend((0..files).map(|file| {
                let text = format!("use crate::m{}::X;", (file + 1) % files);
                Source::new(&format!("a/src/m{file}.rs"), &text)
            }));
            check(&sources).len()
        };
        assert_eq!(ring(CIRCLE_FILES_MAX), 0);
        assert_eq!(ring(CIRCLE_FILES_MAX + 1), 1);
        assert_eq!(ring(FOLDER_FILES_MAX), 2);
    }
}
