//! What one core needs for each row, probe and byte, in nanoseconds.
//!
//! Measured with release builds on one core of about 2.5 GHz, as `join_rates` in the tests of this module prints them. What counts are the
//! ratios: they decide between methods, and they move little from machine to machine.

/// Checking and decoding a byte of a table.
pub(super) const TABLE_BYTE_NS: f64 = 0.15;
/// Stepping over a row in the kernel, where each row of both sides is compared.
pub(super) const MERGE_ROW_NS: f64 = 3.0;
/// Stepping over a row of the larger side where keys of the other are so sparse that the kernel gallops.
pub(super) const GALLOP_ROW_NS: f64 = 0.6;
/// From this many rows of the larger side for each of the smaller on, the kernel gallops.
pub(super) const GALLOP_FROM: f64 = 8.0;
/// Finding the block of a key by a cursor over separators, for each row of the outer relation.
pub(super) const LOCATE_ROW_NS: f64 = 4.0;
/// Issuing a request, whatever its size.
pub(super) const REQUEST_NS: f64 = 1_500.0;
/// Making a row of the output.
pub(super) const EMIT_ROW_NS: f64 = 4.0;
/// Writing a byte of the output.
pub(super) const EMIT_BYTE_NS: f64 = 0.5;
/// Hashing a row into a table that the cache of a core holds, and into one that it does not.
pub(super) const HASH_ROW_NS: [f64; 2] = [15.0, 60.0];
/// Asking for a row in such a table.
pub(super) const HASH_PROBE_NS: [f64; 2] = [12.0, 45.0];
/// What the cache of a core holds, in bytes.
pub(super) const CORE_CACHE_BYTES: f64 = 1_048_576.0;
/// Sorting: for each row and each doubling of their number.
pub(super) const SORT_STEP_NS: f64 = 4.0;
/// Copying a row into a buffer to be sorted, or out of it.
pub(super) const COPY_ROW_NS: f64 = 6.0;
/// Merging a row out of sorted runs.
pub(super) const RUN_ROW_NS: f64 = 35.0;
/// Predicting the partition of a row and putting it there.
pub(super) const PARTITION_ROW_NS: f64 = 15.0;
/// Inserting a row into a B-tree, in arrival order, where all of it is in memory.
pub(super) const BTREE_INSERT_NS: f64 = 900.0;
/// Looking a row up in that B-tree by a cursor.
pub(super) const BTREE_PROBE_NS: f64 = 250.0;
/// Building a separator of an index, for each block, once its keys are known.
pub(super) const SEPARATOR_NS: f64 = 60.0;
/// Decoding a separator of an index that a table carries, for each block.
pub(super) const CARRIED_SEPARATOR_NS: f64 = 12.0;
/// Probing an open index, for each row of the outer relation.
pub(super) const OPEN_PROBE_NS: f64 = 900.0;
/// One step of a binary search in a window.
pub(super) const BISECT_STEP_NS: f64 = 6.0;
/// A descent of a B-tree from its root, and a step of a cursor that stands near by.
pub(super) const DESCENT_NS: f64 = 90.0;
pub(super) const CURSOR_NS: f64 = 15.0;
/// The model of a key by a leaf iterator over lines, by a radix spline, by a recursive model index.
pub(super) const LINE_NS: f64 = 15.0;
pub(super) const SPLINE_NS: f64 = 40.0;
pub(super) const RMI_NS: f64 = 40.0;
/// Fitting lines, for each block.
pub(super) const LINE_BUILD_NS: f64 = 100.0;
/// The window of a PGM-index over every 128th key: twice its error of 1, and the sample's own stretch.
pub(super) const SAMPLED_WINDOW_ROWS: f64 = 384.0;
/// The window of a radix spline of error 256, which stands for that of a recursive model index as well.
pub(super) const SPLINE_WINDOW_ROWS: f64 = 512.0;
/// A page of an open index.
pub(super) const PAGE_BYTES: f64 = 4096.0;
/// What of the memory a method may hold as a whole; the rest is for buffers.
pub(super) const HELD_SHARE: f64 = 0.5;
