//! The layer builders F: each turns a level input into an index layer.

use super::line_builder::{LineBuilder, VALUES_MAX};
use super::search_options::{DesignSearchOptions, LayerBuilderKind};
use std::fmt;

/// A builder with its parameters. A granularity (lambda) in bytes is rounded to whole children, at least one.
///
/// Source: AirIndex, Section 5.2 and Appendix A.1. [`LayerBuilder::Coded`] is our own, and [`LayerBuilder::Pla`] is
/// from the PGM-index.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum LayerBuilder {
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
    /// A builder of another crate.
    #[doc(hidden)]
    Given {
        /// What it builds.
        builder: &'static LineBuilder,
        /// Its parameters.
        values: [u64; VALUES_MAX],
    },
}

impl fmt::Display for LayerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GStep { lambda_bytes, .. } => write!(f, "gstep({lambda_bytes})"),
            Self::GBand { lambda_bytes } => write!(f, "gband({lambda_bytes})"),
            Self::EBand { lambda_bytes } => write!(f, "eband({lambda_bytes})"),
            Self::Coded { lambda_bytes } => write!(f, "coded({lambda_bytes})"),
            Self::Pla { error_children } => write!(f, "pla({error_children})"),
            Self::Given { builder, values } => {
                let values: Vec<String> = values.iter().take(builder.fields.len()).map(u64::to_string).collect();
                write!(f, "{}({})", builder.name, values.join(","))
            }
        }
    }
}

impl LayerBuilder {
    /// A builder of this kind and granularity.
    pub(super) fn of_kind(kind: LayerBuilderKind, lambda_bytes: u64, options: &DesignSearchOptions) -> Self {
        match kind {
            LayerBuilderKind::GStep => Self::GStep { pieces: options.step_pieces.unwrap_or(u32::MAX), lambda_bytes },
            LayerBuilderKind::GBand => Self::GBand { lambda_bytes },
            LayerBuilderKind::EBand => Self::EBand { lambda_bytes },
            LayerBuilderKind::Coded => Self::Coded { lambda_bytes },
        }
    }
}
