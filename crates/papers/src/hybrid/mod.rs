//! Any [`Structure`](super::Structure) as the inner part over B+-tree leaves: the hybrids of the evaluations.

mod build;
mod pages;
mod router;

pub use router::MapRouter;
