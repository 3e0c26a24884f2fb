//! Coded inner nodes over B+-tree leaves: exact separators as lines and packed residuals.
//!
//! The tree is a B+-tree whose inner nodes are coded as [`ogive_model::inner`] says; the default of an index. What
//! differs from the textbook:
//!
//! * **Separators are chosen.** A leaf is split, and in a bulk load ended, near the place asked for, where the
//!   separator is roundest.
//! * **Nodes stay full.** A node that overflows shares its children with up to four siblings, and only if all are
//!   nearly full one node is added; one that has lost much gives its children to siblings with room. So nodes are four
//!   fifths full or more when they grow in random order, and full when they grow at their end.
//! * **The last separator of a node lies above it**, as in a textbook's B+-tree; the rightmost node of the lowest level
//!   has no last child, because the last leaf is not in the map.
//!
//! * **A small root needs no page.** Up to four children of the topmost node stand in the state, so that a map of some
//!   thousand leaves is one level of pages.

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
