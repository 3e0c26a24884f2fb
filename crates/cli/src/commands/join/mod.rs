//! `ogive join`: joins two relations by their keys. Its arguments, the two sides, the rows as text, and what is told of the join.

mod arguments;
mod records;
mod run;
mod shape;
mod show;
mod side;
mod watch;

pub(crate) use arguments::Arguments;
pub(crate) use run::run;
