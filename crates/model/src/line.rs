//! The line node: an approximate node of a line through the keys and a measured error window.

use crate::bytes::{NO_CHILD, put_child, read_child, read_u64, upper_bound};
use crate::{Fence, FenceRun};
use std::ops::RangeInclusive;

/// Largest number of children in a window.
pub const WINDOW_CHILDREN_MAX: u64 = 1 << 12;

/// Stored size of a node: start (8 bytes), first child (5), slope (4), window (1), drop (2); all little-endian.
///
/// The window byte encodes 1 to 64 exactly, less 1, and then 32 values for each doubling: any other window is stored as
/// the next longer one, longer by at most 1/32.
pub const NODE_BYTES: usize = 20;

/// A line from keys to the lowest child that may hold them, with a number of further children that may.
///
/// ```text
///   child
///     9 |                   .--'      lowest(x) = first_child + floor(offset + slope * (x - start))
///     8 |             .--'            window(x) = `window` children from there on,
///     7 |       .--'                  within the children of the node
///     6 | .--'
///       +------------------------ x
///        start
/// ```
///
/// The line is computed in f64 after an integer subtraction. Conversion, product and sum are single IEEE operations,
/// each of them monotone, so every machine computes the same child, and a window that holds at both ends of a range of
/// keys holds between them. A node is measured with this very arithmetic on the stored parameters.
///
/// The offset is free, not bound to the first child: a line through the node's first point would need up to twice the
/// window. Offsets down to 16 windows below the first child can be stored (needed for a wide gap before close
/// neighbours), in steps of at most 1/2,048 of the window.
///
/// The window of a lookup never begins right of the last child before the next node. So the gap there puts no
/// constraint on the line: a run of close keys and the jump after it form one node.
///
/// Source: AirIndex, Section 4.1 (band nodes); here over children instead of bytes, so that any prediction within the
/// right child is exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineNode {
    /// Smallest key of the node; the first node also covers all keys before it.
    pub start: u64,
    /// Number of the first child that the node leads to.
    pub first_child: u64,
    /// Children per unit of key; finite and not negative.
    pub slope: f32,
    /// Number of children in the window, 1 to [`MAX_WINDOW`], before it is clipped to the children of the node; one of
    /// the storable lengths.
    pub window: u16,
    /// Distance of the line below 1 at the start, less one step, in steps of `window.next_power_of_two() / 4096`.
    pub drop: u16,
}

impl LineNode {
    /// Height of the line above `first_child` at the start of the node: less than 1, and at least -32 windows.
    pub fn offset(&self) -> f64 {
        1.0 - offset_step(u64::from(self.window)) * (f64::from(self.drop) + 1.0)
    }

    /// The children that may hold key `x` (a key before the start counts as the start), within
    /// `first_child..=last_child`, where `last_child` is the first child of the next node (keys in the gap between two
    /// nodes belong to the former, which reaches both sides), or the last child overall. At most `window` children, or
    /// 2 right before `last_child`.
    pub fn window(&self, x: u64, last_child: u64) -> RangeInclusive<u64> {
        let last_child = last_child.max(self.first_child);
        let lifted = lifted_child(self.slope, self.offset() + LIFT, x.saturating_sub(self.start)).max(0) as u64;
        let lowest = self.first_child.saturating_add(lifted);
        let highest = lowest.saturating_add(u64::from(self.window).saturating_sub(1));
        let cut = |child: u64, last: u64| child.saturating_sub(LIFT as u64).clamp(self.first_child, last);
        cut(lowest, last_child.saturating_sub(1).max(self.first_child))..=cut(highest, last_child)
    }

    /// Whether the window holds, for every key from the node's start up to the next node's, all children that may hold
    /// the key. Builders guarantee this; for checks by readers of stored nodes.
    ///
    /// `fences` are those right of `first_child`, up to and including the one before the next node's first child;
    /// `next_start` is that node's start, `None` for the last node.
    pub fn holds(&self, fences: &[Fence], next_start: Option<u64>) -> bool {
        let span = Span { start: self.start, fences, next_start };
        match measure(&span, self.slope, self.offset(), WINDOW_CHILDREN_MAX) {
            Ok(need) => need.below <= 0 && need.above < i64::from(self.window),
            Err(_) => false,
        }
    }
}

/// The range of children that a node covers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span<'a> {
    pub(crate) start: u64,
    /// As in [`LineNode::holds`].
    pub(crate) fences: &'a [Fence],
    pub(crate) next_start: Option<u64>,
}

impl Span<'_> {
    /// The fences, from the first on, whose right sides this node must lead to.
    pub(crate) fn fences_with_right(&self) -> usize {
        self.fences.iter().rposition(|fence| self.needs_right(fence)).map_or(0, |last| last + 1)
    }

    /// Whether this node must lead to the right side of a fence: not if only the next node's keys lie there, or no key
    /// does.
    #[inline]
    pub(crate) fn needs_right(&self, fence: &Fence) -> bool {
        match self.next_start {
            Some(next) => fence.first_right() < next,
            None => fence.low < u64::MAX,
        }
    }
}

/// The number of children by which the floor of a line lies above the lowest child needed (`below`), and below the
/// highest (`above`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowNeed {
    pub(crate) below: i64,
    pub(crate) above: i64,
}

/// Number of windows below the first child at which an offset may begin.
pub(crate) const OFFSET_WINDOWS: u64 = 16;

/// Number of storable offsets for a window.
const OFFSETS: u64 = 1 << 16;

/// Added before the floor so that a truncating cast is a floor for every storable offset.
const LIFT: f64 = OFFSETS as f64;

/// The line at `distance` from the start, plus [`LIFT`], rounded down. Saturates at 2^61; never NaN for a finite slope.
#[inline]
fn lifted_child(slope: f32, lifted_offset: f64, distance: u64) -> i64 {
    ((f64::from(slope) * (distance as f64) + lifted_offset) as i64).min(1 << 61)
}

/// Largest distance of an offset below 1 for a window.
pub(crate) fn offset_range(window: u64) -> u64 {
    window.next_power_of_two() * OFFSET_WINDOWS
}

/// Distance between two storable offsets for a window; a power of two, at most 1.
pub(crate) fn offset_step(window: u64) -> f64 {
    offset_range(window) as f64 / OFFSETS as f64
}

/// The smallest window with which `offset` can be stored.
fn window_for_offset(offset: f64) -> u64 {
    let range = ((1.0 - offset).ceil().clamp(1.0, OFFSETS as f64) as u64).next_power_of_two();
    (range / OFFSET_WINDOWS).max(1) / 2 + 1
}

/// The shortest storable window of at least `window` children.
pub(crate) fn storable_window(window: u64) -> u64 {
    window.next_multiple_of(window_grain(window))
}

/// Distance between storable windows, from the last one below `window` on.
fn window_grain(window: u64) -> u64 {
    (window.max(1).next_power_of_two() / 64).max(1)
}

/// The stored form of a window: its index among the storable ones.
fn window_code(window: u16) -> u8 {
    let window = u64::from(window).clamp(1, WINDOW_CHILDREN_MAX);
    let grain = window_grain(window);
    (window.div_ceil(grain) + 32 * u64::from(grain.ilog2()) - 1) as u8
}

fn window_of_code(code: u8) -> u16 {
    let number = u16::from(code) + 1;
    let grain_bits = number.saturating_sub(33) / 32;
    (number - 32 * grain_bits) << grain_bits
}

/// Measures, with the arithmetic of lookups, the position of the line relative to the needed children, or returns the
/// index of the first fence at which more than `max_window` children would be needed.
pub(crate) fn measure(span: &Span<'_>, slope: f32, offset: f64, max_window: u64) -> Result<WindowNeed, usize> {
    let lifted = offset + LIFT;
    let child_at = |x: u64| lifted_child(slope, lifted, x.saturating_sub(span.start));
    let limit = max_window as i64;
    let fences_with_right = span.fences_with_right();
    let (mut below, mut above) = (UNKNOWN, UNKNOWN);
    for (k, fence) in span.fences.iter().enumerate() {
        let left = k as i64 + LIFT as i64;
        // The window never begins right of the last child.
        if k + 1 < span.fences.len() {
            below = below.max(child_at(fence.last_left()).saturating_sub(left));
        }
        if k < fences_with_right {
            above = above.max(left + 1 - child_at(fence.first_right()));
        }
        if below + above >= limit {
            return Err(k);
        }
    }
    let below = if below == UNKNOWN { 0 } else { below };
    Ok(WindowNeed { below, above: above.max(-below) })
}

/// Less than any need, and far from overflow when two are added.
const UNKNOWN: i64 = i64::MIN / 4;

/// Converts a line to a node for `span`: rounds the offset to a storable one, measures the window, and moves the line
/// by whole children so that the window begins at its floor. `Err` holds the number of fences for which the line fits.
pub(crate) fn fit(
    span: &Span<'_>,
    first_child: u64,
    slope: f32,
    mut offset: f64,
    window_hint: u64,
    max_window: u64,
) -> Result<LineNode, usize> {
    let mut hint = window_hint.clamp(1, WINDOW_CHILDREN_MAX);
    let max_window = max_window.clamp(1, WINDOW_CHILDREN_MAX);
    if !slope.is_finite() {
        return Err(0);
    }
    for _ in 0..4 {
        let step = offset_step(hint);
        let steps = ((1.0 - offset) / step).round().clamp(1.0, OFFSETS as f64);
        let stored = 1.0 - step * steps;
        let need = measure(span, slope, stored, max_window)?;
        let window = u64::try_from(need.below + need.above + 1).unwrap_or(1).max(1);
        if need.below != 0 {
            // The grid contains every whole number within its range, so only the range can be exceeded.
            offset = stored - need.below as f64;
            hint = hint.max(window).max(window_for_offset(offset));
            if hint > WINDOW_CHILDREN_MAX {
                return Err(0);
            }
            continue;
        }
        let window = storable_window(window.max(window_for_offset(stored)));
        if window > max_window {
            return Err(0);
        }
        if window.next_power_of_two() > hint.next_power_of_two() {
            hint = window;
            continue;
        }
        let drop = (1.0 - stored) / offset_step(window) - 1.0;
        return Ok(LineNode { start: span.start, first_child, slope, window: window as u16, drop: drop as u16 });
    }
    Err(0)
}

/// Appends the nodes in their stored form, [`NODE_BYTES`] each.
///
/// A child number that does not fit 40 bits is stored as one that [`search`] rejects.
pub fn encode(nodes: &[LineNode], bytes: &mut Vec<u8>) {
    bytes.reserve(nodes.len() * NODE_BYTES);
    for node in nodes {
        bytes.extend_from_slice(&node.start.to_le_bytes());
        put_child(bytes, node.first_child);
        bytes.extend_from_slice(&node.slope.to_le_bytes());
        bytes.push(window_code(node.window));
        bytes.extend_from_slice(&node.drop.to_le_bytes());
    }
}

/// Decodes the nodes of a stored page; `None` for malformed bytes.
pub fn decode(payload: &[u8], count: usize) -> Option<Vec<LineNode>> {
    let records = payload.get(..count.checked_mul(NODE_BYTES)?)?;
    let nodes: Vec<LineNode> = records.chunks_exact(NODE_BYTES).map(read_node).collect::<Option<_>>()?;
    let rises = |pair: &[LineNode]| pair[0].start < pair[1].start && pair[0].first_child < pair[1].first_child;
    nodes.windows(2).all(rises).then_some(nodes)
}

/// Finds the node of key `x` among `count` stored nodes, without decoding the others: the node, and the first child of
/// the next node in this payload.
///
/// A key before the first node finds that one. `None` if the bytes are malformed or hold no node.
pub fn search(payload: &[u8], count: usize, x: u64) -> Option<(LineNode, Option<u64>)> {
    let records = payload.get(..count.checked_mul(NODE_BYTES)?)?;
    let index = upper_bound(records, NODE_BYTES, x).saturating_sub(1);
    let node = read_node(records.get(index * NODE_BYTES..)?)?;
    let Some(rest) = records.get((index + 1) * NODE_BYTES..).filter(|rest| !rest.is_empty()) else {
        return Some((node, None));
    };
    let next = read_node(rest)?;
    (next.first_child > node.first_child).then_some((node, Some(next.first_child)))
}

fn read_node(record: &[u8]) -> Option<LineNode> {
    let start = read_u64(record, 0)?;
    let first_child = read_child(record, 8)?;
    let slope = f32::from_le_bytes(record.get(13..17)?.try_into().ok()?);
    let &[window, low, high] = record.get(17..NODE_BYTES)? else { return None };
    let sound = first_child != NO_CHILD && slope.is_finite() && slope.is_sign_positive();
    let (window, drop) = (window_of_code(window), u16::from_le_bytes([low, high]));
    sound.then_some(LineNode { start, first_child, slope, window, drop })
}

/// Expected windows under the assumption that lookups are spread evenly over the children of each node and that
/// predictions are spread evenly around them: calls `visit` with a number of children read, and the number of children
/// whose lookups read that many. The window is full except near the ends of a node, where it is clipped, so a node
/// costs O(window) steps.
///
/// `last_child` is the last child overall (or, for a part, the first child of the next part). [`measured_windows`] is
/// exact, at the cost of a pass over the fences.
pub fn expected_windows(nodes: &[LineNode], last_child: u64, mut visit: impl FnMut(u64, f64)) {
    for (i, node) in nodes.iter().enumerate() {
        let next = nodes.get(i + 1);
        let last = next.map_or(last_child, |next| next.first_child).saturating_sub(node.first_child);
        let children = if next.is_some() { last } else { last + 1 };
        let window = u64::from(node.window);
        // For half of the predictions an even window lies one child lower than for the other half.
        let (down, up) = (window / 2, (window - 1) / 2);
        let size = |child: u64, down: u64| {
            (child + (window - 1 - down)).min(last) - child.saturating_sub(down).min(last.saturating_sub(1)) + 1
        };
        let edge = window.min(children);
        let full_end = (last + 1).saturating_sub(window).max(edge);
        for child in (0..edge).chain(full_end..children) {
            visit(size(child, down), 0.5);
            visit(size(child, up), 0.5);
        }
        if full_end > edge {
            visit(window, (full_end - edge) as f64);
        }
    }
}

/// The measured windows of lookups for the first and last key of each child: calls `visit(child, children read at its
/// first key, and at its last)` for each child of the run.
///
/// The windows of the child's other keys begin and end between those two.
pub fn measured_windows(nodes: &[LineNode], run: &FenceRun<'_>, mut visit: impl FnMut(u64, u64, u64)) {
    let end = run.first_child + run.fences.len() as u64;
    for (i, node) in nodes.iter().enumerate() {
        let next = nodes.get(i + 1).map(|next| next.first_child);
        let last_child = next.unwrap_or(end);
        let own_end = next.unwrap_or(run.first_child + run.children());
        let mut first = node.start;
        for child in node.first_child..own_end {
            let fence = usize::try_from(child - run.first_child).ok().and_then(|k| run.fences.get(k));
            let last = fence.map_or(first, |fence| fence.low.max(first));
            let size = |x: u64| {
                let window = node.window(x, last_child);
                window.end() - window.start() + 1
            };
            visit(child, size(first), size(last));
            first = fence.map_or(first, |fence| fence.high.max(node.start));
        }
    }
}
