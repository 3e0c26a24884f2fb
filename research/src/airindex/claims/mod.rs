//! AirIndex: its figures with the claims and their judges in `items`, the runs that repeat them in `steps`.

mod items;
mod steps;

pub(crate) use items::AIRINDEX;
