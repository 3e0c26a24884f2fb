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

pub(super) use breakdown::BREAKDOWN;
pub(super) use build::BUILD;
pub(super) use builders::BUILDERS;
pub(super) use complexity::COMPLEXITY;
pub(super) use designs::DESIGNS;
pub(super) use emulated::EMULATED;
pub(super) use knobs::KNOBS;
pub(super) use mismatch::MISMATCH;
pub(super) use retune::RETUNE;
pub(super) use skew::SKEW;
pub(super) use spectrum::SPECTRUM;
pub(super) use top_k::TOP_K;
pub(super) use updates::UPDATES;
pub(super) use warm::WARM;
