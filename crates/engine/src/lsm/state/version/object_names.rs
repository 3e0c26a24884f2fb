//! Names of objects: those of the parts of chains, and whether a name is one of a store's.
//!
//! ```text
//! manifest-000005-00000000   part 0 of manifest 5
//! wal-000013-00000002        part 2 of log 13
//! ```
//!
//! A listing may take several requests. It has manifests before logs, so that the logs in it are never older than the
//! manifest that names them.

use super::file_names::{FileKind, LOCK_NAME, final_name, parse_file_name};
use super::kept_names::is_name_of_changes;

/// The kinds of files that are chains, with the first word of their parts' names.
const CHAINS: [(FileKind, &str); 2] = [(FileKind::Manifest, "manifest"), (FileKind::Log, "wal")];

/// Whether files of this kind are chains.
pub(in crate::lsm) fn is_chain(kind: FileKind) -> bool {
    CHAINS.iter().any(|(chain, _)| *chain == kind)
}

/// A file that is a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::lsm) struct ChainId {
    pub(in crate::lsm) kind: FileKind,
    pub(in crate::lsm) number: u64,
}

impl ChainId {
    /// The name of a part.
    pub(in crate::lsm) fn part_name(self, part: u64) -> String {
        let word = CHAINS.iter().find(|(kind, _)| *kind == self.kind).map_or("", |(_, word)| word);
        format!("{word}-{:06}-{part:08}", self.number)
    }
}

/// The chain and the number of a part; `None` for a name that [`ChainId::part_name`] does not produce.
pub(in crate::lsm) fn parse_part_name(name: &str) -> Option<(ChainId, u64)> {
    let (word, rest) = name.split_once('-')?;
    let (number, part) = rest.split_once('-')?;
    let (kind, _) = CHAINS.into_iter().find(|(_, found)| *found == word)?;
    let (chain, part) = (ChainId { kind, number: number.parse().ok()? }, part.parse().ok()?);
    (chain.part_name(part) == name).then_some((chain, part))
}

/// Whether an object is a part of a manifest or a log.
fn is_part(name: &str) -> bool {
    parse_part_name(name).is_some()
}

/// Whether an object is a part of a manifest.
pub(in crate::lsm) fn is_manifest_part(name: &str) -> bool {
    parse_part_name(name).is_some_and(|(chain, _)| chain.kind == FileKind::Manifest)
}

/// Whether a name is one of a store's file, finished or temporary.
pub(in crate::lsm) fn is_name_of_store(name: &str) -> bool {
    name == LOCK_NAME || parse_file_name(final_name(name)).is_some() || is_name_of_changes(name)
}

/// Whether a name is one of a store's object.
pub(in crate::lsm) fn is_object_of_store(name: &str) -> bool {
    is_part(name) || is_name_of_store(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_parts_come_back_and_list_manifests_before_logs() {
        for (kind, _) in CHAINS {
            for (number, part) in [(0, 0), (5, 12), (1_000_000, 100_000_000), (u64::MAX, u64::MAX)] {
                let chain = ChainId { kind, number };
                assert_eq!(parse_part_name(&chain.part_name(part)), Some((chain, part)));
            }
        }
        for name in
            ["manifest-5-00000000", "wal-000005-0", "000005.log", "wal-000005-00000000.x", "table-000005-00000000"]
        {
            assert_eq!(parse_part_name(name), None, "{name}");
        }
        let part = |kind| ChainId { kind, number: 1 }.part_name(0);
        assert!(part(FileKind::Manifest) < part(FileKind::Log));
    }
}
