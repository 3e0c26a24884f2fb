//! Messages that carry tables and scans between processes, each in a frame with its version.
//!
//! A frame is `OGVP`, a byte for the kind of the message, its version (two bytes, little-endian), the message in the
//! encoding of Protocol Buffers, and a checksum of all this (four bytes). No message of Ballista begins like this:
//! `O` would be a field of a type that does not exist.

use crate::error::PlanError;
use ogive::block::checksum::{CHECKSUM_BYTES, check, seal};
use prost::Message;

/// The version of the messages. Readers refuse later ones: they might say that rows are left out.
const VERSION: u16 = 1;
const MAGIC: &[u8; 4] = b"OGVP";
const HEADER_BYTES: usize = 7;

/// Which message a frame has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// [`TableMessage`]
    Table,
    /// [`ScanMessage`]
    Scan,
    /// [`KeyJoinMessage`]
    KeyJoin,
    /// [`LookUpMessage`]
    LookUp,
    /// [`FenceMessage`]
    Fence,
    /// [`StepMessage`]
    Step,
    /// [`SampleMessage`]
    Sample,
    /// [`KeyRangesMessage`]
    KeyRanges,
    /// [`TablesMessage`]
    Tables,
}

const KINDS: [Kind; 9] = [
    Kind::Table,
    Kind::Scan,
    Kind::KeyJoin,
    Kind::LookUp,
    Kind::Fence,
    Kind::Step,
    Kind::Sample,
    Kind::KeyRanges,
    Kind::Tables,
];

impl Kind {
    fn byte(self) -> u8 {
        match self {
            Self::Table => b'T',
            Self::Scan => b'S',
            Self::KeyJoin => b'J',
            Self::LookUp => b'L',
            Self::Fence => b'F',
            Self::Step => b'W',
            Self::Sample => b'K',
            Self::KeyRanges => b'R',
            Self::Tables => b'P',
        }
    }
}

/// A table of one relation or several, such as the table files of a folder.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TableMessage {
    #[prost(message, repeated, tag = "1")]
    pub(crate) relations: Vec<RelationMessage>,
}

/// A relation: where it is, and which one is meant.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RelationMessage {
    #[prost(string, tag = "1")]
    pub(crate) location: String,
    #[prost(string, tag = "2")]
    pub(crate) keyspace: String,
    #[prost(string, tag = "3")]
    pub(crate) version: String,
    /// The code of the types by which rows of a keyspace are read.
    #[prost(bytes = "vec", optional, tag = "4")]
    pub(crate) types: Option<Vec<u8>>,
}

/// A scan of a table.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ScanMessage {
    #[prost(message, optional, tag = "1")]
    pub(crate) table: Option<TableMessage>,
    /// Partitions, each of some sets of keys that are read one after the other.
    #[prost(message, repeated, tag = "2")]
    pub(crate) partitions: Vec<PartitionMessage>,
    /// The conditions on the key, as `EXPLAIN` shows them.
    #[prost(string, repeated, tag = "3")]
    pub(crate) conditions: Vec<String>,
    /// Most rows of a partition. The engine's own message has 32 bits for them.
    #[prost(uint64, optional, tag = "4")]
    pub(crate) limit: Option<u64>,
    #[prost(bool, tag = "5")]
    pub(crate) is_descending: bool,
    /// `FileScanExecConf` of DataFusion without files: schema, projection, order, statistics, rows of a batch.
    #[prost(bytes = "vec", tag = "6")]
    pub(crate) config: Vec<u8>,
    /// Rows of a partition that are enough if the greatest key comes first. Who does not know it reads more.
    #[prost(uint64, optional, tag = "7")]
    pub(crate) last: Option<u64>,
}

/// A partition of a scan.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct PartitionMessage {
    #[prost(message, repeated, tag = "1")]
    pub(crate) sets: Vec<KeySetMessage>,
}

/// A set of keys of a relation.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct KeySetMessage {
    #[prost(message, repeated, tag = "1")]
    pub(crate) ranges: Vec<RangeMessage>,
    /// The number of the relation.
    #[prost(uint64, tag = "2")]
    pub(crate) relation: u64,
    /// About how many rows they have.
    #[prost(uint64, tag = "3")]
    pub(crate) rows: u64,
}

/// A range of keys: one key, or all between two ends, of which each may be absent.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RangeMessage {
    #[prost(bytes = "vec", optional, tag = "1")]
    pub(crate) point: Option<Vec<u8>>,
    #[prost(message, optional, tag = "2")]
    pub(crate) start: Option<EndMessage>,
    #[prost(message, optional, tag = "3")]
    pub(crate) end: Option<EndMessage>,
}

/// An end of a range.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct EndMessage {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) key: Vec<u8>,
    #[prost(bool, tag = "2")]
    pub(crate) excluded: bool,
}

/// A join of a logical plan with a side in the order of a key.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct KeyJoinMessage {
    /// `LogicalExprNode`s of DataFusion: the columns of either side that are equal.
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub(crate) left_on: Vec<Vec<u8>>,
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub(crate) right_on: Vec<Vec<u8>>,
    /// A condition on both sides.
    #[prost(bytes = "vec", optional, tag = "3")]
    pub(crate) filter: Option<Vec<u8>>,
    /// `JoinType` of DataFusion.
    #[prost(int32, tag = "4")]
    pub(crate) join_type: i32,
    #[prost(bool, tag = "5")]
    pub(crate) nulls_are_equal: bool,
}

/// A join that looks keys up.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct LookUpMessage {
    /// `PhysicalPlanNode` of DataFusion: a hash join with the same columns, type and condition, of the scan of the
    /// relation and an empty input in place of the other one.
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) join: Vec<u8>,
    #[prost(bool, tag = "2")]
    pub(crate) looks_left: bool,
}

/// A fence above a join or a union.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FenceMessage {
    #[prost(bool, tag = "1")]
    pub(crate) hides_order: bool,
    #[prost(bool, tag = "2")]
    pub(crate) hides_constants: bool,
}

/// A step of a statement that writes rows: a sample of their keys, or tables at a place.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct StepMessage {
    /// The code of the types of the records.
    #[prost(bytes = "vec", tag = "4")]
    pub(crate) types: Vec<u8>,
    /// The keys at which all ranges but the first begin.
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub(crate) cuts: Vec<Vec<u8>>,
    /// Where tables are written; none for a sample.
    #[prost(message, optional, tag = "3")]
    pub(crate) place: Option<PlaceMessage>,
}

/// A place of tables.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct PlaceMessage {
    #[prost(string, tag = "1")]
    pub(crate) folder: String,
    /// What names begin with, or the name.
    #[prost(string, tag = "2")]
    pub(crate) name: String,
    #[prost(bool, tag = "3")]
    pub(crate) is_final: bool,
    #[prost(bool, tag = "4")]
    pub(crate) is_single: bool,
}

/// A sample of keys.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SampleMessage {
    /// The code of the types of the records.
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) types: Vec<u8>,
}

/// The ranges of rows.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct KeyRangesMessage {
    /// The code of the types of the records.
    #[prost(bytes = "vec", tag = "4")]
    pub(crate) types: Vec<u8>,
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub(crate) cuts: Vec<Vec<u8>>,
    /// The partitions that rows are exchanged to.
    #[prost(uint64, tag = "3")]
    pub(crate) partitions: u64,
}

/// Tables that a task writes.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TablesMessage {
    /// The code of the types of the records.
    #[prost(bytes = "vec", tag = "3")]
    pub(crate) types: Vec<u8>,
    #[prost(message, optional, tag = "2")]
    pub(crate) place: Option<PlaceMessage>,
}

/// Whether bytes are meant to be a frame of ours, whatever its version and damage.
pub(crate) fn is_frame(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Appends a message in its frame.
pub(crate) fn write(kind: Kind, message: &impl Message, buffer: &mut Vec<u8>) {
    buffer.extend(frame(kind, VERSION, &message.encode_to_vec()));
}

fn frame(kind: Kind, version: u16, message: &[u8]) -> Vec<u8> {
    let mut frame = [&MAGIC[..], &[kind.byte()], &version.to_le_bytes(), message, &[0; CHECKSUM_BYTES]].concat();
    seal(0, 0, &mut frame);
    frame
}

/// The message in a frame.
///
/// # Errors
/// [`PlanError::Damaged`]; [`PlanError::Newer`] for a version that this one does not know.
pub(crate) fn read<M: Message + Default>(kind: Kind, bytes: &[u8]) -> Result<M, PlanError> {
    let damaged = |detail: &str| PlanError::Damaged(detail.to_owned());
    if bytes.len() < HEADER_BYTES + CHECKSUM_BYTES || !is_frame(bytes) {
        return Err(damaged("it is too short, or no plan of Ogive"));
    }
    if !check(0, 0, bytes) {
        return Err(damaged("its checksum does not fit"));
    }
    let version = u16::from_le_bytes([bytes[5], bytes[6]]);
    match version {
        VERSION => {}
        0 => return Err(damaged("its version is 0")),
        found => return Err(PlanError::Newer { found, known: VERSION }),
    }
    if kind_of(bytes) != Some(kind) {
        return Err(damaged("it is a message of another kind"));
    }
    let message = &bytes[HEADER_BYTES..bytes.len() - CHECKSUM_BYTES];
    M::decode(message).map_err(|error| damaged(&error.to_string()))
}

/// What the message of a frame is; `None` if this version has no such message.
pub(crate) fn kind_of(bytes: &[u8]) -> Option<Kind> {
    let byte = *bytes.get(MAGIC.len())?;
    KINDS.into_iter().find(|kind| kind.byte() == byte)
}

/// A frame with another message, for tests.
#[cfg(test)]
pub(crate) fn frame_again(bytes: &[u8], change: impl FnOnce(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let mut frame = bytes[..HEADER_BYTES].to_vec();
    frame.extend(change(&bytes[HEADER_BYTES..bytes.len() - CHECKSUM_BYTES]));
    frame.extend([0; CHECKSUM_BYTES]);
    seal(0, 0, &mut frame);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> TableMessage {
        let location = "/data/users.ogive".to_owned();
        let relation = RelationMessage { location, version: "7".to_owned(), ..RelationMessage::default() };
        TableMessage { relations: vec![relation] }
    }

    #[test]
    fn a_frame_gives_its_message_back() {
        let mut bytes = Vec::new();
        write(Kind::Table, &message(), &mut bytes);
        assert!(is_frame(&bytes));
        assert_eq!(read::<TableMessage>(Kind::Table, &bytes), Ok(message()));
    }

    #[test]
    fn a_frame_of_a_later_version_asks_for_an_upgrade() {
        let bytes = frame(Kind::Scan, VERSION + 1, b"what it says is not known");
        let error = read::<ScanMessage>(Kind::Scan, &bytes).unwrap_err();
        assert_eq!(error, PlanError::Newer { found: 2, known: 1 });
        assert!(error.to_string().contains("upgrade"), "{error}");
    }

    #[test]
    fn every_changed_or_cut_byte_is_seen() {
        let mut bytes = Vec::new();
        write(Kind::Table, &message(), &mut bytes);
        for at in 0..bytes.len() {
            assert!(read::<TableMessage>(Kind::Table, &bytes[..at]).is_err(), "cut at {at}");
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                let read = read::<TableMessage>(Kind::Table, &changed);
                assert!(matches!(read, Err(PlanError::Damaged(_))), "bit {bit} of byte {at}: {read:?}");
            }
        }
        assert!(read::<ScanMessage>(Kind::Scan, &bytes).is_err(), "a table is no scan");
    }
}
