//! The objects of a store at one time.

use super::names::{ChainId, parse_part_name};
use super::stub::{FIRST_MANIFEST, STUB_BYTES};
use super::version::StoreVersion;
use crate::error::Result;
use crate::io::{ListedFile, Storage};
use crate::lsm::version::{FileKind, file_name};
use std::collections::{BTreeMap, BTreeSet};

/// Most objects in one answer to a listing, as S3 and Google Cloud Storage have it; Azure gives five times as many.
const LISTED_AT_ONCE: usize = 1000;

/// The objects of a store at one time; of a large one, by several requests after each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Listing {
    /// Files that are single objects.
    objects: BTreeSet<String>,
    /// The parts of the others, each as it was listed.
    chains: BTreeMap<ChainId, BTreeMap<u64, ListedFile>>,
    /// Whether the first part of the first manifest is a stub. Then it is no part of that.
    has_stub: bool,
}

impl Listing {
    pub(super) fn read(storage: &dyn Storage) -> Result<Self> {
        let mut listing = Self::default();
        for file in storage.list_files()? {
            listing.add(file);
        }
        Ok(listing)
    }

    /// Adds a file, or what is known of it now.
    pub(super) fn add(&mut self, file: ListedFile) {
        match parse_part_name(&file.name) {
            Some((FIRST_MANIFEST, 0)) if file.length_bytes == Some(STUB_BYTES as u64) => self.note_stub(),
            Some((chain, part)) => _ = self.chains.entry(chain).or_default().insert(part, file),
            None => _ = self.objects.insert(file.name),
        }
    }

    /// Notes that the first part of the first manifest is a stub.
    pub(super) fn note_stub(&mut self) {
        self.has_stub = true;
        if let Some(parts) = self.chains.get_mut(&FIRST_MANIFEST) {
            parts.remove(&0);
        }
        self.chains.retain(|_, parts| !parts.is_empty());
    }

    pub(super) fn has_stub(&self) -> bool {
        self.has_stub
    }

    /// Takes over what another listing says of the parts that this one has.
    pub(super) fn add_facts(&mut self, other: &Self) {
        for (chain, parts) in &mut self.chains {
            let found = other.chains.get(chain);
            for (part, file) in parts.iter_mut().filter(|(_, file)| file.length_bytes.is_none()) {
                if let Some(found) = found.and_then(|found| found.get(part)) {
                    file.clone_from(found);
                }
            }
        }
    }

    /// A part as it was listed.
    pub(super) fn part(&self, name: &str) -> ListedFile {
        let found = parse_part_name(name).and_then(|(chain, part)| self.chains.get(&chain)?.get(&part));
        found.cloned().unwrap_or_else(|| ListedFile::named(name))
    }

    /// Number of parts before the first absent one.
    pub(super) fn parts(&self, chain: ChainId) -> u64 {
        let parts = self.chains.get(&chain).into_iter().flat_map(BTreeMap::keys);
        (0..).zip(parts).take_while(|(expected, part)| expected == *part).count() as u64
    }

    pub(super) fn has_part(&self, chain: ChainId, part: u64) -> bool {
        self.chains.get(&chain).is_some_and(|parts| parts.contains_key(&part))
    }

    /// All parts of a chain, also those that do not count.
    pub(super) fn all_parts(&self, chain: ChainId) -> Vec<u64> {
        self.chains.get(&chain).into_iter().flat_map(BTreeMap::keys).copied().collect()
    }

    /// The chains of which anything is there.
    pub(super) fn chains(&self) -> impl Iterator<Item = ChainId> {
        self.chains.keys().copied()
    }

    pub(super) fn has_object(&self, name: &str) -> bool {
        self.objects.contains(name)
    }

    /// The names of all files, sorted; a chain without its first part is none.
    pub(super) fn files(&self) -> Vec<String> {
        let chains = self.chains.keys().filter(|chain| self.parts(**chain) > 0);
        let mut names: Vec<String> = chains.map(|chain| file_name(chain.number, chain.kind)).collect();
        names.extend(self.objects.iter().cloned());
        names.sort_unstable();
        names
    }

    /// The number of the newest chain of a kind; 0 if there is none.
    pub(super) fn newest(&self, kind: FileKind) -> u64 {
        let chains = self.chains.keys().filter(|chain| chain.kind == kind && self.parts(**chain) > 0);
        chains.map(|chain| chain.number).max().unwrap_or(0)
    }

    /// The version that this listing shows.
    pub(super) fn version(&self) -> StoreVersion {
        let newest = |kind| {
            let number = self.newest(kind);
            (number, self.parts(ChainId { kind, number }))
        };
        let ((manifest, manifest_parts), (log, log_parts)) = (newest(FileKind::Manifest), newest(FileKind::Log));
        StoreVersion { manifest, manifest_parts, log, log_parts }
    }

    /// The parts of manifests that were not there yet. Where the listing took several requests, the manifest may have
    /// grown between the one that listed it and the one that listed the logs: then one of these is there now. None for
    /// a listing by one request.
    pub(super) fn later_manifest_parts(&self) -> Vec<String> {
        let objects = self.objects.len() + self.chains.values().map(BTreeMap::len).sum::<usize>();
        if objects < LISTED_AT_ONCE { Vec::new() } else { self.next_manifest_parts() }
    }

    /// The part that the newest manifest gets next, and the first one of the manifest after it.
    pub(super) fn next_manifest_parts(&self) -> Vec<String> {
        let number = self.newest(FileKind::Manifest);
        let chain = ChainId { kind: FileKind::Manifest, number };
        let next = ChainId { number: number + 1, ..chain };
        vec![chain.part_name(self.parts(chain)), next.part_name(0)]
    }

    /// Hides what came after a version. Returns `false` if the version is not there any more.
    pub(super) fn cut(&mut self, version: &StoreVersion) -> bool {
        let StoreVersion { manifest, manifest_parts, log, log_parts } = *version;
        for (kind, number, parts) in [(FileKind::Manifest, manifest, manifest_parts), (FileKind::Log, log, log_parts)] {
            self.chains.retain(|chain, _| chain.kind != kind || chain.number <= number);
            if let Some(found) = self.chains.get_mut(&ChainId { kind, number }) {
                found.retain(|&part, _| part < parts);
            }
            if self.parts(ChainId { kind, number }) < parts {
                return false;
            }
        }
        true
    }
}
