//! "Updatable Learned Indexes Meet Disk-Resident DBMS" (Lan et al., SIGMOD 2023): its structures, experiments, claims,
//! and what is drawn.

pub(crate) mod claims;
pub(crate) mod experiments;
pub(crate) mod sketches;
pub mod structures;
