//! Shapes of table models: regressions, as in the paper, and others (Bourbon, Section 6, "Model choices").

use super::key_fences::{KeyFences, key_number};
use super::model::PositionModel;
use crate::models::Locate;
use crate::models::pgm::Pgm;
use crate::models::radix_spline::{RadixSpline, RadixSplineSetting};
use crate::models::rmi::{Rmi, RmiSetting, RootKind};
use ogive_model::Fence;
use std::fmt::Debug;

/// Nodes that a PGM-index searches on each level above its lines: the default of its authors' code.
const PGM_UPPER_ERROR: u64 = 4;
/// Records of a leaf of an RMI, on average, for each record of the error bound: a regression of uniform keys has about
/// as many records to a line.
const RMI_RECORDS_PER_ERROR: u64 = 8;
/// Records for each entry of a radix table, for each record of the error bound. An entry takes 4 bytes, a line 28.
const RADIX_RECORDS_PER_ERROR: u64 = 2;
/// Larger tables get regressions or separators: regressions are fitted part by part, the others need the fences between
/// all records at once, 16 bytes each.
const SHAPED_RECORDS_MAX: u64 = 1 << 20;

/// The shape of a model of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelShape {
    /// Greedy piecewise linear regression, as in the paper (Section 4.1).
    Regression,
    /// One line from the first to the last record, with its measured error.
    Line,
    /// A greedy spline, searched by bisection.
    Spline,
    /// A greedy spline under a radix table.
    RadixSpline,
    /// A PGM-index: the fewest lines, in levels.
    Pgm,
    /// A recursive model index: a line that selects one of many lines.
    Rmi,
    /// No model: the exact separators of the table.
    Separators,
}

impl ModelShape {
    /// All shapes, that of the paper first.
    pub const ALL: [Self; 7] =
        [Self::Regression, Self::Line, Self::Spline, Self::RadixSpline, Self::Pgm, Self::Rmi, Self::Separators];

    /// Name of the shape in commands and documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::Line => "line",
            Self::Spline => "spline",
            Self::RadixSpline => "radix-spline",
            Self::Pgm => "pgm",
            Self::Rmi => "rmi",
            Self::Separators => "separators",
        }
    }

    /// Whether tables of this many records may have a model of this shape.
    pub(super) const fn suits(self, records: u64) -> bool {
        matches!(self, Self::Regression | Self::Separators) || records <= SHAPED_RECORDS_MAX
    }
}

/// The way in which the shape of a table's model is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeChoice {
    /// All models have this shape; those of tables too large for it are regressions.
    Fixed(ModelShape),
    /// The first tables of a level try all shapes; later ones take that of the shortest lookups, as measured.
    ByCost,
}

/// Predicted positions of the records of a table, by a model of any shape but a regression.
#[derive(Debug)]
pub(super) struct LocatedModel {
    prefix: Vec<u8>,
    structure: Box<dyn LocateShared>,
}

/// A structure that threads share.
trait LocateShared: Locate + Debug + Send + Sync {}

impl<T: Locate + Debug + Send + Sync> LocateShared for T {}

impl LocatedModel {
    /// A model of this shape; `None` for regressions and separators.
    pub(super) fn new(keys: KeyFences, shape: ModelShape, error: u64) -> Option<Self> {
        let fences = keys.fences();
        let records = fences.len() as u64 + 1;
        let structure: Box<dyn LocateShared> = match shape {
            ModelShape::Regression | ModelShape::Separators => return None,
            ModelShape::Line => Box::new(spline(fences, records, 0)),
            ModelShape::Spline => Box::new(spline(fences, error, 0)),
            ModelShape::RadixSpline => {
                let entries = records / RADIX_RECORDS_PER_ERROR.saturating_mul(error.max(1));
                Box::new(spline(fences, error, entries.max(1).ilog2()))
            }
            ModelShape::Pgm => Box::new(Pgm::build(fences, error, PGM_UPPER_ERROR)),
            ModelShape::Rmi => {
                let leaves = records / RMI_RECORDS_PER_ERROR.saturating_mul(error.max(1));
                let leaves = usize::try_from(leaves).unwrap_or(usize::MAX);
                Box::new(Rmi::build(fences, RmiSetting { root: RootKind::Linear, leaves }))
            }
        };
        Some(Self { prefix: keys.into_prefix(), structure })
    }
}

fn spline(fences: &[Fence], error_children: u64, radix_bits: u32) -> RadixSpline {
    RadixSpline::build(fences, RadixSplineSetting { error_children, radix_bits })
}

/// A model of a table.
#[derive(Debug)]
pub(super) enum TableModel {
    Regression(PositionModel),
    Located(LocatedModel),
    Separators,
}

impl TableModel {
    /// The first and the last position that may hold a key, both included; `None` for separators.
    #[inline]
    pub(super) fn window(&self, key: &[u8]) -> Option<(u64, u64)> {
        match self {
            Self::Regression(model) => model.window(key),
            Self::Located(model) => {
                let window = model.structure.window(key_number(&model.prefix, key));
                Some((*window.start(), *window.end()))
            }
            Self::Separators => None,
        }
    }

    /// Number of lines or segments.
    pub(super) fn segments(&self) -> usize {
        match self {
            Self::Regression(model) => model.segments(),
            Self::Located(model) => model.structure.leaves(),
            Self::Separators => 0,
        }
    }

    /// Bytes of memory.
    pub(super) fn memory_bytes(&self) -> u64 {
        match self {
            Self::Regression(model) => model.memory_bytes(),
            Self::Located(model) => model.prefix.len() as u64 + model.structure.resident_bytes(),
            Self::Separators => 0,
        }
    }

    /// Whether it is the exact separators of the table.
    pub(super) fn is_separators(&self) -> bool {
        matches!(self, Self::Separators)
    }
}
