//! Indexes: kinds, structures, leaves and links.

mod kinds;
mod leaves;
mod links;
mod structures;
