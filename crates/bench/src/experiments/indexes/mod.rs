//! What the experiments with indexes that are updated in place share: how one is made, driven, watched and priced.

mod touches;

pub(super) use touches::{Role, Touches};
