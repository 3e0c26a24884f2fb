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
}

impl IndexRecord {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, u64::from(self.owner));
        put_varint(out, u64::from(self.is_complete));
        self.definition.encode(out);
    }

    pub(super) fn decode(bytes: &[u8], at: &mut usize) -> Option<Self> {
        let owner = KeyspaceId::try_from(take_varint(bytes, at)?).ok()?;
        let is_complete = take_varint(bytes, at).filter(|&complete| complete <= 1)? == 1;
        Some(Self { owner, definition: IndexDefinition::decode(bytes, at)?, is_complete })
    }
}

/// The name of an index, by that of the keyspace of its entries.
pub(crate) fn index_name(keyspace: &str) -> &str {
    keyspace.strip_prefix(INDEX_PREFIX).unwrap_or(keyspace)
}
