//! The committed state of a PGM index.

use super::run::{PgmGeometry, PgmRun};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{PageNumber, Pages};

/// The committed state: the buffer page, and the oldest run.
///
/// ```text
/// | page of the buffer, or 0: 4 | entries in it: 2 | runs described there: 1 | the oldest run, if any |
/// ```
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PgmState<W> {
    pub(super) page: PageNumber,
    pub(super) buffered: u16,
    pub(super) runs: u8,
    pub(super) oldest: Option<PgmRun<W>>,
}

impl<W: Word> PgmState<W> {
    pub(super) fn load(bytes: &[u8], pages: &dyn Pages, geometry: &PgmGeometry) -> Result<Self> {
        let damaged = || pages.damaged(0, "the state is not that of a PGM index");
        let (&[a, b, c, d, low, high, runs], rest) = bytes.split_first_chunk().ok_or_else(damaged)?;
        let (page, buffered) = (u32::from_le_bytes([a, b, c, d]), u16::from_le_bytes([low, high]));
        let oldest = if rest.is_empty() { None } else { Some(PgmRun::load(rest, geometry, pages, 0)?) };
        let whole = oldest.as_ref().is_none_or(|(_, bytes)| *bytes == rest.len());
        if !whole || page == 0 && (buffered > 0 || runs > 0) || oldest.is_none() && runs > 0 {
            return Err(damaged());
        }
        Ok(Self { page, buffered, runs, oldest: oldest.map(|(run, _)| run) })
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.page.to_le_bytes().to_vec();
        bytes.extend_from_slice(&self.buffered.to_le_bytes());
        bytes.push(self.runs);
        if let Some(run) = &self.oldest {
            run.push(&mut bytes);
        }
        bytes
    }
}
