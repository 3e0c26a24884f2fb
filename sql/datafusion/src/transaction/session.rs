//! The transaction of a session, and its store.

use super::rows::TransactionRelation;
use super::statement::no_transactions;
use crate::error::external;
use crate::relation::{Relation, RelationIdentity, absolute};
use crate::write::existing;
use datafusion::catalog::Session;
use datafusion::common::plan_err;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::{LogicalPlan, Statement};
use datafusion::prelude::SessionContext;
use ogive::types::RecordType;
use ogive::{Cause, Db, DbOptions, DbTransaction, Error, Keyspace};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// The transaction of a session, which is noted in its configuration.
#[derive(Debug, Default)]
pub(crate) struct SessionTransaction {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
enum State {
    /// Each statement is a transaction of its own.
    #[default]
    None,
    /// No store was read or written yet.
    Begun,
    Of(Arc<OpenTransaction>),
}

/// A transaction of a store.
#[derive(Debug)]
pub(crate) struct OpenTransaction {
    location: String,
    db: Db,
    /// Whether the store was opened for it, and is closed with it.
    is_own: bool,
    /// None once it has ended.
    transaction: RwLock<Option<DbTransaction>>,
    /// What becomes true when its rows are there, for the tables that wrote them.
    written: Mutex<Vec<Arc<AtomicBool>>>,
}

/// Gives a session of [`with_ogive`](crate::with_ogive) transactions, which [`transact`](super::transact) begins and
/// ends.
///
/// To be called once the builder has the configuration of the session, in which this is noted.
#[must_use]
pub fn with_transactions(mut builder: SessionStateBuilder) -> SessionStateBuilder {
    builder.config().get_or_insert_default().set_extension(Arc::new(SessionTransaction::default()));
    builder
}

/// Whether a transaction of a session has begun, and has not ended.
#[must_use]
pub fn has_transaction(context: &SessionContext) -> bool {
    SessionTransaction::of(&context.state()).is_some_and(|session| session.is_begun())
}

/// Begins a transaction of a session in a store that the program has open for writing; its tables name the store by
/// this path or URL. Others may write to it meanwhile, by the same handle, and `COMMIT` fails if they wrote what the
/// transaction has read: begin it again then.
///
/// # Errors
/// A session without transactions, or in which one has begun.
pub fn begin_transaction(context: &SessionContext, location: &str, db: &Db) -> Result<()> {
    match SessionTransaction::of(&context.state()) {
        Some(session) => session.begin(Some(OpenTransaction::new(&absolute(location), db.clone(), false))),
        None => plan_err!("{}", no_transactions("a transaction")),
    }
}

/// Refuses a statement that is no part of a transaction, if one has begun.
///
/// # Errors
/// If one has.
pub(crate) fn refuse_within(session: &dyn Session, statement: &str) -> Result<()> {
    match SessionTransaction::of(session).filter(|session| session.is_begun()) {
        Some(_) => {
            plan_err!("{statement} is no part of a transaction, which reads and changes rows; COMMIT or ROLLBACK first")
        }
        None => Ok(()),
    }
}

impl SessionTransaction {
    /// That of a session; `None` if it has no transactions.
    pub(crate) fn of(session: &dyn Session) -> Option<Arc<Self>> {
        session.config().get_extension()
    }

    /// Refuses statements of transactions in plans: they are carried out before.
    pub(crate) fn refuse_plan(plan: &LogicalPlan) -> Result<()> {
        match plan {
            LogicalPlan::Statement(statement @ (Statement::TransactionStart(_) | Statement::TransactionEnd(_))) => {
                plan_err!("{}", no_transactions(statement.name()))
            }
            _ => Ok(()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_begun(&self) -> bool {
        !matches!(*self.state(), State::None)
    }

    pub(super) fn begin(&self, of: Option<OpenTransaction>) -> Result<()> {
        let mut state = self.state();
        if !matches!(*state, State::None) {
            return plan_err!("a transaction has begun already; COMMIT or ROLLBACK it first");
        }
        *state = of.map_or(State::Begun, |of| State::Of(Arc::new(of)));
        Ok(())
    }

    /// The transaction, if one has begun, of the store at a path or URL: the first of its tables tells the store, which
    /// is opened for writing then.
    ///
    /// # Errors
    /// Another store; as [`Db::open`].
    pub(crate) fn at(&self, location: &str) -> Result<Option<Arc<OpenTransaction>>> {
        let mut state = self.state();
        match &*state {
            State::None => Ok(None),
            State::Of(open) if open.location == location => Ok(Some(open.clone())),
            State::Of(open) => plan_err!(
                "a transaction is over one store, and has begun in {}: {location} is another one; COMMIT or ROLLBACK \
                 first",
                open.location
            ),
            State::Begun => {
                let db = Db::open(location, &DbOptions::default().create(false)).map_err(external)?;
                let open = Arc::new(OpenTransaction::new(location, db, true));
                *state = State::Of(open.clone());
                Ok(Some(open))
            }
        }
    }

    fn end(&self, word: &str) -> Result<Option<Arc<OpenTransaction>>> {
        match std::mem::take(&mut *self.state()) {
            State::None => plan_err!("{word}: no transaction has begun; BEGIN begins one"),
            State::Begun => Ok(None),
            State::Of(open) => Ok(Some(open)),
        }
    }

    /// Writes all or nothing; the transaction has ended in either case.
    pub(super) fn commit(&self) -> Result<()> {
        self.end("COMMIT")?.map_or(Ok(()), |open| open.end(true))
    }

    pub(super) fn roll_back(&self) -> Result<()> {
        self.end("ROLLBACK")?.map_or(Ok(()), |open| open.end(false))
    }
}

impl OpenTransaction {
    fn new(location: &str, db: Db, is_own: bool) -> Self {
        let transaction = RwLock::new(Some(db.begin()));
        Self { location: location.to_owned(), db, is_own, transaction, written: Mutex::default() }
    }

    /// Calls a function with the transaction.
    ///
    /// # Errors
    /// If it has ended, for rows of a statement that are read later; those of the function.
    pub(super) fn with<T>(&self, work: impl FnOnce(&DbTransaction) -> ogive::Result<T>) -> ogive::Result<T> {
        let transaction = self.transaction.read().unwrap_or_else(PoisonError::into_inner);
        let ended = || Error::input(format!("the transaction in {} has ended; run the statement again", self.location));
        work(transaction.as_ref().ok_or_else(ended)?)
    }

    /// A keyspace as the transaction reads and writes it.
    ///
    /// # Errors
    /// If there is none of this name, or its rows have other types than these.
    pub(super) fn keyspace(&self, name: &str, types: Option<&RecordType>) -> ogive::Result<Keyspace> {
        let Some(found) = existing(&self.db, &self.location, name, false)? else {
            return Err(Error::keyspace_dropped(&self.location, name));
        };
        let own = found.record_type();
        match types.filter(|types| **types != *own) {
            Some(types) => {
                let both = [own.to_string(), types.to_string()];
                Err(Error::wrong_record_type(&self.location, name, [&both[0], &both[1]], 0))
            }
            None => Ok(found),
        }
    }

    /// The rows of a keyspace as the transaction sees them.
    ///
    /// # Errors
    /// As [`Self::keyspace`].
    pub(crate) fn relation(self: &Arc<Self>, identity: &RelationIdentity) -> Result<Arc<dyn Relation>> {
        let keyspace = self.keyspace(&identity.keyspace, identity.types.as_ref()).map_err(external)?;
        Ok(Arc::new(TransactionRelation::new(self, &self.db, keyspace, &self.location).map_err(external)?))
    }

    /// Sets rows of a keyspace, or removes those without a value; none if one is refused. `is_stale` becomes true when
    /// they are committed.
    ///
    /// # Errors
    /// As [`Self::keyspace`] and [`DbTransaction::insert`].
    pub(crate) fn change(
        &self,
        keyspace: &str,
        types: Option<&RecordType>,
        changes: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
        is_stale: Arc<AtomicBool>,
    ) -> Result<()> {
        let keyspace = self.keyspace(keyspace, types).map_err(external)?;
        let changed = self.with(|transaction| {
            let before = transaction.savepoint();
            let changed = changes.iter().try_for_each(|(key, value)| match value {
                Some(value) => transaction.insert(&keyspace, key, value),
                None => transaction.remove(&keyspace, key),
            });
            changed.inspect_err(|_| transaction.rollback_to(before))
        });
        changed.map_err(external)?;
        self.written.lock().unwrap_or_else(PoisonError::into_inner).push(is_stale);
        Ok(())
    }

    fn end(&self, is_commit: bool) -> Result<()> {
        let transaction = self.transaction.write().unwrap_or_else(PoisonError::into_inner).take();
        let ended = match transaction.filter(|_| is_commit) {
            Some(transaction) => transaction.commit(),
            None => Ok(()),
        };
        let closed = if self.is_own { self.db.close() } else { Ok(()) };
        ended.map_err(refused)?;
        if is_commit {
            let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
            written.iter().for_each(|is_stale| is_stale.store(true, Ordering::Release));
        }
        closed.map_err(external)
    }
}

/// The error of a commit. Of a conflict it is known that nothing was written; the statement before is not the remedy.
fn refused(error: Error) -> DataFusionError {
    match error.cause {
        Cause::Conflict => DataFusionError::Execution(format!(
            "{}; nothing was written: run the transaction again, from its BEGIN",
            error.message()
        )),
        _ => external(error),
    }
}
