//! AirTune: finds the index design that is fastest for its data on its storage.
//!
//! The input is a [`LevelInput`], children (data blocks) with the fences between them, and a [`DesignProblem`]: the
//! storage's profile T(n), the objective, a limit for the root, and expected cache hits. The output is a [`Design`]:
//! layers of nodes, bottom first, with the exact expected cost of a lookup (AirIndex, Equation 6):
//!
//! ```text
//!   cost = T(opening read, root included) + sum over layers below the root E[T(read)] + E[T(read of data)]
//! ```
//!
//! [`TableWriteOptions`](crate::TableWriteOptions) have its parts: a [`DesignRequest`] for the search or for a named
//! design, the [`DesignObjective`], the [`DesignCaching`], and a [`TableSample`] for the size of blocks. The search by
//! itself is a seam for `ogive-research`:
//!
//! * `tune` runs it (Algorithm 2), and `choose_block_size` chooses the size of data blocks from a sample of the keys;
//! * `step_complexity_us` and `assess` estimate possible gains without access to the keys (Equation 12, Section 6);
//! * `replay` makes the reads of known lookups on a design, through a cache (Section 6, what-if).
//!
//! Without the feature `tune` of the crate, the search is left out: designs are then named, as
//! [`DesignRequest::Coded`], and block sizes stated.
//!
//! This module knows level inputs and profiles, but no file format.
//!
//! Source: Chockchowwat et al., AirIndex, SIGMOD 2024, Sections 4 to 6 and Appendix A.

mod assess;
#[cfg(feature = "tune")]
mod block_size;
mod build_layer;
mod builder;
#[cfg(feature = "tune")]
mod candidate;
pub(crate) mod compared;
mod complexity;
mod design;
mod design_request;
#[doc(hidden)]
pub mod extend;
#[cfg(feature = "tune")]
mod families;
mod given;
mod layer;
mod level_input;
mod line_builder;
mod parallel;
mod problem;
mod reads;
mod replay;
mod sample;
#[cfg(feature = "tune")]
mod search;
mod search_options;
mod sizes;

#[cfg(feature = "tune")]
pub(crate) use block_size::choose_block_ends;
pub use compared::ComparedDesign;
pub use design_request::DesignRequest;
pub use problem::{DesignCaching, DesignObjective};
pub(crate) use replay::design_for_lookups;
pub use sample::TableSample;
pub use search_options::DesignSearchOptions;

// Seams for the other crates of this repository: hidden, and free to change with any version.
#[doc(hidden)]
pub use {
    assess::{DesignAssessment, assess, assess_for},
    builder::LayerBuilder,
    compared::ComparedDesigns,
    complexity::step_complexity_us,
    design::{Design, DesignCost, LayerReport},
    layer::{DesignLayer, IndexPage, LayerNodes},
    level_input::LevelInput,
    problem::DesignProblem,
    reads::ReadSizes,
    replay::{LookupReplay, replay},
    search_options::LayerBuilderKind,
    sizes::{INDEX_PAGE_HEADER_BYTES, LINE_NODE_BYTES, STEP_PIECE_BYTES},
};
#[cfg(feature = "tune")]
#[doc(hidden)]
pub use {
    block_size::{BlockSizeChoice, choose_block_size},
    search::tune,
};
