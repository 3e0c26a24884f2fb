//! The experiments of AirIndex (SIGMOD 2024, Section 7 and Appendix C), one file each.
//!
//! - on real tables with metered lookups ([`tables`], [`lookups`]): `designs` (Figures 9 and 11), `warm` (10), `build`
//!   (15), `skew` (19), `breakdown` (17 and 18), `retune` (Section 6); [`structures`] of indexes are beside the
//!   tables of the first three;
//! - on level inputs without files ([`rows`]): `knobs` (12), `spectrum` (13), `mismatch` (14), `topk` (20), `builders`
//!   (the builder set, Figure 3);
//! - on objects that are slowed down: `emulated` (9, 10 and 14);
//! - on updatable indexes: `updates` (16);
//! - without data: `complexity` (8).
//!
//! Modelled times add T(n) of the storage profile for each actual or expected read, without processor time.

mod breakdown;
mod build;
mod builders;
mod cases;
mod complexity;
mod designs;
mod device;
mod emulated;
mod keys;
mod knobs;
mod lookups;
mod mismatch;
mod retune;
mod rows;
mod settings;
mod skew;
mod spectrum;
mod structures;
mod tables;
mod top_k;
mod updates;
mod warm;

pub(crate) use breakdown::BREAKDOWN;
pub(crate) use build::BUILD;
pub(crate) use builders::BUILDERS;
pub(crate) use complexity::COMPLEXITY;
pub(crate) use designs::DESIGNS;
pub(crate) use emulated::EMULATED;
pub(crate) use knobs::KNOBS;
pub(crate) use mismatch::MISMATCH;
pub(crate) use retune::RETUNE;
pub(crate) use skew::SKEW;
pub(crate) use spectrum::SPECTRUM;
pub(crate) use top_k::TOP_K;
pub(crate) use updates::UPDATES;
pub(crate) use warm::WARM;
