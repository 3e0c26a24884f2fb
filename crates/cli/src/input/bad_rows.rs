//! Rows that cannot be read: with `--skip-bad-rows` they are left out, and written to a file.

use super::InputError;
use crate::output::note;
use crate::reading::standard_input::shown;
use crate::values::size::counted;
use ogive_text::Separated;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The file of rows that are left out: CSV with the line of each row, the reason, and the row as it was written. It is
/// created for the first of them.
#[derive(Debug)]
pub(crate) struct BadRows {
    path: PathBuf,
    state: Mutex<BadRowsState>,
}

#[derive(Debug, Default)]
struct BadRowsState {
    file: Option<BufWriter<File>>,
    rows: u64,
    /// Whether the file is that of an earlier attempt at the same input.
    is_own: bool,
}

impl BadRows {
    /// The rows that will be written to a file.
    pub(crate) fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), state: Mutex::default() }
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The number of rows that were left out.
    pub(crate) fn count(&self) -> u64 {
        self.state().rows
    }

    /// Begins anew: the input is read again from its start.
    pub(super) fn restart(&self) {
        let mut state = self.state();
        if state.file.take().is_some() || state.rows > 0 {
            state.rows = 0;
            // The next row, if there is any, replaces what is left.
            _ = std::fs::remove_file(&self.path);
        }
    }

    /// Writes a row that cannot be read, and where it begins.
    ///
    /// # Errors
    /// Those of the file.
    pub(super) fn leave_out(&self, line: u64, row: &[u8], error: &InputError) -> Result<(), InputError> {
        let mut written = Vec::new();
        let mut fields = Separated::CSV.row(&mut written);
        fields.field(Some(line.to_string().as_bytes()));
        fields.field(Some(error.to_string().as_bytes()));
        fields.field(Some(row));
        fields.end();
        let mut state = self.state();
        let written = state.file(&self.path).and_then(|file| file.write_all(&written));
        state.rows += 1;
        written.map_err(|source| self.refused(source))
    }

    /// Completes the file, and tells how many rows of the input at `path` were left out, beside `good` ones.
    ///
    /// # Errors
    /// Those of the file; [`InputError::NoGoodRow`] if all were.
    pub(super) fn finish(&self, path: &Path, good: u64) -> Result<(), InputError> {
        let mut state = self.state();
        let flushed = state.file.as_mut().map_or(Ok(()), BufWriter::flush);
        flushed.map_err(|source| self.refused(source))?;
        if state.rows > 0 && good == 0 {
            return Err(InputError::NoGoodRow { path: path.to_owned(), rows: state.rows, bad_rows: self.path.clone() });
        }
        if state.rows > 0 {
            let rows = counted(state.rows, "row");
            note(format_args!("note: {rows} of {} left out; see {}", shown(path), self.path.display()));
        }
        Ok(())
    }

    fn refused(&self, source: io::Error) -> InputError {
        InputError::BadRows { path: self.path.clone(), source }
    }

    /// A panic of another thread leaves what it has counted.
    fn state(&self) -> MutexGuard<'_, BadRowsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BadRowsState {
    fn file(&mut self, path: &Path) -> io::Result<&mut BufWriter<File>> {
        if self.file.is_none() {
            let mut options = OpenOptions::new();
            options.write(true);
            // A file that was there is never replaced.
            let file = if self.is_own { options.create(true).truncate(true) } else { options.create_new(true) };
            let mut file = BufWriter::new(file.open(path)?);
            self.is_own = true;
            file.write_all(b"line,reason,row\n")?;
            self.file = Some(file);
        }
        self.file.as_mut().ok_or_else(|| io::Error::other("no file is open"))
    }
}
