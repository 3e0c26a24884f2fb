//! A read window: a sliding part of a file in memory, for sequential readers.

use crate::error::Result;
use crate::io::{Purpose, ReadRequest, ReadableFile};

/// A buffered part of a file around the current position.
#[derive(Debug)]
pub(crate) struct ReadWindow {
    bytes: Vec<u8>,
    start: u64,
    /// Limit of the readable range.
    end: u64,
    /// Size of a read, unless more is requested.
    read_bytes: usize,
    purpose: Purpose,
}

impl ReadWindow {
    /// A window over a file up to `end`, at most the length of the file.
    pub(crate) fn new(end: u64, read_bytes: usize, purpose: Purpose) -> Self {
        Self { bytes: Vec::new(), start: 0, end, read_bytes, purpose }
    }

    /// Up to `wanted` bytes from `position` on; fewer only at the end.
    pub(crate) fn at(&mut self, file: &dyn ReadableFile, position: u64, wanted: usize) -> Result<&[u8]> {
        let left = self.end.saturating_sub(position);
        let available = left.min(wanted as u64) as usize;
        let held = self.start + self.bytes.len() as u64;
        if available > 0 && (position < self.start || position + available as u64 > held) {
            let kept = if position < self.start { 0 } else { held.saturating_sub(position) as usize };
            let length = left.min(self.read_bytes.max(wanted) as u64) as usize;
            self.load(file, position, kept, length)?;
        }
        let from = position.saturating_sub(self.start) as usize;
        Ok(self.bytes.get(from..from + available).unwrap_or_default())
    }

    /// Moves the window to `position`; its last `kept` bytes become the first of the new content.
    fn load(&mut self, file: &dyn ReadableFile, position: u64, kept: usize, length: usize) -> Result<()> {
        self.bytes.drain(..self.bytes.len() - kept);
        self.bytes.resize(length, 0);
        self.start = position;
        let buffer = &mut self.bytes[kept..];
        let read = file.read(ReadRequest { offset: position + kept as u64, buffer, purpose: self.purpose });
        if read.is_err() {
            self.bytes.clear();
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{MemoryStorage, Storage};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_shown_is_what_the_file_holds(
            length in 0_u64..400, end in 0_u64..400, read_bytes in 1_usize..100,
            moves in proptest::collection::vec((0_u64..450, 0_usize..120), 1..60),
        ) {
            let content: Vec<u8> = (0..length).map(|i| (i * 37 % 251) as u8).collect();
            let storage = MemoryStorage::new();
            storage.put("f", content.clone()).unwrap();
            let file = storage.open("f").unwrap();
            let end = end.min(length);
            let mut window = ReadWindow::new(end, read_bytes, Purpose::Walk);
            for (position, wanted) in moves {
                let from = position.min(end) as usize;
                let to = (position + wanted as u64).min(end) as usize;
                prop_assert_eq!(window.at(&*file, position, wanted).unwrap(), &content[from..to.max(from)]);
                prop_assert!(window.bytes.len() <= read_bytes.max(wanted).max(120));
            }
        }
    }
}
