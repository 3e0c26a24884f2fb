//! Following a store: its committed changes in their order, and what is kept of them for subscribers.
//!
//! * `keep`: what would be removed, and a subscriber needs
//! * `history`: where the changes are at one time: kept and needed logs, ingested tables, dropped keyspaces
//! * `followed_objects`: the same on an object store
//! * `follow`: a cursor through that, which goes on when more was written
//! * `schema`: the keyspaces, for those who archive changes
//! * `subscribe`: how far the subscribers have come
//!
//! Numbers of changes leave no gap that is not explained: where one is missing, the changes are gone, and nothing is
//! passed over in silence.

pub(super) mod follow;
mod followed_objects;
mod history;
mod keep;
pub(crate) mod schema;
pub(super) mod subscribe;
