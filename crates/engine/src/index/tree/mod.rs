//! The structures of indexes: leaves, and the routers over them.
//!
//! A `Structure` reads and edits pages, and keeps a few bytes of state; it has no other memory. The engine's structures
//! are B+-tree leaves (`leaves`) under a `Router`, which maps separators to leaves: coded inner nodes (`coded`), or
//! those of a B+-tree (`btree`).

pub(super) mod btree;
pub(super) mod coded;
pub(super) mod layout;
pub(super) mod leaves;
pub(super) mod router;
pub(super) mod structure;
