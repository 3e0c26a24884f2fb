//! `ogive join`: arguments, the two inputs, rows as text, and reports.

mod arguments;
mod compare;
mod condition;
mod on;
#[cfg(feature = "parquet")]
mod parquet;
mod records;
mod run;
mod shape;
mod show;
mod side;
mod watch;

pub(crate) use arguments::JoinArguments;
pub(crate) use run::run;
