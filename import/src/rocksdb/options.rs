//! The file of options of a RocksDB folder: what its column families need that this program does not have.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The names of files of options, before their numbers.
const PREFIX: &str = "OPTIONS-";
/// The comparator of all column families, unless a program has its own.
const COMPARATOR: &str = "leveldb.BytewiseComparator";

/// The options of each column family, by its name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FamilyOptions(BTreeMap<String, BTreeMap<String, String>>);

impl FamilyOptions {
    /// Reads the newest file of options of a folder; none, if there is none.
    pub(super) fn read(folder: &Path) -> std::io::Result<Self> {
        let mut newest: Option<(u64, PathBuf)> = None;
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let number = name.strip_prefix(PREFIX).and_then(|number| number.parse().ok());
            if let Some(number) = number.filter(|number| newest.as_ref().is_none_or(|(newest, _)| number > newest)) {
                newest = Some((number, path));
            }
        }
        let text = newest.map(|(_, path)| std::fs::read_to_string(path)).transpose()?;
        Ok(Self::of(&text.unwrap_or_default()))
    }

    /// The options in a text of sections such as `[CFOptions "name"]` and lines such as `name=value`.
    fn of(text: &str) -> Self {
        let (mut families, mut family) = (Self::default(), None);
        for line in text.lines().map(str::trim) {
            if line.starts_with('[') {
                let name = line.strip_prefix("[CFOptions \"").and_then(|rest| rest.strip_suffix("\"]"));
                family = name.map(str::to_owned);
            } else if let (Some(family), Some((name, value))) = (&family, line.split_once('=')) {
                families.0.entry(family.clone()).or_default().insert(name.to_owned(), value.to_owned());
            }
        }
        families
    }

    /// An option that names an object of the program, as merge operators are named.
    fn object(&self, family: &str, option: &str) -> Option<&str> {
        let value = self.0.get(family)?.get(option)?.trim();
        // `{id=NAME;...}`, if the object has options of its own.
        let value = value.strip_prefix("{id=").map_or(value, |rest| rest.split([';', '}']).next().unwrap_or(rest));
        Some(value).filter(|value| !value.is_empty() && *value != "nullptr")
    }

    /// The comparator of a column family, if it is one of the program.
    pub(super) fn comparator(&self, family: &str) -> Option<&str> {
        self.object(family, "comparator").filter(|name| *name != COMPARATOR)
    }

    /// The merge operator of a column family.
    pub(super) fn merge_operator(&self, family: &str) -> Option<&str> {
        self.object(family, "merge_operator")
    }

    /// Whether the values of a column family end with their time, as `DBWithTTL` writes them.
    pub(super) fn has_times(&self, family: &str) -> bool {
        let filters = ["compaction_filter", "compaction_filter_factory"];
        filters.iter().any(|option| self.object(family, option).is_some_and(|name| name.contains("Ttl")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_the_program_are_found_by_column_family() {
        let families = FamilyOptions::of(
            "[DBOptions]\n  comparator=x\n[CFOptions \"default\"]\n  comparator=leveldb.BytewiseComparator\n  \
             merge_operator=nullptr\n  compaction_filter_factory=nullptr\n[TableOptions/BlockBasedTable \"default\"]\n\
             [CFOptions \"a b\"]\n  comparator=rocksdb.ReverseBytewiseComparator\n  merge_operator={id=Sum;x=1}\n  \
             compaction_filter_factory=TtlCompactionFilterFactory\n",
        );
        assert_eq!(families.comparator("default"), None);
        assert_eq!((families.merge_operator("default"), families.has_times("default")), (None, false));
        assert_eq!(families.comparator("a b"), Some("rocksdb.ReverseBytewiseComparator"));
        assert_eq!((families.merge_operator("a b"), families.has_times("a b")), (Some("Sum"), true));
        assert_eq!(FamilyOptions::of("[CFOptions \"a"), FamilyOptions::default());
    }
}
