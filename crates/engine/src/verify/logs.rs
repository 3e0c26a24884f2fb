//! Verification of the write-ahead logs of a store.

use super::store::StoreVerifier;
use crate::block::header::StoreBinding;
use crate::error::{Error, Result};
use crate::lsm::core::wal;
use crate::lsm::open::unreferenced::UnreferencedFiles;
use crate::lsm::state::entry::decode_group;
use crate::lsm::state::version::{ClosedLengths, FileKind, file_name};
use crate::vlog::{ValueFile, ValueFilePointer};

impl StoreVerifier<'_> {
    /// Checks all needed logs: their groups, and the values these point to.
    pub(crate) fn logs(&mut self, closed: Option<&ClosedLengths>, unnamed: &UnreferencedFiles) -> Result<()> {
        let numbers: Vec<u64> = self.state.logs.iter().copied().collect();
        for (index, &number) in numbers.iter().enumerate() {
            let name = file_name(number, FileKind::Log);
            let closed_at = match (closed, numbers.get(index + 1)) {
                _ if self.state.logs_ended.contains_key(&number) => self.state.logs_ended.get(&number).copied(),
                (Some(lengths), _) => Some(length_of(lengths, number)),
                (None, Some(&next)) => wal::recorded_end(&*self.storage, self.state.binding_of(next), next, number)?,
                (None, None) => unnamed.ends.get(&number).copied(),
            };
            let (storage, binding) = (std::sync::Arc::clone(&self.storage), self.state.binding_of(number));
            let replayed = wal::replay(&*storage, binding, number, 0, closed_at, &mut |group, synced| {
                self.group((&name, binding), group, synced)
            });
            self.report.logs += 1;
            let end = self.report.note(&name, replayed)?;
            self.advance(end.unwrap_or(0));
        }
        Ok(())
    }

    /// Checks a group; returns `false` if it ends the valid part, as a crash may leave it.
    fn group(&mut self, (name, binding): (&str, StoreBinding), group: &[u8], synced: bool) -> Result<bool> {
        let malformed = || Error::damaged(self.storage.path(name), 0, "a group of operations is malformed");
        let operations = decode_group(group).ok_or_else(malformed)?;
        for (key, pointer) in operations.iter().filter_map(|operation| operation.pointer(group)) {
            let pointer = ValueFilePointer::decode(pointer);
            let is_whole = match &pointer {
                Some(pointer) => self.resolve_value(binding, pointer)?,
                None => false,
            };
            match (is_whole, synced) {
                (true, _) => {}
                (false, false) => return Ok(false),
                (false, true) => {
                    let detail = format!("the value of {} is missing or damaged", key.escape_ascii());
                    // The log is sound: the file that it points into is not.
                    let (file, offset) = match &pointer {
                        Some(pointer) => (file_name(pointer.file, FileKind::Values), pointer.offset),
                        None => (name.to_owned(), 0),
                    };
                    self.report.add(&file, offset, detail);
                }
            }
        }
        self.report.groups += 1;
        self.report.log_records += operations.len() as u64;
        Ok(true)
    }

    fn resolve_value(&mut self, binding: StoreBinding, pointer: &ValueFilePointer) -> Result<bool> {
        if !self.values.contains_key(&pointer.file) {
            match ValueFile::open(&*self.storage, binding, pointer.file) {
                Ok(file) => _ = self.values.insert(pointer.file, file),
                Err(error) if super::report::finding_of(&error).is_some() => {
                    if ValueFile::has_other_identity(&*self.storage, binding, pointer.file)? {
                        let name = file_name(pointer.file, FileKind::Values);
                        self.report.note(&name, Err::<(), _>(error))?;
                    }
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        let is_of_the_log = self.values.get(&pointer.file).is_some_and(|file| file.binding() == binding);
        Ok(is_of_the_log && self.leads_to_value(pointer)?)
    }
}

/// The recorded length of a closed store's log.
fn length_of(lengths: &ClosedLengths, number: u64) -> u64 {
    lengths.logs.iter().find(|(log, _)| *log == number).map_or(0, |&(_, bytes)| bytes)
}
