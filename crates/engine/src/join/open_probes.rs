//! Index nested loops over an index that is open anyway: it is asked for each key of the outer relation.

use super::merge::Sink;
use super::options::{JoinKind, Side};
use super::rows::{RowStream, RowsView};
use super::source::Prober;
use super::task::Task;
use crate::error::Result;

/// Joins the outer relation, in key order, with the one that `prober` looks up in, which is `inner`. `done` is told of every outer chunk how
/// many rows it has.
///
/// # Errors
/// What the relations and the sink report; [`crate::Error::Interrupted`].
pub(super) fn join(
    task: &Task,
    outer: &mut dyn RowStream,
    prober: &mut dyn Prober,
    inner: Side,
    sink: &mut dyn Sink,
    done: &mut dyn FnMut(u64),
) -> Result<()> {
    // Of the last key: whether the index has it.
    let (mut last_key, mut has_last): (Vec<u8>, Option<bool>) = (Vec::new(), None);
    let mut value = Vec::new();
    while outer.advance(None)? {
        task.check()?;
        done(outer.rows().len() as u64);
        for row in 0..outer.rows().len() {
            if outer.rows().is_long(row) {
                outer.long_value(row, &mut value)?;
            }
            let rows = outer.rows();
            let (key, is_repeated) = (rows.key(row), has_last.is_some() && last_key == rows.key(row));
            let outer_value = if rows.is_long(row) { &value } else { rows.value(row) };
            if task.kind.pairs() || inner == Side::Left {
                if inner == Side::Left && task.kind == JoinKind::Semi && is_repeated {
                    // All left rows of the key were given at its first row.
                    continue;
                }
                has_last = Some(pairs(task.kind, key, outer_value, prober, inner, sink)?);
            } else {
                if !is_repeated {
                    has_last = Some(has(key, prober)?);
                }
                alone(task.kind, &rows, row, outer_value, has_last == Some(true), sink)?;
            }
            last_key.clear();
            last_key.extend_from_slice(key);
        }
    }
    Ok(())
}

fn has(key: &[u8], prober: &mut dyn Prober) -> Result<bool> {
    let mut found = false;
    prober.probe(key, &mut |_| {
        found = true;
        Ok(false)
    })?;
    Ok(found)
}

/// Gives the rows of one outer row with all its partners; or it alone, or its partners alone, as the kind says.
fn pairs(
    kind: JoinKind,
    key: &[u8],
    outer_value: &[u8],
    prober: &mut dyn Prober,
    inner: Side,
    sink: &mut dyn Sink,
) -> Result<bool> {
    let mut found = false;
    prober.probe(key, &mut |inner_value| {
        found = true;
        match inner {
            Side::Right => sink.row(key, outer_value, Some(inner_value))?,
            Side::Left if kind == JoinKind::Semi => sink.row(key, inner_value, None)?,
            Side::Left => sink.row(key, inner_value, Some(outer_value))?,
        }
        Ok(true)
    })?;
    if !found && kind == JoinKind::Left {
        sink.row(key, outer_value, None)?;
    }
    Ok(found)
}

/// Gives a row of the outer, left relation alone if the kind wants it.
fn alone(
    kind: JoinKind,
    rows: &RowsView<'_>,
    row: usize,
    value: &[u8],
    has_partner: bool,
    sink: &mut dyn Sink,
) -> Result<()> {
    if has_partner == (kind == JoinKind::Semi) { sink.row(rows.key(row), value, None) } else { Ok(()) }
}
