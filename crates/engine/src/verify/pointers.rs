//! Pointers into value files that are followed together, in the order of the files: neighbours share what is read.

use super::store::StoreVerifier;
use super::tables::FoundDefect;
use crate::error::{Cause, Error, Result};
use crate::io::RangeRequest;
use crate::lsm::state::version::{FileKind, file_name};
use crate::vlog::{ValueFile, ValueFilePointer};

/// If pointers lead to this part of a file or more, the file is read in order, else value by value.
const DENSE_DIVISOR: u64 = 8;

/// Bytes of values that are read at once, and their number, where they lie scattered.
const WAVE_BYTES_MAX: usize = 16 << 20;
const WAVE_VALUES_MAX: usize = 4096;

/// Pointers with the keys of their entries.
#[derive(Debug, Default)]
pub(super) struct PointerBatch {
    pointers: Vec<(ValueFilePointer, Box<[u8]>)>,
    key_bytes: u64,
}

impl PointerBatch {
    pub(super) fn push(&mut self, pointer: ValueFilePointer, key: &[u8]) {
        self.key_bytes += key.len() as u64;
        self.pointers.push((pointer, key.into()));
    }

    /// Memory of the batch in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.key_bytes + size_of_val(&*self.pointers) as u64
    }
}

impl StoreVerifier<'_> {
    /// Follows all pointers of a batch, which is empty then. Returns the values that are missing or damaged.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(super) fn follow(&mut self, batch: &mut PointerBatch) -> Result<Vec<FoundDefect>> {
        let PointerBatch { mut pointers, .. } = std::mem::take(batch);
        self.report.pointers += pointers.len() as u64;
        pointers.sort_unstable_by_key(|(pointer, _)| (pointer.file, pointer.offset));
        let mut found = Vec::new();
        for of_file in pointers.chunk_by(|(one, _), (other, _)| one.file == other.file) {
            let Some(number) = of_file.first().map(|(pointer, _)| pointer.file) else { continue };
            let broken = match self.values.get(&number) {
                None => vec![true; of_file.len()],
                Some(file) => broken_values(file, of_file)?,
            };
            let name = file_name(number, FileKind::Values);
            let broken = of_file.iter().zip(broken).filter(|(_, is_broken)| *is_broken);
            found.extend(broken.map(|((pointer, key), _)| {
                let detail = format!("the value of {} is missing or damaged", key.escape_ascii());
                (name.clone(), pointer.offset, detail)
            }));
        }
        Ok(found)
    }

    /// Whether the value of a pointer is intact.
    pub(super) fn leads_to_value(&mut self, pointer: &ValueFilePointer) -> Result<bool> {
        self.report.pointers += 1;
        self.values.get(&pointer.file).map_or(Ok(false), |file| file.is_intact(pointer))
    }
}

/// Whether each of these values, sorted by their places, is missing or damaged.
fn broken_values(file: &ValueFile, pointers: &[(ValueFilePointer, Box<[u8]>)]) -> Result<Vec<bool>> {
    let stored_bytes = pointers.iter().fold(0_u64, |sum, (pointer, _)| sum.saturating_add(pointer.stored_bytes));
    let is_dense = stored_bytes >= file.len_bytes() / DENSE_DIVISOR;
    let mut broken = vec![false; pointers.len()];
    let mut wave: Vec<(usize, RangeRequest)> = Vec::new();
    let mut wave_bytes = 0;
    for (index, (pointer, _)) in pointers.iter().enumerate() {
        // A value of several chunks is long enough to be read by itself.
        let short = if is_dense { None } else { file.range_of(pointer, u64::MAX).ok().flatten() };
        let Some(range) = short else {
            broken[index] = !file.is_intact(pointer)?;
            continue;
        };
        if !wave.is_empty() && (wave_bytes + range.bytes > WAVE_BYTES_MAX || wave.len() == WAVE_VALUES_MAX) {
            read_wave(file, pointers, &std::mem::take(&mut wave), &mut broken)?;
            wave_bytes = 0;
        }
        wave_bytes += range.bytes;
        wave.push((index, range));
    }
    read_wave(file, pointers, &wave, &mut broken)?;
    Ok(broken)
}

/// Reads scattered values at once.
fn read_wave(
    file: &ValueFile,
    pointers: &[(ValueFilePointer, Box<[u8]>)],
    wave: &[(usize, RangeRequest)],
    broken: &mut [bool],
) -> Result<()> {
    let ranges: Vec<RangeRequest> = wave.iter().map(|&(_, range)| range).collect();
    let read = file.start_reads(&ranges)?.wait()?;
    for (&(index, _), bytes) in wave.iter().zip(read) {
        broken[index] = match file.value_in(&pointers[index].0, &bytes) {
            Ok(_) => false,
            Err(Error { cause: Cause::Damaged, .. }) => true,
            Err(error) => return Err(error),
        };
    }
    Ok(())
}
