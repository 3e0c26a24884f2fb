//! Images of stores that another process may write to, and copies of them.

pub(crate) mod checkpoint;
pub(crate) mod closed_image;
pub(crate) mod live;
