//! Crash images: the possible remains of unsynced changes after a loss of power.

use crate::disk::{Change, FileId, State, overlay};
use crate::random::Random;
use std::collections::BTreeMap;

/// Devices write whole sectors: a longer write can be torn between two, never within one.
const SECTOR_BYTES: usize = 512;

/// Which un-synced changes survive a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survival {
    /// None.
    Nothing,
    /// All, in order.
    Everything,
    /// Creations, renames and removals, but nothing that was written: the empty file under its final name.
    NamesOnly,
    /// Writes to files with durable names, but no creation, rename or removal.
    WritesOnly,
    /// The changes up to some point, as a journal would keep them, the last write torn.
    Prefix(u64),
    /// Any changes in any order: writes dropped, kept or torn between sectors, lengths without their bytes, gaps of
    /// zeros or of another file's old bytes.
    Subset(u64),
}

/// The files that are left: their names and bytes.
pub(crate) fn after_crash(state: &State, survival: Survival) -> Vec<(String, Vec<u8>)> {
    let mut image = Image {
        names: state.names.durable.clone(),
        files: state.files.iter().map(|content| content.durable.clone()).collect(),
    };
    match survival {
        Survival::Nothing => {}
        Survival::Everything => image.keep(&state.pending, |_| true),
        Survival::NamesOnly => image.keep(&state.pending, |change| !change.is_write()),
        Survival::WritesOnly => image.keep(&state.pending, Change::is_write),
        Survival::Prefix(seed) => image.keep_prefix(&state.pending, &mut Random::new(seed)),
        Survival::Subset(seed) => image.keep_subset(&state.pending, &mut Random::new(seed)),
    }
    let files = image.files;
    image.names.into_iter().map(|(name, file)| (name, files[file].clone())).collect()
}

struct Image {
    names: BTreeMap<String, FileId>,
    files: Vec<Vec<u8>>,
}

impl Image {
    fn keep(&mut self, changes: &[Change], mut wanted: impl FnMut(&Change) -> bool) {
        for change in changes.iter().filter(|change| wanted(change)) {
            change.apply_to_names(&mut self.names);
            change.apply_to_files(&mut self.files);
        }
    }

    fn keep_prefix(&mut self, changes: &[Change], random: &mut Random) {
        let kept = random.below(changes.len() as u64 + 1) as usize;
        self.keep(&changes[..kept], |_| true);
        if let Some(Change::Write { file, offset, bytes }) = changes.get(kept) {
            let sectors = sectors(*offset, bytes);
            let whole = random.below(sectors.len() as u64 + 1) as usize;
            for (offset, bytes) in &sectors[..whole] {
                overlay(&mut self.files[*file], *offset, bytes);
            }
        }
    }

    fn keep_subset(&mut self, changes: &[Change], random: &mut Random) {
        // Seldom and often: with fair coins alone a long list would never be nearly whole or nearly gone.
        let odds = [2, 4, 16][random.below(3) as usize];
        let mostly_kept = random.one_in(2);
        self.keep_lengths(changes, random);
        for change in changes {
            let kept = random.one_in(odds) != mostly_kept;
            let Change::Write { file, offset, bytes } = change else {
                if kept {
                    change.apply_to_names(&mut self.names);
                    change.apply_to_files(&mut self.files);
                }
                continue;
            };
            let torn = random.one_in(4);
            for (offset, bytes) in sectors(*offset, bytes) {
                if if torn { random.one_in(2) } else { kept } {
                    self.fill(*file, offset, random);
                    overlay(&mut self.files[*file], offset, bytes);
                }
            }
        }
    }

    /// Lets some files have grown already, without the bytes that made them grow.
    fn keep_lengths(&mut self, changes: &[Change], random: &mut Random) {
        for change in changes {
            if let Change::Write { file, offset, bytes } = change
                && random.one_in(8)
            {
                let end = offset + random.below(bytes.len() as u64 + 1) as usize;
                self.fill(*file, end, random);
            }
        }
    }

    /// Makes a file reach `end` with zeros, or with what the sectors held in another life.
    fn fill(&mut self, file: FileId, end: usize, random: &mut Random) {
        let bytes = &mut self.files[file];
        let start = bytes.len();
        if end > start {
            let stale = random.one_in(2);
            bytes.extend((start..end).map(|_| if stale { random.next_u64() as u8 } else { 0 }));
        }
    }
}

/// The parts of a write that lie in different sectors of the file.
fn sectors(offset: usize, bytes: &[u8]) -> Vec<(usize, &[u8])> {
    let mut parts = Vec::new();
    let mut done = 0;
    while done < bytes.len() {
        let from = offset + done;
        let take = (SECTOR_BYTES - from % SECTOR_BYTES).min(bytes.len() - done);
        parts.push((from, &bytes[done..done + take]));
        done += take;
    }
    parts
}
