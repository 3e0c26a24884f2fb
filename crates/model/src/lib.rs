//! Learned and exact index nodes as pure functions from a key to a position, without I/O or dependencies.
//!
//! A program that owns its blocks and its I/O needs one type: [`Router`], an exact index over the blocks of any sorted
//! file, as bytes for a footer or a manifest. The modules have the nodes that the indexes of Ogive consist of.
//!
//! An index leads a key to a range of *children* (blocks of data, or pages of an index layer). Between two neighbouring
//! children lies a [`Fence`]. A node answers one question: which children may hold key `x`? There are two kinds of
//! nodes:
//!
//! * **exact** nodes ([`step`], [`coded`], and [`inner`] for updatable trees): separators that a lookup can trust, even
//!   for absent keys;
//! * **approximate** nodes ([`mod@line`], built by [`band`] and [`pla`]): a line and an error window, which was
//!   measured when the node was built, with the arithmetic of lookups on the stored parameters; a reader still verifies
//!   what it read.
//!
//! [`mod@column`] turns the line around: it codes the numbers themselves as lines and residuals, for blocks of data.

pub mod band;
pub mod bits;
mod bytes;
pub mod coded;
pub mod column;
mod corridor;
#[doc(hidden)]
pub mod extend;
mod fence;
mod greedy;
pub mod inner;
pub mod line;
pub mod pla;
pub mod router;
mod run;
pub mod step;

pub use fence::Fence;
pub use router::{OwnedRouter, Router, RouterBuilder, RouterError, RouterKey};
pub use run::FenceRun;

/// The example of the README is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The example of the book's page on separators is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/concepts/separators.md")]
struct SeparatorsPage;
