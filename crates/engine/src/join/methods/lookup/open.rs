//! Probes of an open index or store, which looks up each key in its own files.

use crate::error::Result;
use crate::join::rows::condition::{JoinCondition, JoinPair};
use crate::join::rows::options::{JoinKind, JoinSide};
use crate::join::rows::relation::Prober;
use crate::join::rows::sink::RowSink;
use crate::join::rows::stream::{RowStream, RowsView};
use crate::join::rows::task::Task;
use std::sync::Arc;

/// Joins by one probe per outer row. Calls `done` with the number of rows of each outer chunk.
///
/// # Errors
/// Errors of the relations and the sink; [`crate::Cause::Interrupted`].
pub(super) fn probe_open(
    (task, condition): (&Arc<Task>, Option<&JoinCondition>),
    outer: &mut dyn RowStream,
    prober: &mut dyn Prober,
    inner_side: JoinSide,
    sink: &mut dyn RowSink,
    done: &mut dyn FnMut(u64),
) -> Result<()> {
    let kind = task.kind;
    // Emit inner rows, each once.
    let gives_inner = kind == JoinKind::Semi && inner_side == JoinSide::Left;
    let mut value = Vec::new();
    let mut last_key = None;
    while outer.advance(None)? {
        task.check()?;
        let count = outer.rows().len();
        done(count as u64);
        for row in 0..count {
            let key = outer.rows().key(row);
            let has_null = task.has_null(key);
            if gives_inner {
                if !has_null && last_key.as_deref() != Some(key) {
                    prober.probe(key, &mut |inner| sink.row(key, Some(inner), None).map(|()| true))?;
                    last_key = Some(key.to_vec());
                }
                continue;
            }
            load_value(outer, row, &mut value)?;
            let key = outer.rows().key(row);
            let mut is_found = false;
            let mut meet = |inner: &[u8]| -> Result<bool> {
                let (left, right) =
                    if inner_side == JoinSide::Right { (&value[..], inner) } else { (inner, &value[..]) };
                if let Some(condition) = condition
                    && !condition(JoinPair { key, left, right })?
                {
                    return Ok(true);
                }
                is_found = true;
                if kind.pairs() {
                    sink.row(key, Some(left), Some(right))?;
                }
                Ok(kind.pairs())
            };
            if !has_null {
                prober.probe(key, &mut meet)?;
            }
            if (kind == JoinKind::Semi && is_found) || (kind.keeps_unmatched() && !is_found) {
                sink.row(key, Some(&value), None)?;
            }
        }
    }
    Ok(())
}

fn load_value(outer: &mut dyn RowStream, row: usize, value: &mut Vec<u8>) -> Result<()> {
    let rows: RowsView<'_> = outer.rows();
    if rows.is_long(row) {
        return outer.long_value(row, value);
    }
    value.clear();
    value.extend_from_slice(rows.value(row));
    Ok(())
}
