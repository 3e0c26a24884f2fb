//! Whole runs, by subject.

mod applied;
#[cfg(feature = "parquet")]
mod beside;
mod book;
mod changes;
mod columns;
mod compared_keys;
mod dbs;
mod demo;
mod every_type;
mod expiry;
mod external;
mod flags;
mod floats;
mod folders;
#[cfg(feature = "object-store")]
mod http;
mod indexes;
mod info;
mod input_types;
mod inputs;
mod joined_on;
mod joins;
mod key_types;
mod keyspaces;
mod kinds;
#[cfg(feature = "parquet")]
mod lake_files;
mod live;
mod lost_logs;
mod messages;
mod methods;
#[cfg(unix)]
mod null_keys;
mod open_files;
mod outputs;
#[cfg(feature = "parquet")]
mod parquet_types;
mod partial;
mod passed_on;
mod recognised;
mod repairs;
mod reports;
mod round_trips;
mod rows;
mod run;
mod sampled_types;
mod shared;
mod sides;
mod standard_streams;
mod stored_indexes;
mod stores;
mod tables;
mod tour;
mod usage;
mod verbs;
mod waiting;
mod waves;
mod workload;
