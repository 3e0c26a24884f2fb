//! Storages, meters and measured profiles.

mod measure;
mod meter;
mod storage;
mod update;
