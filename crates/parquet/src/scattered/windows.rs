//! Scans over rows that lie apart: windows of rows in key order, and how large they are.

use super::gather::Gather;
use super::list::{AscendingRows, WantedList, rows_within};
use super::memory::Shares;
use super::reading::{FileReading, WantedRow};
use super::spill::{Spill, Spilled};
use crate::data::Projection;
use crate::error::Result;
use crate::index::{Inner, row_number};
use crate::trace::Trace;
use arrow_array::RecordBatch;
use ogive::Storage;
use ogive::io::ScratchFolder;
use ogive::table::{ReadTrace, TableRange};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

/// How many times the rows of a window the next one has. Windows that lie in the same pages read these again, so few
/// windows are better than many.
const WINDOW_GROWTH: usize = 8;
/// The share of the price of one reading that all windows before it may cost: with the reading itself, 1.25 of it.
const WINDOWS_SHARE: f64 = 0.25;
/// The share of all pages from which on further rows hardly need further pages.
const NEARLY_ALL_SHARE: f64 = 0.8;
/// Records that are taken from the index at a time.
const RECORDS_AT_ONCE: usize = 4096;
/// Time to take a record from the index, in microseconds.
const RECORD_US: f64 = 0.1;
/// Time to write, sort and read again a byte of decoded rows, in microseconds: 250 MB/s.
const SPILLED_US_PER_BYTE: f64 = 4e-3;

/// The rows of a range in key order.
#[derive(Debug)]
pub(crate) struct KeyOrder {
    records: TableRange,
    is_reversed: bool,
    /// Rows that may still be taken from the index, and whether all of them are wanted.
    left: u64,
    is_whole: bool,
    /// The next rows, as far as the index was read.
    ahead: VecDeque<u64>,
    is_exhausted: bool,
    window_rows: usize,
    /// Of windows that lie apart from each other: the rows of each, and those of all that are left.
    apart: Option<(usize, usize)>,
    spent_us: f64,
    /// The time to read all pages of all files.
    all_us: Option<f64>,
    /// Memory of the rows that were decoded, and their number.
    decoded: (u64, u64),
    ready: Ready,
    scratch: Scratch,
}

/// Rows that were read and are not passed on yet.
#[derive(Debug)]
enum Ready {
    Memory(Gather),
    Disk(Box<Spilled>, Gather),
}

/// A folder on the local disk that is there once it is used.
#[derive(Clone, Debug, Default)]
struct Scratch(Arc<OnceLock<ScratchFolder>>);

impl Scratch {
    fn storage(&self) -> Result<Arc<dyn Storage>> {
        if self.0.get().is_none() {
            _ = self.0.set(ScratchFolder::create()?);
        }
        match self.0.get() {
            Some(folder) => Ok(folder.storage()),
            None => Ok(ScratchFolder::create()?.storage()),
        }
    }
}

/// What is read next.
enum Step {
    /// The next rows, as many as this, which memory holds.
    Window(usize),
    /// All rows that are left.
    Rest,
    End,
}

impl Inner {
    /// Bytes of the index for a row, on average: those before its tail.
    fn record_bytes(&self) -> f64 {
        self.table.opening().offset as f64 / (self.table.len() as f64).max(1.0)
    }
}

impl KeyOrder {
    /// The rows of a range of the index.
    pub(crate) fn new(records: TableRange, is_reversed: bool) -> Self {
        Self {
            records,
            is_reversed,
            left: u64::MAX,
            is_whole: false,
            ahead: VecDeque::new(),
            is_exhausted: false,
            window_rows: 1,
            apart: None,
            spent_us: 0.0,
            all_us: None,
            decoded: (0, 0),
            ready: Ready::Memory(Gather::default()),
            scratch: Scratch::default(),
        }
    }

    /// Ends after this number of rows, all of which are wanted, so that they are read at once.
    pub(crate) fn limit(&mut self, rows: u64) {
        (self.left, self.is_whole) = (rows, true);
    }

    /// The reads of the index so far.
    pub(crate) fn trace(&self) -> Option<&ReadTrace> {
        self.records.trace()
    }

    /// The next rows.
    ///
    /// # Errors
    /// Those of reading.
    pub(crate) fn next_batch(
        &mut self,
        inner: &Inner,
        projection: &Projection,
        mut trace: Option<&mut Trace>,
    ) -> Result<Option<RecordBatch>> {
        let shares = Shares::of(inner.memory_bytes);
        loop {
            if let Some(batch) = self.ready_batch(inner, projection, &shares)? {
                return Ok(Some(batch));
            }
            match self.step(inner, projection, &shares)? {
                Step::End => return Ok(None),
                Step::Window(rows) => {
                    let rows: Vec<u64> = self.ahead.drain(..rows).collect();
                    let rows = WantedRow::ascending(rows, 0);
                    self.window_rows = rows.len().saturating_mul(WINDOW_GROWTH);
                    let rows = AscendingRows::Memory(rows);
                    self.ready = self.read(rows, inner, projection, &shares, trace.as_deref_mut())?;
                }
                Step::Rest => {
                    let rows = self.rest(&shares)?;
                    self.ready = self.read(rows, inner, projection, &shares, trace.as_deref_mut())?;
                }
            }
        }
    }

    fn ready_batch(&mut self, inner: &Inner, projection: &Projection, shares: &Shares) -> Result<Option<RecordBatch>> {
        loop {
            let gather = match &mut self.ready {
                Ready::Memory(gather) | Ready::Disk(_, gather) => gather,
            };
            if let Some(batch) = gather.next_batch(inner, projection, shares.decoded)? {
                return Ok(Some(batch));
            }
            // Frees the memory of the rows before the next ones are there.
            *gather = Gather::default();
            match &mut self.ready {
                Ready::Memory(_) => return Ok(None),
                Ready::Disk(spilled, gather) => match spilled.next_chunk(inner, projection)? {
                    Some(rows) => *gather = rows,
                    None => self.ready = Ready::Memory(Gather::default()),
                },
            }
        }
    }

    /// Takes rows from the index until this number is known.
    fn look_ahead(&mut self, rows: usize) -> Result<()> {
        let Self { records, is_reversed, left, ahead, is_exhausted, .. } = self;
        let wanted = (rows.saturating_sub(ahead.len()) as u64).min(*left) as usize;
        if wanted == 0 || *is_exhausted {
            *is_exhausted |= *left == 0;
            return Ok(());
        }
        let before = ahead.len();
        match is_reversed {
            true => {
                for record in std::iter::from_fn(|| records.next_back()).take(wanted) {
                    ahead.push_back(row_number(&record?.1));
                }
            }
            false => records.visit(|_, value| {
                ahead.push_back(row_number(value));
                if ahead.len() - before == wanted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?,
        }
        *left -= (ahead.len() - before) as u64;
        *is_exhausted = ahead.len() - before < wanted || *left == 0;
        Ok(())
    }

    /// The next rows in the order of the files.
    fn ascending(&self, rows: std::ops::Range<usize>) -> Vec<WantedRow> {
        WantedRow::ascending(self.ahead.range(rows).copied(), 0)
    }

    fn step(&mut self, inner: &Inner, projection: &Projection, shares: &Shares) -> Result<Step> {
        let known_max = rows_within(shares.list);
        if self.is_whole {
            self.look_ahead(known_max)?;
        } else {
            self.look_ahead(self.window_rows.min(known_max))?;
        }
        if self.ahead.is_empty() {
            return Ok(Step::End);
        }
        if let Some((rows, left)) = self.apart.take() {
            let rows = rows.min(self.ahead.len());
            if left > rows {
                self.apart = Some((rows, left - rows));
            }
            return Ok(Step::Window(rows));
        }
        let fitting = self.fitting_rows(inner, projection, shares)?;
        if !self.is_whole
            && let Some(window) = self.window(inner, projection, known_max)?
        {
            return Ok(Step::Window(window.min(fitting)));
        }
        self.look_ahead(known_max)?;
        self.rest_step(inner, projection, fitting)
    }

    /// The rows of the next window; `None` if one reading of all rows that are left is better.
    fn window(&mut self, inner: &Inner, projection: &Projection, known_max: usize) -> Result<Option<usize>> {
        let columns = &projection.columns;
        let window = self.window_rows.min(self.ahead.len());
        let window_us = inner.reading_us(&self.ascending(0..window), columns)?;
        let with_window_us = self.spent_us + window_us;
        loop {
            let known = self.ahead.len();
            let known_us = inner.reading_us(&self.ascending(0..known), columns)?;
            if with_window_us <= WINDOWS_SHARE * known_us {
                self.spent_us = with_window_us;
                return Ok(Some(window));
            }
            if self.is_exhausted || known_us >= NEARLY_ALL_SHARE * self.all_us(inner, columns)? {
                return Ok(None);
            }
            let further = known.saturating_mul(WINDOW_GROWTH);
            let read_us = inner.data.profile().time_us((further as f64 * inner.record_bytes()) as u64);
            // The index says what the rest costs, but it is not read for longer than the rows of a window.
            if read_us + further as f64 * RECORD_US > with_window_us || further > known_max {
                self.spent_us += known_us;
                let is_cheap = self.spent_us <= WINDOWS_SHARE * self.all_us(inner, columns)?;
                return Ok(is_cheap.then_some(known));
            }
            self.look_ahead(further)?;
        }
    }

    /// The time to read all pages of all files, in microseconds.
    fn all_us(&mut self, inner: &Inner, columns: &[usize]) -> Result<f64> {
        if let Some(all_us) = self.all_us {
            return Ok(all_us);
        }
        let all_us = inner.data.price_us(inner.data.all_ranges(columns)?);
        self.all_us = Some(all_us);
        Ok(all_us)
    }

    /// Rows that memory holds, at least one.
    fn fitting_rows(&self, inner: &Inner, projection: &Projection, shares: &Shares) -> Result<usize> {
        Ok(((shares.gathered as f64 / self.row_bytes(inner, projection)?) as usize).max(1))
    }

    /// Memory of a decoded row, as far as it is known.
    fn row_bytes(&self, inner: &Inner, projection: &Projection) -> Result<f64> {
        if self.decoded.1 > 0 {
            return Ok((self.decoded.0 as f64 / self.decoded.1 as f64).max(1.0));
        }
        let Some(&row) = self.ahead.front() else { return Ok(1.0) };
        inner.decoded_row_bytes(row, projection)
    }

    /// One reading of all rows, or, if memory does not hold them and this is cheaper, windows that it holds: those of
    /// keys that follow the order of the files roughly lie apart from each other.
    fn rest_step(&mut self, inner: &Inner, projection: &Projection, fitting: usize) -> Result<Step> {
        let (known, columns) = (self.ahead.len(), &projection.columns);
        if known <= fitting && self.is_exhausted {
            return Ok(Step::Window(known));
        }
        let mut windows_us = 0.0;
        for start in (0..known).step_by(fitting) {
            windows_us += inner.reading_us(&self.ascending(start..known.min(start + fitting)), columns)?;
        }
        let mut one_us = inner.reading_us(&self.ascending(0..known), columns)?;
        if !self.is_exhausted {
            // The rows that are known stand for all.
            one_us = one_us.min(self.all_us(inner, columns)? * known as f64 / inner.table.len() as f64);
        }
        let spilled_us = known as f64 * self.row_bytes(inner, projection)? * SPILLED_US_PER_BYTE;
        if windows_us > one_us + spilled_us {
            return Ok(Step::Rest);
        }
        let rows = fitting.min(known);
        self.apart = Some((rows, known - rows)).filter(|&(_, left)| left > 0);
        Ok(Step::Window(rows))
    }

    /// All rows that are left, in the order of the files.
    fn rest(&mut self, shares: &Shares) -> Result<AscendingRows> {
        let mut list = WantedList::new(shares.list);
        let scratch = self.scratch.clone();
        let scratch = || scratch.storage();
        loop {
            while let Some(row) = self.ahead.pop_front() {
                list.push(row, &scratch)?;
            }
            if self.is_exhausted {
                return list.finish();
            }
            self.look_ahead(RECORDS_AT_ONCE)?;
        }
    }

    /// Reads rows in the order of the files.
    fn read(
        &mut self,
        mut rows: AscendingRows,
        inner: &Inner,
        projection: &Projection,
        shares: &Shares,
        mut trace: Option<&mut Trace>,
    ) -> Result<Ready> {
        let (mut gather, mut spill, mut reading) = (Gather::default(), None, FileReading::new(shares));
        let (scratch, decoded) = (&self.scratch, &mut self.decoded);
        let spilled = |gather: Gather, spill: &mut Option<Spill>| {
            let spill = match spill {
                Some(spill) => spill,
                None => spill.insert(Spill::new(scratch.storage()?, shares.gathered, gather.row_bytes())?),
            };
            spill.add(inner, projection, gather)
        };
        loop {
            let part = rows.next_rows()?;
            if part.is_empty() {
                break;
            }
            inner.read_ascending(&part, projection, &mut reading, trace.as_deref_mut(), &mut |batch, rows| {
                *decoded = (decoded.0 + batch.get_array_memory_size() as u64, decoded.1 + batch.num_rows() as u64);
                gather.add(batch, rows.iter().map(|wanted| wanted.place));
                match gather.bytes() > shares.gathered {
                    true => spilled(std::mem::take(&mut gather), &mut spill),
                    false => Ok(()),
                }
            })?;
        }
        if spill.is_some() && gather.len() > 0 {
            spilled(std::mem::take(&mut gather), &mut spill)?;
        }
        Ok(match spill {
            Some(spill) => Ready::Disk(Box::new(spill.finish()?), Gather::default()),
            None => Ready::Memory(gather),
        })
    }
}
