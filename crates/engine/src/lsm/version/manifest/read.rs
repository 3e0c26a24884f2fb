//! The manifest reader.

use super::frame::{self, ClosedLengths, FrameKind, Head, UnknownVersion, VERSION};
use crate::error::{Error, Result};
use crate::io::{Purpose, ReadRequest, Storage};
use crate::lsm::version::edit::Edit;
use crate::lsm::version::names::{FileKind, NUMBERS_MAX, file_name, largest_number, parse_file_name};
use crate::lsm::version::state::State;
use std::path::PathBuf;

/// What the manifest of a store says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Recovered {
    /// The state; its next file number is beyond all files that there are.
    pub(crate) state: State,
    /// Number of the manifest.
    pub(crate) number: u64,
    /// Of a store that was closed: how long its files are.
    pub(crate) closed: Option<ClosedLengths>,
}

/// Reads the manifest of the greatest number; `None` where there is no store.
///
/// # Errors
/// [`Error::Damaged`] where the manifest is not what was written, an older one notwithstanding, and where a store's files are there
/// without one.
pub(crate) fn recover(storage: &dyn Storage) -> Result<Option<Recovered>> {
    let names = storage.list()?;
    let files: Vec<(u64, FileKind)> = names.iter().filter_map(|name| parse_file_name(name)).collect();
    let Some(number) = files.iter().filter(|(_, kind)| *kind == FileKind::Manifest).map(|&(number, _)| number).max()
    else {
        // The first manifest is durable before any other file is made.
        return match files.iter().find(|(_, kind)| *kind != FileKind::NewManifest) {
            Some(&(number, kind)) => {
                let path = storage.path(&file_name(number, kind));
                Err(Error::damaged(path, 0, "it belongs to a store whose manifest is gone"))
            }
            None => Ok(None),
        };
    };
    let name = file_name(number, FileKind::Manifest);
    if number >= NUMBERS_MAX {
        return Err(Error::damaged(storage.path(&name), 0, "no store gives out such a number"));
    }
    let bytes = read_whole(storage, &name)?;
    let mut recovered = Parser { bytes: &bytes, path: storage.path(&name) }.parse(number)?;
    let used = largest_number(storage)?;
    let state = &mut recovered.state;
    // Numbers that were reserved and never seen may have been those of files that a crash took.
    state.next_file = state.next_file.max(state.reserved).max(used.saturating_add(1));
    Ok(Some(recovered))
}

/// Removes manifests that never became whole.
pub(crate) fn remove_leftovers(storage: &dyn Storage) -> Result<()> {
    let names = storage.list()?;
    let is_leftover = |name: &&String| parse_file_name(name).is_some_and(|(_, kind)| kind == FileKind::NewManifest);
    names.iter().filter(is_leftover).try_for_each(|name| storage.remove(name))
}

fn read_whole(storage: &dyn Storage, name: &str) -> Result<Vec<u8>> {
    let file = storage.open(name)?;
    let length = usize::try_from(file.len())
        .map_err(|_| Error::damaged(storage.path(name), 0, "it is longer than any manifest"))?;
    let mut bytes = vec![0; length];
    file.read(ReadRequest { offset: 0, buffer: &mut bytes, purpose: Purpose::Log })?;
    Ok(bytes)
}

struct Parser<'a> {
    bytes: &'a [u8],
    path: PathBuf,
}

impl Parser<'_> {
    fn parse(&self, number: u64) -> Result<Recovered> {
        let head = match Head::decode(self.bytes, number) {
            Ok(Some(head)) => head,
            Ok(None) => return self.damaged(0, "it does not begin as a manifest does"),
            Err(UnknownVersion(found)) => {
                return Err(Error::UnknownVersion { path: self.path.clone(), found, supported: VERSION });
            }
        };
        let mut state = State { nonce: head.bond.nonce, ..State::empty(head.bond.store) };
        let end = self.read_state(head, &mut state)?;
        let closed = if head.closed { Some(self.read_closed(head, end)?) } else { None };
        if !head.closed {
            self.read_edits(head, end, &mut state)?;
        }
        Ok(Recovered { state, number, closed })
    }

    /// The state, and where it ends.
    fn read_state(&self, head: Head, state: &mut State) -> Result<usize> {
        let start = head.length();
        match frame::decode(self.bytes, head.identity(), start) {
            Some(frame) if frame.kind == FrameKind::State => {
                self.change(head, state, frame.body, start)?;
                Ok(start + frame.length)
            }
            _ => self.damaged(start, "the state is not what was written"),
        }
    }

    fn read_closed(&self, head: Head, position: usize) -> Result<ClosedLengths> {
        let frame = frame::decode(self.bytes, head.identity(), position);
        match frame.filter(|frame| frame.kind == FrameKind::Closed && position + frame.length == self.bytes.len()) {
            Some(frame) => ClosedLengths::decode(frame.body)
                .map_or_else(|| self.damaged(position, "the lengths of files make no sense"), Ok),
            None => self.damaged(position, "what follows the state is not what was written"),
        }
    }

    /// Applies the edits up to the first that the power interrupted.
    fn read_edits(&self, head: Head, mut position: usize, state: &mut State) -> Result<()> {
        while let Some(frame) = frame::decode(self.bytes, head.identity(), position) {
            match frame.kind {
                FrameKind::Edit => self.change(head, state, frame.body, position)?,
                FrameKind::Synced => {}
                FrameKind::State | FrameKind::Closed => return self.damaged(position, "a part is in a wrong place"),
            }
            position += frame.length;
        }
        if frame::is_followed(self.bytes, head.identity(), position) {
            return self
                .damaged(position, "an edit is not what was written, though what follows says that it was durable");
        }
        Ok(())
    }

    fn change(&self, head: Head, state: &mut State, body: &[u8], position: usize) -> Result<()> {
        let Some(edit) = Edit::decode(body, head.version) else {
            return self.damaged(position, "an edit makes no sense");
        };
        state.change(&edit).map_err(|inconsistent| inconsistent.into_error(&self.path, position as u64))
    }

    fn damaged<T>(&self, position: usize, detail: &str) -> Result<T> {
        Err(Error::damaged(&self.path, position as u64, detail))
    }
}
