//! The plain proof: one separator for each piece.

/// One piece of a step function: coordinates from `separator` on, up to the next piece's, lie in the children from
/// `first_child` up to the next piece's `first_child`.
///
/// Source: AirIndex, Section 4.1 (step nodes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepPiece {
    /// Smallest coordinate of the piece.
    pub separator: u64,
    /// First child of the piece.
    pub first_child: u64,
}
