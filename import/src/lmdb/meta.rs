//! The meta pages of LMDB: the newest transaction, the length of the data, and flags that its library does not list.
//!
//! A page begins with 16 bytes. Behind them, the first two pages have: magic and version (4 bytes each), an address and
//! the size of the map (8 each), the records of two databases (48 each), the last page and the transaction (8 each).
//! All numbers are in the order of bytes of the machine.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes of a page in front of its content.
const HEAD_BYTES: usize = 16;
/// Bytes of the head and the meta data.
const META_BYTES: usize = 152;
/// The number of the format.
const MAGIC: u32 = 0xBEEF_C0DE;
/// Offsets in the page.
const PAGE_BYTES: usize = HEAD_BYTES + 24;
const MAIN: usize = HEAD_BYTES + 72;
const LAST_PAGE: usize = HEAD_BYTES + 120;
const TRANSACTION: usize = HEAD_BYTES + 128;

/// Bytes of the record of a database.
pub(super) const RECORD_BYTES: usize = 48;
/// Where the flags are in it.
const FLAGS: usize = 4;

/// The newest meta page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meta {
    pub(super) transaction: u64,
    /// Bytes of the file that are used.
    pub(super) used_bytes: u64,
    /// Flags of the unnamed database.
    pub(super) main_flags: u16,
}

impl Meta {
    /// Reads the newest meta page of a file; `None` if there is none.
    pub(super) fn read(path: &Path) -> io::Result<Option<Self>> {
        let mut file = File::open(path)?;
        let first = page_at(&mut file, 0)?;
        let Some(page_bytes) = first.as_deref().and_then(|page| number::<4>(page, PAGE_BYTES)) else {
            return Ok(None);
        };
        let second = page_at(&mut file, page_bytes)?;
        let metas = [first, second].into_iter().flatten().filter_map(|page| Self::of(&page, page_bytes));
        Ok(metas.max_by_key(|meta| meta.transaction))
    }

    fn of(page: &[u8], page_bytes: u64) -> Option<Self> {
        let last_page = number::<8>(page, LAST_PAGE)?;
        Some(Self {
            transaction: number::<8>(page, TRANSACTION)?,
            used_bytes: last_page.checked_add(1)?.checked_mul(page_bytes)?,
            main_flags: flags_of(page.get(MAIN..MAIN + RECORD_BYTES)?)?,
        })
    }
}

/// The flags of a database in its record.
pub(super) fn flags_of(record: &[u8]) -> Option<u16> {
    number::<2>(record, FLAGS).map(|flags| flags as u16)
}

/// The head and the meta data of a page.
fn page_at(file: &mut File, offset: u64) -> io::Result<Option<Vec<u8>>> {
    let mut page = Vec::new();
    file.seek(SeekFrom::Start(offset))?;
    file.take(META_BYTES as u64).read_to_end(&mut page)?;
    let has_magic = number::<4>(&page, HEAD_BYTES) == Some(MAGIC.into());
    Ok(Some(page).filter(|page| has_magic && page.len() == META_BYTES))
}

/// A number of some bytes.
fn number<const BYTES: usize>(bytes: &[u8], offset: usize) -> Option<u64> {
    let found = bytes.get(offset..offset + BYTES)?;
    let mut number = [0; 8];
    if cfg!(target_endian = "little") {
        number[..BYTES].copy_from_slice(found);
    } else {
        number[8 - BYTES..].copy_from_slice(found);
    }
    Some(u64::from_ne_bytes(number))
}
