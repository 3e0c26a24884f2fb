//! File formats: documented examples, and fixtures that older versions wrote.

mod fixtures;
mod index_fixtures;
mod index_ogive;
mod page;
mod profile;
mod store;
mod store_models;
mod table;
