//! Rows in the order of the files: each page is read and decoded once, in rounds of bounded size.

use super::memory::Shares;
use crate::data::{GroupRows, Pace, Projection, of_data_file};
use crate::error::Result;
use crate::file::fetched::{Fetched, StartedFetch, Wanted};
use crate::file::walk::GroupWalk;
use crate::index::Inner;
use crate::trace::Trace;
use arrow_array::{RecordBatch, UInt64Array};
use std::ops::Range;

/// Rows between two wanted ones that are decoded along: to skip them takes the decoder longer.
const DECODED_ALONG_ROWS: u64 = 16;

/// A gap that is read along takes at most 1/N of the memory of a round, which counts only what is wanted.
const GAPS_DIVISOR: u64 = 16;

/// A row that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WantedRow {
    /// Its number among the rows of all files.
    pub(crate) row: u64,
    /// Its place in the order in which it is wanted.
    pub(crate) place: u64,
}

impl WantedRow {
    /// Rows with their places, counted from `first`, in the order of the files.
    pub(crate) fn ascending(rows: impl IntoIterator<Item = u64>, first: u64) -> Vec<Self> {
        let mut wanted: Vec<Self> = (first..).zip(rows).map(|(place, row)| Self { row, place }).collect();
        wanted.sort_unstable();
        wanted
    }
}

/// Takes a batch with its rows in the order of the files.
pub(crate) type Visit<'a> = dyn FnMut(RecordBatch, &[WantedRow]) -> Result<()> + 'a;

/// A row group whose pages ascending rows touch.
#[derive(Clone)]
struct GroupReading {
    group: usize,
    /// The numbers of its rows among all.
    rows: Range<u64>,
    walk: GroupWalk,
}

/// Rows of a group that are decoded together.
#[derive(Default)]
struct Piece {
    /// The number of wanted rows.
    count: usize,
    ranges: Vec<Range<u64>>,
    /// The place of each wanted row among those of the ranges.
    taken: Vec<u64>,
    decoded: u64,
}

impl Piece {
    /// The number of decoded rows with this one, and whether it is decoded in one range with those before it.
    fn with(&self, row: u64, is_apart: bool) -> (u64, bool) {
        match self.ranges.last() {
            Some(last) if row < last.end => (self.decoded, true),
            Some(last) if row - last.end <= if is_apart { 0 } else { DECODED_ALONG_ROWS } => {
                (self.decoded + row + 1 - last.end, true)
            }
            _ => (self.decoded + 1, false),
        }
    }

    /// Whether each decoded row is wanted, once.
    fn is_exact(&self) -> bool {
        (0..).zip(&self.taken).all(|(place, &taken)| place == taken) && self.decoded == self.count as u64
    }

    fn push(&mut self, row: u64, is_apart: bool) {
        let (decoded, is_joined) = self.with(row, is_apart);
        match self.ranges.last_mut() {
            Some(last) if is_joined => last.end = last.end.max(row + 1),
            _ => self.ranges.push(row..row + 1),
        }
        self.decoded = decoded;
        self.taken.push(decoded - 1);
        self.count += 1;
    }
}

/// A reading of ascending rows, as far as it is.
pub(crate) struct FileReading {
    shares: Shares,
    pace: Pace,
    walked: Option<GroupReading>,
    fetched: Fetched,
}

impl FileReading {
    /// A reading within shares of the memory.
    pub(crate) fn new(shares: &Shares) -> Self {
        Self { shares: *shares, pace: Pace::within(shares.decoded), walked: None, fetched: Fetched::default() }
    }
}

/// Ranges that are read in one round.
struct Round {
    /// The number of wanted rows.
    count: usize,
    wanted: Vec<Wanted>,
    /// Ranges of the rounds before that are needed again.
    held: Vec<Wanted>,
}

/// The rows of a round, what it takes over from rounds before, and its reads.
type StartedRound = (Range<usize>, Vec<Wanted>, StartedFetch);

impl Inner {
    /// The time to read these ascending rows in the order of the files, in microseconds.
    pub(crate) fn reading_us(&self, rows: &[WantedRow], columns: &[usize]) -> Result<f64> {
        Ok(self.data.price_us(self.round(rows, columns, u64::MAX, &mut None)?.wanted))
    }

    fn group_reading(&self, row: u64, columns: &[usize]) -> Result<GroupReading> {
        let (group, _) = self.place_of(row)?;
        let rows = self.first_rows[group]..self.first_rows[group + 1];
        Ok(GroupReading { group, rows, walk: self.data.walk(group, columns)? })
    }

    /// The ranges of files that the first of ascending rows need: of as many rows as have pages of `most_bytes`, and of
    /// one in any case. The walk goes on where the round before ended, so that no page is read twice.
    fn round(
        &self,
        rows: &[WantedRow],
        columns: &[usize],
        most_bytes: u64,
        walked: &mut Option<GroupReading>,
    ) -> Result<Round> {
        let follows =
            |walked: &Option<GroupReading>, row: u64| walked.as_ref().is_some_and(|it| it.rows.contains(&row));
        let is_same_group = rows.first().is_some_and(|first| follows(walked, first.row));
        let held = walked.as_ref().filter(|_| is_same_group).map_or_else(Vec::new, |walked| walked.walk.held());
        let (mut wanted, mut bytes) = (Vec::new(), 0);
        for (at, row) in rows.iter().map(|wanted| wanted.row).enumerate() {
            let is_followed = follows(walked, row);
            if is_followed && walked.as_ref().is_some_and(|it| it.walk.has_touched(row - it.rows.start)) {
                continue;
            }
            let before = walked.take_if(|_| is_followed);
            let mut reading = match &before {
                Some(before) => before.clone(),
                None => self.group_reading(row, columns)?,
            };
            let kept = wanted.len();
            let touched = reading.walk.touch(row - reading.rows.start, &mut wanted);
            // Columns that are read as a whole would be read again by the next round.
            let may_cut = before.is_none() || !reading.walk.has_whole();
            if bytes + touched.bytes > most_bytes && at > 0 && may_cut {
                wanted.truncate(kept);
                *walked = before;
                return Ok(Round { count: at, wanted, held });
            }
            bytes += touched.bytes;
            *walked = Some(reading);
        }
        Ok(Round { count: rows.len(), wanted, held })
    }

    /// Reads ascending rows, which are behind those that were read before, and passes them on in parts. The pages of a
    /// part are under way while those before are decoded.
    ///
    /// # Errors
    /// Those of reading, and of `visit`.
    pub(crate) fn read_ascending(
        &self,
        rows: &[WantedRow],
        projection: &Projection,
        reading: &mut FileReading,
        mut trace: Option<&mut Trace>,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let FileReading { shares, pace, walked, fetched } = reading;
        let mut start = |first: usize| -> Result<Option<StartedRound>> {
            let rows = &rows[first..];
            if rows.is_empty() {
                return Ok(None);
            }
            let Round { count, wanted, held } = self.round(rows, &projection.columns, shares.round, walked)?;
            Ok(Some((
                first..first + count,
                held,
                self.data.start(wanted, shares.round / GAPS_DIVISOR, trace.as_deref_mut())?,
            )))
        };
        let mut started = start(0)?;
        while let Some((of_round, held, reads)) = started {
            started = start(of_round.end)?;
            let before = std::mem::replace(fetched, reads.wait().map_err(of_data_file)?);
            fetched.hold(&held, &before);
            drop(before);
            self.decode_round(&rows[of_round], projection, fetched, pace, visit)?;
        }
        Ok(())
    }

    fn decode_round(
        &self,
        mut rows: &[WantedRow],
        projection: &Projection,
        fetched: &Fetched,
        pace: &mut Pace,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        while let Some(first) = rows.first() {
            let reading = self.group_reading(first.row, &projection.columns)?;
            let group = reading.group;
            let piece = piece(rows, reading, pace.rows());
            let is_exact = piece.is_exact();
            let Piece { count, ranges, taken, .. } = piece;
            let batch = self.data.decode(&GroupRows { group, ranges }, projection, fetched)?;
            pace.follow(&batch);
            let (of_piece, rest) = rows.split_at(count);
            visit(if is_exact { batch } else { self.taken(projection, &batch, taken)? }, of_piece)?;
            rows = rest;
        }
        Ok(())
    }

    /// Some rows of a batch, by their places in it.
    pub(crate) fn taken(&self, projection: &Projection, batch: &RecordBatch, rows: Vec<u64>) -> Result<RecordBatch> {
        if projection.columns.is_empty() {
            return self.without_columns(projection, rows.len());
        }
        arrow_select::take::take_record_batch(batch, &UInt64Array::from(rows))
            .map_err(|error| self.data.malformed(format!("rows cannot be put in order: {error}")))
    }
}

/// The first of ascending rows that are in the group of `reading`, and take about `most_rows` to decode.
fn piece(rows: &[WantedRow], mut reading: GroupReading, most_rows: u64) -> Piece {
    let (mut piece, mut passed, mut apart) = (Piece::default(), Vec::new(), Vec::new());
    // Where it is best cut: where most columns have a page of their own from.
    let (mut cut, mut end) = (0, None);
    let of_group = rows.iter().map(|wanted| wanted.row).take_while(|row| reading.rows.contains(row));
    for (at, row) in of_group.enumerate() {
        passed.clear();
        let row = row - reading.rows.start;
        let touched = reading.walk.touch(row, &mut passed);
        if touched.leaves * 2 > reading.walk.leaf_count() {
            cut = at;
        }
        if at > 0 && piece.with(row, touched.is_apart).0 > most_rows {
            end = Some(if cut * 2 >= at && cut > 0 { cut } else { at });
            break;
        }
        piece.push(row, touched.is_apart);
        apart.push(touched.is_apart);
    }
    let Some(end) = end.filter(|&end| end < piece.count) else { return piece };
    let mut shorter = Piece::default();
    for (wanted, is_apart) in rows.iter().zip(apart).take(end) {
        shorter.push(wanted.row - reading.rows.start, is_apart);
    }
    shorter
}
