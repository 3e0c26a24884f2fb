//! Fuzz target: long values: their pointers and chunks.

use ogive::io::{MemoryStorage, Storage};
use ogive::table::value::{ValuePointer, ValueReader, ValueWriter};

const FILE_ID: u64 = 7;
const NAME: &str = "values";

/// Follows any pointer into a file of any content. Input: the stored pointer, then the file.
///
/// # Panics
/// When a value comes out whole and is not of the length that its pointer states: the broken promise.
pub fn stream(data: &[u8]) {
    let (pointer, content) = data.split_at(data.len().min(ValuePointer::BYTES));
    let Some(pointer) = ValuePointer::decode(pointer) else { return };
    let storage = MemoryStorage::new();
    if storage.put(NAME, content.to_vec()).is_err() {
        return;
    }
    let Ok(file) = storage.open(NAME) else { return };
    let Ok(reader) = ValueReader::new(file, FILE_ID, pointer) else { return };
    if let Ok(value) = reader.read_to_vec(data.len() as u64) {
        assert_eq!(value.len() as u64, pointer.length);
    }
}

/// A value of two chunks, and an empty one.
pub fn stream_seeds() -> Vec<Vec<u8>> {
    let seed = |length: usize| {
        let value: Vec<u8> = (0..length).map(|index| index as u8).collect();
        let mut content = Vec::new();
        let mut sink = |bytes: &[u8]| {
            content.extend_from_slice(bytes);
            Ok(())
        };
        let pointer = ValueWriter::new(FILE_ID, NAME).write(0, &value, &mut sink).ok()?;
        Some([pointer.encode().as_slice(), &content].concat())
    };
    [0, 100, 70_000].into_iter().filter_map(seed).collect()
}
