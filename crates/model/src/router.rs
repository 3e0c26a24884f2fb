//! The router: an exact index over the blocks of any sorted file, from a key to the number of its block.
//!
//! For those who own their blocks and their I/O, and want neither a table format nor a storage layer: push one
//! separator for each block, keep the bytes that [`RouterBuilder::finish`] returns in a footer or a manifest, and
//! search them in place with [`Router::locate`]. A router takes 1 to 3 bytes for each block of evenly or smoothly
//! spread integers, and the bytes that tell neighbouring separators apart for byte strings.
//!
//! ```
//! use ogive_model::Router;
//!
//! let mut builder = Router::<u64>::builder();
//! for block in 0..1_000_u64 {
//!     builder.push(&(block * 4096 + 17))?; // the first key of the block
//! }
//! let footer: Vec<u8> = builder.finish();
//!
//! let router = Router::<u64>::open(&footer)?;
//! assert_eq!(router.locate(&(4096 + 16)), 0);
//! assert_eq!(router.locate(&(4096 + 17)), 1);
//! # Ok::<(), ogive_model::RouterError>(())
//! ```
//!
//! The nodes are those of [`coded`](crate::coded); the stored form is described in `docs/format/router.md`.

mod checksum;
mod key;

pub use key::RouterKey;

use std::error::Error;
use std::fmt::{self, Display};
use std::marker::PhantomData;

const MAGIC: [u8; 4] = *b"OGRT";
const VERSION: u8 = 1;
const HEADER_BYTES: usize = 24;
const CHECKSUM_BYTES: usize = 4;
/// 64-bit residuals of this number of blocks are still addressed by 32 bits.
const BLOCKS_MAX: u64 = 1 << 26;

/// Errors of building or opening a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RouterError {
    /// A separator was pushed that lies below an earlier one, or the last key of a block below its first.
    OutOfOrder {
        /// The number of the block.
        block: u64,
    },
    /// The router would have more than 2^26 blocks, or more than 4 GiB of separators.
    TooLarge,
    /// The bytes do not begin as a router does.
    NotARouter,
    /// The format is of a later version.
    UnknownVersion(u8),
    /// The router is over keys of the other type.
    OtherKeys,
    /// A checksum does not match, or the content contradicts itself.
    Damaged,
}

impl Display for RouterError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfOrder { block } => {
                write!(formatter, "the first key of block {block} is below a key of the block before")
            }
            Self::TooLarge => {
                formatter.write_str("a router has at most 67,108,864 blocks and 4 GiB of separators; build several")
            }
            Self::NotARouter => formatter.write_str("these bytes are not a router"),
            Self::UnknownVersion(version) => {
                write!(formatter, "router format {version} is unknown; a newer version of ogive-model reads it")
            }
            Self::OtherKeys => formatter.write_str("the router is over keys of another type"),
            Self::Damaged => formatter.write_str("the router is damaged; build it again from the blocks"),
        }
    }
}

impl Error for RouterError {}

/// Collects one separator for each block, in order.
#[derive(Debug)]
pub struct RouterBuilder<K: RouterKey + ?Sized> {
    borders: K::Borders,
    blocks: u64,
}

impl<K: RouterKey + ?Sized> RouterBuilder<K> {
    /// Appends a block by its first key.
    ///
    /// # Errors
    /// [`RouterError::OutOfOrder`] if the key is below the first key of the block before, [`RouterError::TooLarge`].
    /// The builder is then unchanged.
    pub fn push(&mut self, first: &K) -> Result<(), RouterError> {
        self.append(None, first)
    }

    /// Appends a block by its first key and the last key of the block before. Any key between the two may then
    /// separate them, so the router is smaller than with [`Self::push`]. Where the two are equal, the key is located
    /// in the first block that holds it.
    ///
    /// # Errors
    /// As [`Self::push`]; also if `last` is above `first`, or below the first key of its own block.
    pub fn push_between(&mut self, last: &K, first: &K) -> Result<(), RouterError> {
        self.append(Some(last), first)
    }

    fn append(&mut self, last: Option<&K>, first: &K) -> Result<(), RouterError> {
        if self.blocks == BLOCKS_MAX {
            return Err(RouterError::TooLarge);
        }
        K::push(&mut self.borders, self.blocks, last, first)?;
        self.blocks += 1;
        Ok(())
    }

    /// The stored form, of about `24 + 2 * blocks` bytes.
    pub fn finish(self) -> Vec<u8> {
        let mut stored = Vec::new();
        stored.extend_from_slice(&MAGIC);
        stored.extend_from_slice(&[VERSION, K::CODE, 0, 0]);
        stored.extend_from_slice(&self.blocks.to_le_bytes());
        let groups_at = stored.len();
        stored.extend_from_slice(&[0; 8]);
        let groups = K::encode(self.borders, &mut stored) as u64;
        stored[groups_at..HEADER_BYTES].copy_from_slice(&groups.to_le_bytes());
        let checksum = checksum::crc32c(&stored);
        stored.extend_from_slice(&checksum.to_le_bytes());
        stored
    }
}

/// A router in its stored form, searched in place.
#[derive(Debug)]
pub struct Router<'a, K: RouterKey + ?Sized> {
    groups: usize,
    blocks: u64,
    payload: &'a [u8],
    key: PhantomData<fn(&K)>,
}

impl<'a, K: RouterKey + ?Sized> Router<'a, K> {
    /// A builder without blocks.
    pub fn builder() -> RouterBuilder<K> {
        RouterBuilder { borders: K::Borders::default(), blocks: 0 }
    }

    /// Opens the bytes that [`RouterBuilder::finish`] returned, neither more nor fewer. Checks the checksum and every
    /// separator once, in time proportional to their number; a search needs no further checks.
    ///
    /// # Errors
    /// [`RouterError`], for any bytes that are not a sound router over keys of this type.
    pub fn open(stored: &'a [u8]) -> Result<Self, RouterError> {
        let (header, rest) = stored.split_first_chunk::<HEADER_BYTES>().ok_or(RouterError::NotARouter)?;
        if header[..4] != MAGIC {
            return Err(RouterError::NotARouter);
        }
        if header[4] != VERSION {
            return Err(RouterError::UnknownVersion(header[4]));
        }
        let (payload, checksum) = rest.split_last_chunk::<CHECKSUM_BYTES>().ok_or(RouterError::Damaged)?;
        let sum = checksum::crc32c(&stored[..stored.len() - CHECKSUM_BYTES]);
        if u32::from_le_bytes(*checksum) != sum || header[6..8] != [0, 0] {
            return Err(RouterError::Damaged);
        }
        if header[5] != K::CODE {
            return Err(if matches!(header[5], 1 | 2) { RouterError::OtherKeys } else { RouterError::Damaged });
        }
        let field = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| header[at + i]));
        let blocks = field(8);
        let groups = usize::try_from(field(16)).map_err(|_| RouterError::Damaged)?;
        K::check(payload, groups, blocks).ok_or(RouterError::Damaged)?;
        Ok(Self { groups, blocks, payload, key: PhantomData })
    }

    /// Number of blocks.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The number of the block that holds `key` if any block does, counted from 0. Of several blocks that hold it, the
    /// first; a key below all is located in block 0.
    pub fn locate(&self, key: &K) -> u64 {
        // `open` has seen every separator: a search of them finds one. A router without blocks has none.
        K::search(self.payload, self.groups, key).unwrap_or(0)
    }
}

/// A router that owns its stored form, for those who keep it open.
#[derive(Debug)]
pub struct OwnedRouter<K: RouterKey + ?Sized> {
    stored: Vec<u8>,
    groups: usize,
    blocks: u64,
    key: PhantomData<fn(&K)>,
}

impl<K: RouterKey + ?Sized> OwnedRouter<K> {
    /// As [`Router::open`].
    ///
    /// # Errors
    /// As [`Router::open`].
    pub fn open(stored: Vec<u8>) -> Result<Self, RouterError> {
        let Router { groups, blocks, .. } = Router::<K>::open(&stored)?;
        Ok(Self { stored, groups, blocks, key: PhantomData })
    }

    /// As [`Router::blocks`].
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// As [`Router::locate`].
    pub fn locate(&self, key: &K) -> u64 {
        let payload = self.stored.get(HEADER_BYTES..self.stored.len() - CHECKSUM_BYTES).unwrap_or_default();
        K::search(payload, self.groups, key).unwrap_or(0)
    }

    /// The stored form.
    pub fn stored(&self) -> &[u8] {
        &self.stored
    }
}
