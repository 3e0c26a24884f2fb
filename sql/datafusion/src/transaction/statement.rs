//! `BEGIN`, `COMMIT` and `ROLLBACK`, which DataFusion parses and does not carry out.

use super::session::SessionTransaction;
use crate::blocking::{blocking, is_of_cluster};
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Statement as SqlStatement, TransactionAccessMode, TransactionIsolationLevel, TransactionMode,
};

/// Carries out a `BEGIN`, `COMMIT` or `ROLLBACK` of a session of [`with_transactions`](super::with_transactions);
/// `false` for any other statement.
///
/// A transaction is over one store, that of the first table of a store in its statements, which it has open for writing
/// until it ends. Its statements read the store as it was at the first of them, with what they have written, and write
/// by `INSERT`, `UPDATE` and `DELETE`. A statement that fails writes nothing, and the transaction goes on.
///
/// ```
/// use datafusion::execution::SessionStateBuilder;
/// use datafusion::prelude::SessionContext;
/// use datafusion::sql::sqlparser::dialect::GenericDialect;
/// use ogive_datafusion::{OgiveOptions, parse_statements, transact, with_ogive, with_transactions};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let bank = folder.path().join("bank").display().to_string();
/// let state = with_ogive(SessionStateBuilder::new().with_default_features(), &OgiveOptions::default());
/// let context = SessionContext::from(with_transactions(state).build());
/// let text = format!(
///     "copy (values (1, 70), (2, 30)) to '{bank}' stored as ogive options (keyspace 'accounts', key 'column1');
///     create external table accounts stored as ogive location '{bank}#accounts';
///     begin;
///     update accounts set column2 = column2 - 20 where column1 = 1;
///     update accounts set column2 = column2 + 20 where column1 = 2;
///     commit"
/// );
/// for statement in parse_statements(&text, &GenericDialect {})? {
///     if !transact(&context, &statement).await? {
///         let plan = context.state().statement_to_plan(statement).await?;
///         context.execute_logical_plan(plan).await?.collect().await?;
///     }
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// A session of a cluster, whose processes would all write, and one without transactions; a second `BEGIN`, and ends of
/// what has not begun; other isolation than that of a serial order. Of `COMMIT`, those of
/// [`ogive::DbTransaction::commit`], after which nothing is written.
pub async fn transact(context: &SessionContext, statement: &Statement) -> Result<bool> {
    let Statement::Statement(statement) = statement else { return Ok(false) };
    let state = context.state();
    let word = match statement.as_ref() {
        SqlStatement::StartTransaction { .. } => "BEGIN",
        SqlStatement::Commit { .. } => "COMMIT",
        SqlStatement::Rollback { .. } => "ROLLBACK",
        _ => return Ok(false),
    };
    if is_of_cluster(&state) {
        return plan_err!(
            "{word} is refused in a cluster: one process writes a store, and its tasks run in several; run the \
             statements in a session without a cluster"
        );
    }
    let Some(session) = SessionTransaction::of(&state) else { return plan_err!("{}", no_transactions(word)) };
    match statement.as_ref() {
        SqlStatement::StartTransaction { modes, modifier, statements, exception, has_end_keyword, .. } => {
            let is_plain = modifier.is_none() && statements.is_empty() && exception.is_none() && !has_end_keyword;
            if !is_plain || !modes.iter().all(is_default) {
                return plan_err!("a transaction reads and writes, and is serializable: write BEGIN by itself");
            }
            session.begin(None)?;
        }
        SqlStatement::Commit { chain: false, .. } => blocking(move || session.commit()).await?,
        SqlStatement::Rollback { chain: false, savepoint: None } => blocking(move || session.roll_back()).await?,
        _ => return plan_err!("{word} ends the whole transaction: write it by itself"),
    }
    Ok(true)
}

/// Why a statement is refused in a session without transactions.
pub(super) fn no_transactions(word: &str) -> String {
    format!(
        "{word} is refused: this session has no transactions, and each statement is one; a program makes a session by \
         ogive_datafusion::with_transactions, and hands it statements by transact"
    )
}

/// Whether a mode is that of all transactions.
fn is_default(mode: &TransactionMode) -> bool {
    matches!(
        mode,
        TransactionMode::AccessMode(TransactionAccessMode::ReadWrite)
            | TransactionMode::IsolationLevel(TransactionIsolationLevel::Serializable)
    )
}
