//! AirIndex: its figures with the claims and their judges in `items`, the runs that repeat them in `steps`.

mod items;
mod steps;

pub(super) use items::AIRINDEX;
