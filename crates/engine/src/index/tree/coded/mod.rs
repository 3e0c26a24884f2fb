//! Coded inner nodes over B+-tree leaves: exact separators as lines and packed residuals.
//!
//! This is the default structure of an index: a B+-tree whose inner nodes are coded by [`ogive_model::inner`]. It
//! differs from the textbook as follows:
//!
//! * **Separators are chosen.** A split, or the end of a bulk-loaded leaf, is moved to the roundest separator near its
//!   target.
//! * **Nodes stay full.** A node that overflows shares its children with up to four siblings; a node is added only if
//!   all are nearly full. A sparse node gives its children to siblings with room. Therefore nodes are at least 4/5 full
//!   after random inserts, and full after appends.
//! * **The last separator of a node is in a node above it**; the rightmost node of the lowest level has no last child,
//!   because the last leaf is not in the map.
//! * **A small root needs no page.** The state holds up to four children of the topmost node, so that a map of a few
//!   thousand leaves has one level of pages.

mod balance;
mod build;
mod choose;
mod insert;
mod node;
mod remove;
mod router;
mod search;
mod state;
mod verify;

pub use router::CodedRouter;
