//! Secondary indexes as the manifest records them, with the keyspace of their entries.

use crate::lsm::state::entry::{KeyspaceId, put_varint, take_varint};
use crate::types::IndexDefinition;

/// Names of keyspaces that begin so are those of entries of indexes.
pub(crate) const INDEX_PREFIX: &str = "ogive.index.";

/// An index whose entries a keyspace has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexRecord {
    /// The keyspace whose records are indexed.
    pub(crate) owner: KeyspaceId,
    pub(crate) definition: IndexDefinition,
    /// Whether it has the entries of all records. All writes keep it in any case.
    pub(crate) is_complete: bool,
    /// Whether entries may be missing that were there when the building had come further, after a repair: it is built
    /// from the beginning.
    pub(crate) is_repaired: bool,
}

/// Codes of how complete an index is.
const INCOMPLETE: u64 = 0;
const COMPLETE: u64 = 1;
const REPAIRED: u64 = 2;

impl IndexRecord {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, u64::from(self.owner));
        put_varint(
            out,
            match (self.is_complete, self.is_repaired) {
                (true, _) => COMPLETE,
                (false, false) => INCOMPLETE,
                (false, true) => REPAIRED,
            },
        );
        self.definition.encode(out);
    }

    pub(super) fn decode(bytes: &[u8], at: &mut usize) -> Option<Self> {
        let owner = KeyspaceId::try_from(take_varint(bytes, at)?).ok()?;
        let code = take_varint(bytes, at).filter(|&code| code <= REPAIRED)?;
        let definition = IndexDefinition::decode(bytes, at)?;
        Some(Self { owner, definition, is_complete: code == COMPLETE, is_repaired: code == REPAIRED })
    }
}

/// The name of an index, by that of the keyspace of its entries.
pub(crate) fn index_name(keyspace: &str) -> &str {
    keyspace.strip_prefix(INDEX_PREFIX).unwrap_or(keyspace)
}
