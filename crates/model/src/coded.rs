//! The coded step node: exact separators stored as a line plus packed residuals.
//!
//! A *group* codes the separators of up to [`GROUP_CHILDREN_MAX`] neighbouring children:
//!
//! ```text
//! separator(j) = start + ((mantissa * j << exponent) >> 28) + ((residual_j - bias) << shift)     0 < j < count
//! separator(0) = start
//! ```
//!
//! Only `residual_j` is stored for each child, in `width` bits; a header of 16 bytes holds the rest. A separator need
//! not be a key: any value in the gap between two children is valid, and the coding chooses one whose low `shift` bits
//! need not be stored. If the writer may also choose where a child ends ([`Cuts`]), the separator is chosen first, and
//! the child ends where it falls.
//!
//! Guarantee: the node is **exact**. Every key is led to the child that holds it if it is present, for any key set;
//! hard keys only cost wider residuals, at worst a plain separator. Not guaranteed: a better bound on the bytes per
//! child for adversarial keys.
//!
//! All arithmetic is on integers, so every machine decodes the same separators.

mod fit;
mod group;
mod layer;
mod strings;

pub use fit::{Cuts, Effort, EvenCuts, FlexibleGroup, fit_fences, fit_flexible};
pub use group::{GROUP_CHILDREN_MAX, GroupHeader};
pub use layer::{
    CodedLayer, DecodedGroup, GROUP_BYTES, encode_row, search, separator_at, stored_len, visit_children, visit_groups,
};
pub use strings::{
    Separator, StringCuts, StringGroup, StringLayer, cheapest_border, check_front_coded, common_prefix, first_string,
    fit_strings, search_strings, shortest_separator, visit_separators,
};
