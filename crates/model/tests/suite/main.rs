//! Models, structures and routers: bounds, hostile bytes, nasty key sets.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod hardness;
mod hints;
mod inner;
mod router;
mod slots;
mod steps;
mod stored;
mod structures;
mod windows;
