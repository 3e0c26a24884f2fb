//! # Structures and methods of published papers for Ogive
//!
//! Updatable on-disk indexes from the literature, reimplemented as kinds of [`Index`](ogive::Index) to compare
//! them with Ogive's own structure, [join methods](joins), and the learned models of [`bourbon`] for stores. Nothing in
//! the engine needs them; a program that opens files of these indexes, joins by these methods, or names a learning
//! policy, calls [`register`] once, where it starts.
//!
//! | kind | structure | paper |
//! |---|---|---|
//! | [`AULID`] | mixed nodes, packed arrays and two-layer nodes over B+-tree leaves | Lan et al., AULID, 2023 |
//! | [`FITING`] | segments with delta buffers | Galakatos et al., SIGMOD 2019 |
//! | [`PGM`] | piecewise linear models, with the logarithmic method | Ferragina and Vinciguerra, VLDB 2020 |
//! | [`ALEX`] | gapped data nodes | Ding et al., SIGMOD 2020 |
//! | [`LIPP`] | exact positions, without a last-mile search | Wu et al., VLDB 2021 |
//! | [`AIRINDEX`] | tuned layers over a directory of B+-tree leaves | Chockchowwat et al., SIGMOD 2024 |
//! | [`FITING_BTREE`], [`PGM_BTREE`], [`ALEX_BTREE`], [`LIPP_BTREE`] | over B+-tree leaves | Lan et al., SIGMOD 2023 |
//!
//! ```
//! use ogive::{Index, IndexOptions, MemoryStorage};
//! use ogive_papers::{ALEX, AlexOptions};
//! use std::sync::Arc;
//!
//! ogive_papers::register();
//! let storage = Arc::new(MemoryStorage::new());
//! let tunables = AlexOptions { max_node_pages: 4, ..AlexOptions::default() }.tunables();
//! let options = IndexOptions::default().kind(ALEX).tunables(tunables);
//! let index: Index<u64, u64> = Index::create((storage, "squares"), &options)?;
//! index.bulk_load((0..1000).map(|i| (i * i, i)))?;
//! assert_eq!(index.get(144)?, Some(12));
//! # Ok::<(), ogive::Error>(())
//! ```
//!
//! They use only the public extension APIs of the engine: [`ogive::index::extend`], [`ogive::join::extend`] and
//! [`ogive::lsm::extend`].

pub mod airindex;
pub mod alex;
pub mod aulid;
mod batch;
pub mod bourbon;
pub mod fiting;
pub mod hybrid;
pub mod joins;
mod kinds;
pub mod lipp;
mod numbers;
mod parts;
pub mod pgm;
mod tunables;

pub use airindex::AirIndexOptions;
pub use alex::AlexOptions;
pub use aulid::AulidOptions;
pub use fiting::FitingOptions;
pub use kinds::{
    AIRINDEX, ALEX, ALEX_BTREE, AULID, FITING, FITING_BTREE, KINDS, LIPP, LIPP_BTREE, PGM, PGM_BTREE, register,
};
pub use lipp::LippOptions;
pub use pgm::PgmOptions;
