//! The hint: a line through the keys with a window that was measured.

use crate::bytes::{NO_CHILD, put_child, read_child, read_u64, upper_bound};
use crate::{Fence, FenceRun};
use std::ops::RangeInclusive;

/// Most children in a window, and the number of steps of a line's offset (12 bits each in the stored form).
pub const MAX_WINDOW: u64 = 1 << 12;

/// Stored size of a node: start (8 bytes), first child (5), slope (4), then in 3 bytes window - 1 (12 bits) and drop
/// (12 bits); all little-endian.
pub const NODE_BYTES: usize = 20;

/// A line from coordinates to the lowest child that may hold them, and how many children from there on may.
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
/// The line is computed in f64 after the subtraction in integers; conversion, product and sum are single IEEE operations
/// and each of them is monotone, so every machine computes the same child, and a window that holds at both ends of a
/// stretch of coordinates holds between them. A node is measured with this very arithmetic on the parameters as stored.
///
/// The offset is free, not bound to the first child: a line that must pass through its node's first point would need up to
/// twice the window. Offsets below `1 - window` are useless (the window would lie below the first child), so 12 bits
/// spread over that range lose at most one 2,048th of the window.
///
/// Source: AirIndex, Section 4.1 (band nodes); here over children rather than bytes, so that any prediction within the
/// right child is exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineNode {
    /// Smallest coordinate of the node.
    pub start: u64,
    /// Number of the first child that the node leads to.
    pub first_child: u64,
    /// Children for each unit of coordinate; finite and not negative.
    pub slope: f32,
    /// Children in the window, 1 to [`MAX_WINDOW`], before it is cut to the children of the node.
    pub window: u16,
    /// How far the line lies below 1 at the start, in steps of `window.next_power_of_two() / 4096` less one step; below
    /// [`MAX_WINDOW`].
    pub drop: u16,
}

impl LineNode {
    /// Height of the line above `first_child` at the start of the node: more than `-2 * window`, less than 1.
    pub fn offset(&self) -> f64 {
        1.0 - offset_step(u64::from(self.window)) * (f64::from(self.drop) + 1.0)
    }

    /// The children that may hold coordinate `x >= start`, within `first_child..=last_child`, where `last_child` is the
    /// first child of the next node (keys of the gap between two nodes belong to the former, which must reach both
    /// sides), or the last child of the row.
    pub fn window(&self, x: u64, last_child: u64) -> RangeInclusive<u64> {
        let last_child = last_child.max(self.first_child);
        let lifted = lifted_child(self.slope, self.offset() + LIFT, x.saturating_sub(self.start)).max(0) as u64;
        let lowest = self.first_child.saturating_add(lifted);
        let highest = lowest.saturating_add(u64::from(self.window).saturating_sub(1));
        let cut = |child: u64| child.saturating_sub(LIFT as u64).clamp(self.first_child, last_child);
        cut(lowest)..=cut(highest)
    }

    /// Whether the window holds, for every coordinate from the node's start up to the next node's, all children that the
    /// coordinate may lie in: what the builders promise, as a check for readers of stored nodes.
    ///
    /// `fences` are those right of `first_child` up to and with the one before the next node's first child;
    /// `next_start` is that node's start, `None` at the end of the row.
    pub fn holds(&self, fences: &[Fence], next_start: Option<u64>) -> bool {
        let span = Span { start: self.start, fences, next_start };
        match measure(&span, self.slope, self.offset(), MAX_WINDOW) {
            Ok(need) => need.below <= 0 && need.above < i64::from(self.window),
            Err(_) => false,
        }
    }
}

/// The stretch of a row that one node answers for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span<'a> {
    pub(crate) start: u64,
    /// As in [`LineNode::holds`].
    pub(crate) fences: &'a [Fence],
    pub(crate) next_start: Option<u64>,
}

impl Span<'_> {
    /// Whether this node must lead to the right side of a fence: not if only the next node's coordinates lie there, or if
    /// no coordinate does.
    #[inline]
    pub(crate) fn needs_right(&self, fence: &Fence) -> bool {
        match self.next_start {
            Some(next) => fence.first_right() < next,
            None => fence.low < u64::MAX,
        }
    }
}

/// By how many children the floor of a line lies above (`below`) the lowest child needed, and below (`above`) the highest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    pub(crate) below: i64,
    pub(crate) above: i64,
}

/// Added before the floor so that a cast, which truncates, is a floor for every offset that can be stored.
const LIFT: f64 = MAX_WINDOW as f64;

/// The line at `distance` from the start, plus [`LIFT`], rounded down. Saturates; never NaN for a finite slope.
#[inline]
fn lifted_child(slope: f32, lifted_offset: f64, distance: u64) -> i64 {
    (f64::from(slope) * (distance as f64) + lifted_offset) as i64
}

/// Distance between two offsets that can be stored with a window.
pub(crate) fn offset_step(window: u64) -> f64 {
    window.next_power_of_two() as f64 / MAX_WINDOW as f64
}

/// Measures, with the arithmetic of the look-up, where the line lies against the children that are needed, or returns the
/// index of the first fence at which more than `max_window` children would be.
pub(crate) fn measure(span: &Span<'_>, slope: f32, offset: f64, max_window: u64) -> Result<Need, usize> {
    let lifted = offset + LIFT;
    let limit = max_window as i64;
    let (mut below, mut above) = (i64::MIN / 4, i64::MIN / 4);
    for (k, fence) in span.fences.iter().enumerate() {
        let left = (k as i64).wrapping_add(LIFT as i64);
        let at_left = lifted_child(slope, lifted, fence.last_left().saturating_sub(span.start));
        below = below.max(at_left.saturating_sub(left));
        if span.needs_right(fence) {
            let at_right = lifted_child(slope, lifted, fence.first_right().saturating_sub(span.start));
            above = above.max(left + 1 - at_right);
        }
        if below.saturating_add(above) >= limit {
            return Err(k);
        }
    }
    Ok(if span.fences.is_empty() { Need { below: 0, above: 0 } } else { Need { below, above: above.max(-below) } })
}

/// Turns a line into a node for `span`: rounds the offset to what can be stored, measures the window, and moves the line by
/// whole children so that the window begins at its floor. `Err` holds the number of fences for which it did well.
pub(crate) fn fit(
    span: &Span<'_>,
    first_child: u64,
    slope: f32,
    mut offset: f64,
    window_hint: u64,
    max_window: u64,
) -> Result<LineNode, usize> {
    let mut hint = window_hint.clamp(1, MAX_WINDOW);
    let max_window = max_window.clamp(1, MAX_WINDOW);
    if !slope.is_finite() {
        return Err(0);
    }
    for _ in 0..4 {
        let step = offset_step(hint);
        let steps = ((1.0 - offset) / step).round().clamp(1.0, MAX_WINDOW as f64);
        let stored = 1.0 - step * steps;
        let need = measure(span, slope, stored, max_window)?;
        let window = u64::try_from(need.below + need.above + 1).unwrap_or(1).max(1);
        if need.below != 0 {
            // The grid holds every whole number within its range, so only the range can be in the way.
            offset = stored - need.below as f64;
            hint = hint.max(window).max(window_for_offset(offset));
            if hint > MAX_WINDOW {
                return Err(0);
            }
            continue;
        }
        let window = window.max(window_for_offset(stored));
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

/// The smallest window with which `offset` can be stored.
fn window_for_offset(offset: f64) -> u64 {
    ((1.0 - offset).ceil().max(1.0) as u64).next_power_of_two() / 2 + 1
}

/// Appends the nodes in their stored form, [`NODE_BYTES`] each.
///
/// A child number that does not fit into 40 bits is stored as one that [`search`] refuses.
pub fn encode(nodes: &[LineNode], bytes: &mut Vec<u8>) {
    bytes.reserve(nodes.len() * NODE_BYTES);
    for node in nodes {
        bytes.extend_from_slice(&node.start.to_le_bytes());
        put_child(bytes, node.first_child);
        bytes.extend_from_slice(&node.slope.to_le_bytes());
        let packed = (u32::from(node.window.saturating_sub(1)) & 0xfff) | (u32::from(node.drop) & 0xfff) << 12;
        bytes.extend_from_slice(&packed.to_le_bytes()[..3]);
    }
}

/// The nodes of a stored unit; `None` for malformed bytes.
pub fn decode(payload: &[u8], count: usize) -> Option<Vec<LineNode>> {
    let records = payload.get(..count.checked_mul(NODE_BYTES)?)?;
    let nodes: Vec<LineNode> = records.chunks_exact(NODE_BYTES).map(read_node).collect::<Option<_>>()?;
    let rises = |pair: &[LineNode]| pair[0].start < pair[1].start && pair[0].first_child < pair[1].first_child;
    nodes.windows(2).all(rises).then_some(nodes)
}

/// Finds the node of coordinate `x` among `count` stored nodes, without decoding the others: the node, and the first child
/// of the next node in this payload.
///
/// `None` where the bytes are malformed or `x` lies before the first node.
pub fn search(payload: &[u8], count: usize, x: u64) -> Option<(LineNode, Option<u64>)> {
    let records = payload.get(..count.checked_mul(NODE_BYTES)?)?;
    let index = upper_bound(records, NODE_BYTES, x).checked_sub(1)?;
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
    let &[a, b, c] = record.get(17..20)? else { return None };
    let packed = u32::from_le_bytes([a, b, c, 0]);
    let sound = first_child != NO_CHILD && slope.is_finite() && slope.is_sign_positive();
    let (window, drop) = ((packed & 0xfff) as u16 + 1, (packed >> 12) as u16);
    sound.then_some(LineNode { start, first_child, slope, window, drop })
}

/// Expected windows under the assumption that look-ups spread evenly over the children of each node and that predictions
/// lie evenly around them: calls `visit` with a number of children read and with how many children's look-ups read that
/// many. The window is full except near the ends of a node, where it is cut; so a node costs O(window) steps.
///
/// `last_child` is the last child of the row (or, for a part of one, the first child of the next part).
/// [`measured_windows`] says it exactly, at the cost of a pass over the fences.
pub fn expected_windows(nodes: &[LineNode], last_child: u64, mut visit: impl FnMut(u64, f64)) {
    for (i, node) in nodes.iter().enumerate() {
        let next = nodes.get(i + 1);
        let last = next.map_or(last_child, |next| next.first_child).saturating_sub(node.first_child);
        let children = if next.is_some() { last } else { last + 1 };
        let window = u64::from(node.window);
        // An even window lies half of the time one lower than the other half.
        let (down, up) = (window / 2, (window - 1) / 2);
        let size =
            |child: u64, down: u64| (child + (window - 1 - down)).min(last) - child.saturating_sub(down).min(last) + 1;
        let edge = window.min(children);
        let full_end = (children + 1).saturating_sub(window).max(edge);
        for child in (0..edge).chain(full_end..children) {
            visit(size(child, down), 0.5);
            visit(size(child, up), 0.5);
        }
        if full_end > edge {
            visit(window, (full_end - edge) as f64);
        }
    }
}

/// The windows that look-ups for the first and for the last coordinate of each child read, measured: calls
/// `visit(child, children read at its first coordinate, and at its last)` for each child that the run owns.
///
/// The window of a child's other coordinates begins and ends between those two.
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
