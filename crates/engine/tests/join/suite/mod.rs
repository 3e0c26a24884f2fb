//! The tests of joins. The crate root names the methods under test: `methods`, `some_methods` for long tests, and
//! `drawn_tunables`.

mod compared_keys;
mod conditions;
mod draws;
mod empty_keys;
mod faults;
mod iterators;
mod key_types;
mod null_keys;
mod rates;
mod reference;
mod rows;
