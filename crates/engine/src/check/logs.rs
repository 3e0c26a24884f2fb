//! Checking the write-ahead logs of a store.

use super::verify::Walk;
use crate::error::{Error, Result};
use crate::lsm::entry::{Action, Kind, decode_group};
use crate::lsm::version::{ClosedLengths, FileKind, file_name};
use crate::lsm::wal;
use crate::vlog::{ValueFile, ValuePlace};

impl Walk<'_> {
    /// Checks all logs that are needed: their groups, and where those point.
    pub(super) fn logs(&mut self, closed: Option<&ClosedLengths>) -> Result<()> {
        let numbers: Vec<u64> = self.state.logs.iter().copied().collect();
        for (place, &number) in numbers.iter().enumerate() {
            let name = file_name(number, FileKind::Log);
            if !self.storage.exists(&name)? {
                self.report.add(&name, 0, "it is missing");
                continue;
            }
            let closed_at = match (closed, numbers.get(place + 1)) {
                (Some(lengths), _) => Some(length_of(lengths, number)),
                (None, Some(&next)) => self.end_of(number, next)?,
                (None, None) => None,
            };
            let (storage, owner) = (std::sync::Arc::clone(&self.storage), self.state.owner);
            let replayed =
                wal::replay(&*storage, owner, number, closed_at, &mut |group, synced| self.group(&name, group, synced));
            self.report.logs += 1;
            let end = self.report.note(&name, replayed)?;
            self.advance(end.unwrap_or(0));
        }
        Ok(())
    }

    /// Where the log after it says that a log ended.
    fn end_of(&self, number: u64, next: u64) -> Result<Option<u64>> {
        let previous = wal::previous(&*self.storage, self.state.owner, next)?;
        Ok(previous.filter(|previous| previous.number == number).map(|previous| previous.bytes))
    }

    /// Checks a group; `false` where it ends what counts, as a crash may leave it.
    fn group(&mut self, name: &str, group: &[u8], synced: bool) -> Result<bool> {
        let malformed = || Error::damaged(self.storage.path(name), 0, "a group of operations that makes no sense");
        let operations = decode_group(group).ok_or_else(malformed)?;
        for operation in operations.iter().filter(|operation| operation.action == Action::Put(Kind::Pointer)) {
            let (key, pointer) = operation.parts(group);
            let place = ValuePlace::decode(pointer);
            let is_whole = match &place {
                Some(place) => self.reach(place)?,
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

    fn reach(&mut self, place: &ValuePlace) -> Result<bool> {
        if !self.values.contains_key(&place.file) {
            match ValueFile::open(&*self.storage, self.state.owner, place.file) {
                Ok(file) => _ = self.values.insert(place.file, file),
                Err(error) if super::report::complaint(&error).is_some() => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        self.leads_to_value(place)
    }
}

/// How long a closed store's log is.
fn length_of(lengths: &ClosedLengths, number: u64) -> u64 {
    lengths.logs.iter().find(|(log, _)| *log == number).map_or(0, |&(_, bytes)| bytes)
}
