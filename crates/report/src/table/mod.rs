//! The report of a table: its parts, its key curve under the layers of its index, its costs, and the look-up explorer.
//!
//! [`TablePicture`] holds what a report shows (`collect`): the nodes themselves as far as they fit a page (`held`), the
//! curve, and how hard its parts are (`parts`). `page` writes it as HTML; `assets/table.js` draws it and repeats the
//! search of the engine on the nodes that the page holds.

mod asked;
mod axis;
mod collect;
mod figures;
mod held;
mod page;
mod parts;
mod picture;
mod scan;

pub use asked::AskedKey;
pub use held::{HeldLayer, HeldNodes, HeldPlaces};
pub use parts::CurvePart;
pub use picture::{KeyCurve, NamedProfile, PictureOptions, TablePicture};
