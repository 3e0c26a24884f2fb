//! Builders of layers with their parameters.

use super::search_options::{BuilderKind, SearchOptions};
use ogive_model::rmi::RootKind;
use std::fmt;

/// A builder with its parameters. A granularity (lambda) in bytes is rounded to whole children, at least one.
///
/// Source: AirIndex, Section 5.2 and Appendix A.1. [`Builder::Coded`] is our own, [`Builder::Pla`] is from the
/// PGM-index, [`Builder::Plr`] from Bourbon, and [`Builder::Rmi`], [`Builder::Spline`], [`Builder::Radix`] and
/// [`Builder::HistTree`] from the structures of these names.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Builder {
    /// Greedy step: each piece covers as many children as lambda holds.
    GStep {
        /// Largest number of pieces in one index page.
        pieces: u32,
        /// Largest window.
        lambda_bytes: u64,
    },
    /// Greedy band: each node covers as many children as keep its window within lambda.
    GBand {
        /// Largest window.
        lambda_bytes: u64,
    },
    /// Equal band: children grouped by lambda, a line through each group.
    EBand {
        /// Size of a group.
        lambda_bytes: u64,
    },
    /// Coded separators, one for as many children as lambda holds.
    Coded {
        /// Size of a window.
        lambda_bytes: u64,
    },
    /// Optimal piecewise linear approximation.
    Pla {
        /// Largest distance of the right child from its prediction.
        error_children: u64,
    },
    /// Greedy piecewise linear regression.
    Plr {
        /// Largest distance of the right child from its prediction.
        error_children: u64,
    },
    /// Regression lines, one for each range of keys that a trained root model assigns to one of its leaves.
    Rmi {
        /// The root model. It is not stored: it only determines the borders between nodes.
        root: RootKind,
        /// Number of leaf models; those without children are omitted.
        leaves: u64,
    },
    /// The segments of a greedy spline.
    Spline {
        /// Largest distance of the right child from its prediction.
        error_children: u64,
    },
    /// A radix table: bins of equal width over the keys, each with a flat line over its children.
    Radix {
        /// Number of bins, rounded down to a power of two.
        bins: u64,
    },
    /// A compact hist-tree: a radix table whose crowded bins are divided again.
    HistTree {
        /// Number of bins that a range of keys is divided into.
        bins: u64,
        /// Largest window of a bin that is not divided.
        lambda_bytes: u64,
    },
}

impl fmt::Display for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GStep { lambda_bytes, .. } => write!(f, "gstep({lambda_bytes})"),
            Self::GBand { lambda_bytes } => write!(f, "gband({lambda_bytes})"),
            Self::EBand { lambda_bytes } => write!(f, "eband({lambda_bytes})"),
            Self::Coded { lambda_bytes } => write!(f, "coded({lambda_bytes})"),
            Self::Pla { error_children } => write!(f, "pla({error_children})"),
            Self::Plr { error_children } => write!(f, "plr({error_children})"),
            Self::Rmi { root, leaves } => write!(f, "rmi-{}({leaves})", root.name()),
            Self::Spline { error_children } => write!(f, "spline({error_children})"),
            Self::Radix { bins } => write!(f, "radix({bins})"),
            Self::HistTree { bins, lambda_bytes } => write!(f, "hist-tree({bins},{lambda_bytes})"),
        }
    }
}

impl Builder {
    /// A builder of this kind and granularity.
    pub(super) fn of_kind(kind: BuilderKind, lambda_bytes: u64, options: &SearchOptions) -> Self {
        match kind {
            BuilderKind::GStep => Self::GStep { pieces: options.step_pieces.unwrap_or(u32::MAX), lambda_bytes },
            BuilderKind::GBand => Self::GBand { lambda_bytes },
            BuilderKind::EBand => Self::EBand { lambda_bytes },
            BuilderKind::Coded => Self::Coded { lambda_bytes },
        }
    }
}
