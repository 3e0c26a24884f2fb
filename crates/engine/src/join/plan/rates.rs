//! Processor rates: nanoseconds of one core per row, probe and byte.
//!
//! Estimates for a core of a server of about 2023. The long test `rates_of_methods_are_shown` prints predicted and
//! measured times side by side. Only the ratios matter: they decide between methods.

/// Beginning and ending a join: threads, files, the first reads of which nothing is ahead.
pub(super) const JOIN_NS: f64 = 100_000.0;
/// Reading, checking and decoding a byte of a table.
pub(super) const SCAN_BYTE_NS: f64 = 0.25;
/// Laying a row out whose width varies.
pub(super) const LAY_OUT_ROW_NS: f64 = 15.0;
/// Stepping over a row in the kernel, where each row of both sides is compared.
pub(super) const MERGE_ROW_NS: f64 = 3.0;
/// Stepping over a row of the larger side where keys of the other are so sparse that the kernel gallops.
pub(super) const GALLOP_ROW_NS: f64 = 0.3;
/// From this many rows of the larger side for each of the smaller on, the kernel gallops.
pub(super) const GALLOP_RATIO_MIN: f64 = 8.0;
/// Finding the block of a key from that of the one before.
pub(super) const LOCATE_NS: f64 = 20.0;
/// Issuing a request, whatever its size.
pub(super) const REQUEST_NS: f64 = 1_000.0;
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
/// Sorting a row of one width by its digits.
pub(super) const RADIX_ROW_NS: f64 = 25.0;
/// Sorting a row of varying width: for each doubling of their number.
pub(super) const SORT_STEP_NS: f64 = 8.0;
/// Merging a row out of sorted runs: for each doubling of their number.
pub(super) const RUN_STEP_NS: f64 = 4.0;
/// Copying a row into a spill file and out of it.
pub(super) const SPILL_ROW_NS: f64 = 8.0;
/// A byte of a spill file, written and read, checksums included.
pub(super) const SPILL_BYTE_NS: f64 = 0.5;
/// Predicting the partition of a row and putting it there.
pub(super) const PARTITION_ROW_NS: f64 = 12.0;
/// Inserting a row into a B-tree, in arrival order, where all of it is in memory.
pub(super) const BTREE_INSERT_NS: f64 = 1_000.0;
/// Looking a row up in that B-tree by a cursor.
pub(super) const BTREE_PROBE_NS: f64 = 300.0;
/// Making the separator of a block, once its keys are known.
pub(super) const SEPARATOR_NS: f64 = 60.0;
/// Decoding nodes that a table carries, for each byte that they take in memory.
pub(super) const NODE_BYTE_NS: f64 = 0.7;
/// Reading a row of an open index or of a store in order, and probing it for a key.
pub(super) const INDEX_ROW_NS: f64 = 40.0;
pub(super) const OPEN_PROBE_NS: f64 = 900.0;
/// One step of a binary search in a window.
pub(super) const BISECT_STEP_NS: f64 = 4.0;
/// Reading a window that is not there.
pub(super) const WINDOW_NS: f64 = 1_500.0;
/// A descent of a B-tree from its root, and a step of a cursor that stands near by.
pub(super) const DESCENT_NS: f64 = 60.0;
pub(super) const CURSOR_NS: f64 = 12.0;
/// The model of a key by a leaf iterator over lines, by a radix spline, by a recursive model index.
pub(super) const LINE_NS: f64 = 15.0;
pub(super) const SPLINE_NS: f64 = 20.0;
pub(super) const RMI_NS: f64 = 20.0;
/// Building them, for each block: a tree and lines once, a spline and a recursive model index in every setting that is tried.
pub(super) const TREE_BUILD_NS: f64 = 5.0;
pub(super) const LINE_BUILD_NS: f64 = 40.0;
pub(super) const SPLINE_BUILD_NS: f64 = 500.0;
pub(super) const RMI_BUILD_NS: f64 = 3_000.0;
/// Errors of the sampled PGM-index, 2 samples of every 128th key, and of the radix spline.
pub(super) const SAMPLED_ERROR_ROWS: f64 = 256.0;
pub(super) const SPLINE_ERROR_ROWS: f64 = 256.0;
/// The mean window of a recursive model index as it is tuned.
pub(super) const RMI_WINDOW_BLOCKS: f64 = 2.0;
/// A page of an open index.
pub(super) const PAGE_BYTES: f64 = 4096.0;
/// What of the memory a method may hold as a whole; the rest is for buffers.
pub(super) const HELD_FRACTION: f64 = 0.5;
