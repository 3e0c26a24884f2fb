//! A join whose rows become a Parquet file.

use super::shape::RowShape;
use crate::export::{RecordFormat, RecordSource, RecordVisitor, write_file};
use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::replace::OutputFile;
use ogive::Error;
use ogive::join::{JoinOptions, JoinReport, JoinRows, JoinSource, join_rows};
use ogive::types::RecordType;
use std::cell::RefCell;

/// The rows of a join as records.
struct JoinedRows {
    rows: RefCell<JoinRows>,
    shape: RefCell<RowShape>,
}

impl RecordSource for JoinedRows {
    fn record_type(&self) -> RecordType {
        self.shape.borrow().record_type().clone()
    }

    fn visit(&self, visit: &mut RecordVisitor<'_>) -> Result<()> {
        for row in &mut *self.rows.borrow_mut() {
            let row = row?;
            let mut shape = self.shape.borrow_mut();
            visit(&row.key, shape.value(&row.key, [row.left.as_deref(), row.right.as_deref()])?)?;
        }
        Ok(())
    }
}

/// Joins two relations into a Parquet file.
///
/// # Errors
/// Those of the join and of the file.
pub(super) fn write(
    left: &JoinSource,
    right: &JoinSource,
    options: &JoinOptions,
    shape: RowShape,
    place: &OutputFile,
    interrupt: &Interrupt,
) -> Result<JoinReport> {
    let source = JoinedRows { rows: RefCell::new(join_rows(left, right, options)?), shape: RefCell::new(shape) };
    write_file(&source, RecordFormat::Parquet, place, interrupt)?;
    let report = source.rows.borrow().report();
    Ok(report.ok_or(Error::interrupted())?)
}
