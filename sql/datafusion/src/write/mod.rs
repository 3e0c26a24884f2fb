//! Writing of rows: `COPY ... TO 'x.ogive' STORED AS OGIVE`, and `INSERT INTO` a keyspace of a store.

mod format;
mod records;
mod sink;

pub(crate) use format::OgiveFormatFactory;
pub(crate) use sink::InsertTarget;
