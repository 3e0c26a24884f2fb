//! The length of rows, before they are encoded.

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;

/// What a value takes in a record besides its bytes, at most: where it ends, its null bit, and the end of a text in a
/// key.
const VALUE_OVERHEAD_BYTES: u64 = 8;

/// The length of the longest record that [`RecordEncoder`](crate::RecordEncoder) makes of rows, in bytes; as a rule
/// more, since the longest values of two columns may be in different rows.
#[must_use]
pub fn longest_record_bytes(batches: &[RecordBatch]) -> u64 {
    let of_batch = |batch: &RecordBatch| {
        let columns = batch.columns().iter();
        columns.map(|column| longest_value_bytes(&**column).saturating_add(VALUE_OVERHEAD_BYTES)).sum()
    };
    batches.iter().map(of_batch).max().unwrap_or(0)
}

fn longest_value_bytes(column: &dyn Array) -> u64 {
    match column.data_type() {
        DataType::Utf8 => between(column.as_string::<i32>().value_offsets()),
        DataType::LargeUtf8 => between(column.as_string::<i64>().value_offsets()),
        DataType::Binary => between(column.as_binary::<i32>().value_offsets()),
        DataType::LargeBinary => between(column.as_binary::<i64>().value_offsets()),
        DataType::Utf8View => in_views(column.as_string_view().views()),
        DataType::BinaryView => in_views(column.as_binary_view().views()),
        DataType::FixedSizeBinary(bytes) => u64::try_from(*bytes).unwrap_or(0),
        DataType::Null | DataType::Boolean => 1,
        // No value of a column is longer than all of it.
        other => other.primitive_width().unwrap_or_else(|| column.get_array_memory_size()) as u64,
    }
}

fn between<O: Copy + Into<i64>>(offsets: &[O]) -> u64 {
    let lengths = offsets.windows(2).map(|pair| pair[1].into() - pair[0].into());
    lengths.max().and_then(|length| u64::try_from(length).ok()).unwrap_or(0)
}

/// A view begins with the length, in 32 bits.
fn in_views(views: &[u128]) -> u64 {
    views.iter().map(|&view| u64::from(view as u32)).max().unwrap_or(0)
}
