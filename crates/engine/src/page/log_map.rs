//! The log map: the position in the log of each page that is there, for readers.

use super::pages::PageNumber;
use crate::block::NumberHash;
use crate::error::Result;
use crate::log::{RecordLocation, Segment};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A page as one commit left it, in the log: a whole image, or a change to the version before it.
#[derive(Clone, Debug)]
pub(super) struct PageVersion {
    /// The commit.
    pub(super) sequence: u64,
    /// The location of the record.
    pub(super) place: RecordLocation,
    /// The segment of the record.
    pub(super) segment: u32,
    /// Whether it is an image.
    pub(super) is_image: bool,
    /// The body of a delta, if kept in memory, so that reading the page from the log takes a single read, of the image.
    pub(super) body: Option<Arc<[u8]>>,
}

impl PageVersion {
    /// Estimated bytes in memory.
    pub(super) fn held_bytes(&self) -> u64 {
        VERSION_OVERHEAD_BYTES + self.body_bytes()
    }

    /// Bytes of memory beyond the version itself.
    fn body_bytes(&self) -> u64 {
        self.body.as_ref().map_or(0, |body| body.len() as u64 + BODY_OVERHEAD_BYTES)
    }
}

/// The log of a page since its last image in a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DeltaChain {
    /// Number of deltas after the image.
    pub(super) changes: usize,
    /// Their size in bytes.
    pub(super) bytes: usize,
}

impl DeltaChain {
    /// The chain of a page with one more record; `None` where there is no image to change.
    pub(super) fn followed_by(chain: Option<Self>, version: &PageVersion) -> Option<Self> {
        if version.is_image {
            return Some(Self::default());
        }
        let chain = chain?;
        Some(Self { changes: chain.changes + 1, bytes: chain.bytes + version.place.body_bytes as usize })
    }
}

/// Memory of a version in bytes, including its part of the tables.
const VERSION_OVERHEAD_BYTES: u64 = 56;
/// Memory overhead of a body in bytes: two counts, and allocator overhead.
const BODY_OVERHEAD_BYTES: u64 = 32;
/// Memory overhead of a page in bytes.
const PAGE_OVERHEAD_BYTES: u64 = 64;

/// The map of the log.
#[derive(Debug, Default)]
pub(super) struct LogMap {
    pages: HashMap<PageNumber, Vec<PageVersion>, NumberHash>,
    segments: BTreeMap<u32, Arc<Segment>>,
    versions: u64,
    bodies_bytes: u64,
}

impl LogMap {
    /// Estimated bytes in memory.
    pub(super) fn held_bytes(&self) -> u64 {
        self.versions * VERSION_OVERHEAD_BYTES + self.pages.len() as u64 * PAGE_OVERHEAD_BYTES + self.bodies_bytes
    }

    pub(super) fn add_segment(&mut self, segment: Arc<Segment>) {
        self.segments.insert(segment.number(), segment);
    }

    /// Adds a version behind those of the page. An image takes the place of what its own commit logged before.
    pub(super) fn add(&mut self, page: PageNumber, version: PageVersion) {
        let versions = self.pages.entry(page).or_default();
        while let Some(last) = versions.pop_if(|last| version.is_image && last.sequence == version.sequence) {
            self.versions -= 1;
            self.bodies_bytes -= last.body_bytes();
        }
        self.versions += 1;
        self.bodies_bytes += version.body_bytes();
        versions.push(version);
    }

    /// The last commit up to `sequence` with the page in the log; `None` if the page file has the current version.
    pub(super) fn newest(&self, page: PageNumber, sequence: u64) -> Option<u64> {
        let versions = self.pages.get(&page)?;
        versions.iter().rev().map(|version| version.sequence).find(|&found| found <= sequence)
    }

    /// The records that make up the page at `sequence`: the image first.
    pub(super) fn records(&self, page: PageNumber, sequence: u64) -> Option<Vec<(Arc<Segment>, PageVersion)>> {
        let versions = self.pages.get(&page)?;
        let end = versions.iter().rposition(|version| version.sequence <= sequence)? + 1;
        let start = versions[..end].iter().rposition(|version| version.is_image)?;
        let place = |version: &PageVersion| Some((Arc::clone(self.segments.get(&version.segment)?), version.clone()));
        versions[start..end].iter().map(place).collect()
    }

    /// The chain of a page in a segment; `None` where the segment has no image of it.
    pub(super) fn chain(&self, page: PageNumber, segment: u32) -> Option<DeltaChain> {
        let mut chain = DeltaChain::default();
        for version in self.pages.get(&page)?.iter().rev().take_while(|version| version.segment == segment) {
            if version.is_image {
                return Some(chain);
            }
            chain.changes += 1;
            chain.bytes += version.place.body_bytes as usize;
        }
        None
    }

    /// The pages with versions in segments up to and including `segment`, in order, with the last of these versions.
    pub(super) fn pages_through(&self, segment: u32) -> Vec<(PageNumber, u64)> {
        let last = |(&page, versions): (&PageNumber, &Vec<PageVersion>)| {
            let last = versions.iter().rev().find(|version| version.segment <= segment)?;
            Some((page, last.sequence))
        };
        let mut pages: Vec<(PageNumber, u64)> = self.pages.iter().filter_map(last).collect();
        pages.sort_unstable();
        pages
    }

    /// Drops all versions in segments up to and including `segment`.
    pub(super) fn drop_through(&mut self, segment: u32) {
        self.pages.retain(|_, versions| {
            versions.retain(|version| version.segment > segment);
            !versions.is_empty()
        });
        if self.pages.is_empty() {
            self.pages = HashMap::default();
        }
        self.versions = self.pages.values().map(|versions| versions.len() as u64).sum();
        self.bodies_bytes = self.pages.values().flatten().map(PageVersion::body_bytes).sum();
        self.segments.retain(|&number, _| number > segment);
    }
}

/// The bodies of records, from memory or from the segments.
pub(super) fn read_records(records: &[(Arc<Segment>, PageVersion)]) -> Result<Vec<Arc<[u8]>>> {
    let mut bodies = Vec::with_capacity(records.len());
    for run in records.chunk_by(|a, b| a.0.id == b.0.id) {
        let missing = run.iter().filter(|(_, version)| version.body.is_none());
        let mut read = run[0].0.read_many(&missing.map(|(_, version)| version.place).collect::<Vec<_>>())?.into_iter();
        let kept = |version: &PageVersion| version.body.clone();
        bodies.extend(run.iter().filter_map(|(_, version)| kept(version).or_else(|| read.next().map(Into::into))));
    }
    Ok(bodies)
}
