//! The structures of indexes: leaves, and the routers over them.

pub(super) mod btree;
pub(super) mod coded;
pub(super) mod layout;
pub(super) mod leaves;
pub(super) mod router;
pub(super) mod structure;
