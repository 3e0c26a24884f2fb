//! Hybrids: any [`Structure`](ogive::index::extend::Structure) as the inner part over B+-tree leaves.

mod build;
mod pages;
mod router;

pub use router::MapRouter;
