//! Processor rates: nanoseconds of one core per row, probe and byte.
//!
//! Estimates for a core of a server of about 2023. The long test `rates_of_methods_are_shown` prints predicted and
//! measured times side by side. Only the ratios matter: they decide between methods.

/// Starting and ending a join: threads, files, and the first reads, which are not prefetched.
pub(super) const JOIN_NS: f64 = 100_000.0;
/// Reading, checking and decoding a byte of a table.
pub(super) const SCAN_BYTE_NS: f64 = 0.25;
/// Decoding a row of varying width.
pub(super) const LAY_OUT_ROW_NS: f64 = 15.0;
/// Advancing over a row in the merge kernel, if every row of both sides is compared.
pub(super) const MERGE_ROW_NS: f64 = 3.0;
/// Advancing over a row of the larger side, if keys of the other are so sparse that the kernel gallops.
pub(super) const GALLOP_ROW_NS: f64 = 0.3;
/// Ratio of row counts from which the kernel gallops.
pub(super) const GALLOP_RATIO_MIN: f64 = 8.0;
/// Finding the block of a key, starting at that of the previous key.
pub(super) const LOCATE_NS: f64 = 20.0;
/// Issuing a request, whatever its size.
pub(super) const REQUEST_NS: f64 = 1_000.0;
/// Building an output row.
pub(super) const EMIT_ROW_NS: f64 = 4.0;
/// Writing an output byte.
pub(super) const EMIT_BYTE_NS: f64 = 0.5;
/// Cutting text into fields, per byte, with its reading from the page cache: of CSV of 70 bytes a row.
pub(super) const PARSE_BYTE_NS: f64 = 3.0;
/// Making a record of a row of text, and copying it to where it is sorted or hashed.
pub(super) const PARSE_ROW_NS: f64 = 150.0;
/// Reading a field by its type: the mean of integers and dates, which take a quarter of it, and floats of 16 digits.
pub(super) const PARSE_FIELD_NS: f64 = 80.0;
/// Beginning and ending a row of text.
pub(super) const FORMAT_ROW_NS: f64 = 40.0;
/// Writing a field as text by its type.
pub(super) const FORMAT_FIELD_NS: f64 = 80.0;
/// Inserting a row into a hash table that fits a core's cache, and into one that does not.
pub(super) const HASH_ROW_NS: [f64; 2] = [15.0, 60.0];
/// Probing such a table for a row.
pub(super) const HASH_PROBE_NS: [f64; 2] = [12.0, 45.0];
/// Size of a core's cache, in bytes.
pub(super) const CORE_CACHE_BYTES: f64 = 1_048_576.0;
/// Radix sort of a row of one width.
pub(super) const RADIX_ROW_NS: f64 = 25.0;
/// Sorting a row of varying width, per doubling of the number of rows.
pub(super) const SORT_STEP_NS: f64 = 8.0;
/// Merging a row from sorted runs, per doubling of the number of runs.
pub(super) const RUN_STEP_NS: f64 = 4.0;
/// Copying a row to a spill file and back.
pub(super) const SPILL_ROW_NS: f64 = 8.0;
/// Writing and reading a byte of a spill file, checksums included.
pub(super) const SPILL_BYTE_NS: f64 = 0.5;
/// Predicting the partition of a row and copying it there.
pub(super) const PARTITION_ROW_NS: f64 = 12.0;
/// Computing the separator of a block from its keys.
pub(super) const SEPARATOR_NS: f64 = 60.0;
/// Decoding the index nodes stored in a table, per byte of their size in memory.
pub(super) const NODE_BYTE_NS: f64 = 0.7;
/// Reading a row of an open index or store in order, and probing it for a key.
pub(super) const INDEX_ROW_NS: f64 = 40.0;
pub(super) const OPEN_PROBE_NS: f64 = 900.0;
/// Page size of an open index, in bytes.
pub(super) const PAGE_BYTES: f64 = 4096.0;
/// Fraction of the memory for structures that must be entirely in memory; the rest is for buffers.
pub(super) const HELD_FRACTION: f64 = 0.5;
