//! Read requests: their ranges and purposes, and the parts that cannot be read.

use crate::error::Error;
use std::fmt;
use std::path::PathBuf;

/// The purpose of a read, for meters and read traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Purpose {
    /// The read that opens a file.
    Open,
    /// Part of an index layer; 1 is the layer next to the data.
    Layer(u8),
    /// Data blocks.
    Data,
    /// Chunks of a long value.
    Value,
    /// Cumulative record counts, for rank and position.
    Counts,
    /// A filter for absent keys.
    Filter,
    /// A walk over the whole file, such as `verify`.
    Walk,
    /// Imported input, or runs of an external sort.
    Input,
    /// A page of the inner structure of an index; 0 is the root.
    Inner(u8),
    /// A page that holds entries of an index.
    Leaf,
    /// Records of a page log.
    Log,
}

impl fmt::Display for Purpose {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Open => "open",
            Self::Layer(number) => return write!(formatter, "layer {number}"),
            Self::Data => "data",
            Self::Value => "value",
            Self::Counts => "counts",
            Self::Filter => "filter",
            Self::Walk => "walk",
            Self::Input => "input",
            Self::Inner(depth) => return write!(formatter, "inner {depth}"),
            Self::Leaf => "leaf",
            Self::Log => "log",
        })
    }
}

/// A range of a file to read: fills `buffer` from `offset`.
#[derive(Debug)]
pub struct ReadRequest<'a> {
    /// Offset in the file in bytes.
    pub offset: u64,
    /// The destination; its length is the length of the range.
    pub buffer: &'a mut [u8],
    /// The purpose of the read.
    pub purpose: Purpose,
}

/// A part of a file that the device cannot read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnreadablePart {
    /// The file.
    pub path: PathBuf,
    /// Offset of the part in bytes.
    pub offset: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// The error of the device.
    pub cause: String,
    /// Whether the file cannot even be opened: the device cannot find it, or it is none, as a folder. Then it is
    /// missing, and the part has no bytes.
    pub is_whole: bool,
}

impl UnreadablePart {
    /// The part as damage to its file.
    #[must_use]
    pub fn to_error(&self) -> Error {
        Error::damaged(&self.path, self.offset, self.detail())
    }

    pub(crate) fn detail(&self) -> String {
        if self.is_whole {
            return format!("it cannot be opened: {}", self.cause);
        }
        format!("{} bytes cannot be read: {}", self.bytes, self.cause)
    }
}
