//! Transactions of a session: `BEGIN`, `COMMIT` and `ROLLBACK` over one store.
//!
//! ```text
//! BEGIN            the session notes it
//! first statement  its store is opened for writing, and a transaction of the engine begins: it has a snapshot
//! statements       read through the transaction, which sees its own writes, and write to it
//! COMMIT           the engine validates what was read, and writes all or nothing
//! ```

mod rows;
mod session;
mod statement;

pub(crate) use session::{OpenTransaction, SessionTransaction, refuse_within};
pub use session::{begin_transaction, has_transaction, with_transactions};
pub use statement::transact;
