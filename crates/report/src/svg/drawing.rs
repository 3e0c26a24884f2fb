//! Drawings, and the places where they stand.

/// The place where a drawing stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a page of this crate, whose style it uses.
    Page,
    /// In a file of its own, with a style of its own.
    File,
}

/// A drawing.
pub trait Drawing {
    /// The drawing as SVG.
    fn to_svg(&self, place: Place) -> String;
}

/// Number of colours; further series repeat them with other marks and dashes.
pub(super) const COLORS: usize = 7;
