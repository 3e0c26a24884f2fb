//! Indexes of keyspaces that the store keeps itself.

pub(crate) mod kept;
