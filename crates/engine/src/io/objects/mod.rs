//! Objects of object stores, as the engine writes them.

pub(super) mod object_writer;
