//! Checking the write-ahead logs of a store.

use super::verify::Walk;
use crate::block::header::StoreBinding;
use crate::error::{Error, Result};
use crate::lsm::entry::{Action, Kind, decode_group};
use crate::lsm::unnamed::Unnamed;
use crate::lsm::version::{ClosedLengths, FileKind, file_name};
use crate::lsm::wal;
use crate::vlog::{ValueFile, ValuePlace};

impl Walk<'_> {
    /// Checks all logs that are needed: their groups, and where those point.
    pub(super) fn logs(&mut self, closed: Option<&ClosedLengths>, unnamed: &Unnamed) -> Result<()> {
        let numbers: Vec<u64> = self.state.logs.iter().copied().collect();
        for (place, &number) in numbers.iter().enumerate() {
            let name = file_name(number, FileKind::Log);
            let closed_at = match (closed, numbers.get(place + 1)) {
                _ if self.state.logs_ended.contains_key(&number) => self.state.logs_ended.get(&number).copied(),
                (Some(lengths), _) => Some(length_of(lengths, number)),
                (None, Some(&next)) => wal::end_before(&*self.storage, self.state.bond_of(next), next, number)?,
                (None, None) => unnamed.ends.get(&number).copied(),
            };
            let (storage, bond) = (std::sync::Arc::clone(&self.storage), self.state.bond_of(number));
            let replayed = wal::replay(&*storage, bond, number, closed_at, &mut |group, synced| {
                self.group((&name, bond), group, synced)
            });
            self.report.logs += 1;
            let end = self.report.note(&name, replayed)?;
            self.advance(end.unwrap_or(0));
        }
        Ok(())
    }

    /// Checks a group; `false` where it ends what counts, as a crash may leave it.
    fn group(&mut self, (name, bond): (&str, StoreBinding), group: &[u8], synced: bool) -> Result<bool> {
        let malformed = || Error::damaged(self.storage.path(name), 0, "a group of operations that makes no sense");
        let operations = decode_group(group).ok_or_else(malformed)?;
        for operation in operations.iter().filter(|operation| operation.action == Action::Put(Kind::Pointer)) {
            let (key, pointer) = operation.parts(group);
            let place = ValuePlace::decode(pointer);
            let is_whole = match &place {
                Some(place) => self.reach(bond, place)?,
                None => false,
            };
            match (is_whole, synced) {
                (true, _) => {}
                (false, false) => return Ok(false),
                (false, true) => {
                    let detail = format!("the value of {} is not there, or not whole", key.escape_ascii());
                    self.report.add(name, 0, detail);
                }
            }
        }
        self.report.groups += 1;
        Ok(true)
    }

    fn reach(&mut self, bond: StoreBinding, place: &ValuePlace) -> Result<bool> {
        if !self.values.contains_key(&place.file) {
            match ValueFile::open(&*self.storage, bond, place.file) {
                Ok(file) => _ = self.values.insert(place.file, file),
                Err(error) if super::report::complaint(&error).is_some() => {
                    if ValueFile::is_anothers(&*self.storage, bond, place.file)? {
                        let name = file_name(place.file, FileKind::Values);
                        self.report.note(&name, Err::<(), _>(error))?;
                    }
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        let is_of_the_log = self.values.get(&place.file).is_some_and(|file| file.bond() == bond);
        Ok(is_of_the_log && self.leads_to_value(place)?)
    }
}

/// How long a closed store's log is.
fn length_of(lengths: &ClosedLengths, number: u64) -> u64 {
    lengths.logs.iter().find(|(log, _)| *log == number).map_or(0, |&(_, bytes)| bytes)
}
