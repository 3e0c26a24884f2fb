//! Indexes of a keyspace: conditions on columns that are not the key become keys of rows, read from an index; and an
//! order by such columns becomes the order in which an index leads to the rows.
//!
//! ```text
//! country = 'de' and score > 5     index by country, score desc     entries (de, 9) -> 4, (de, 7) -> 2
//!                                                                   rows 2 and 4 are looked up, and checked
//! ```

use super::index_expression::{IndexedExpression, on_columns};
use super::index_order::{IndexOrder, OrderPart};
use crate::error::external;
use crate::filter::{KnownKeys, is_about, keys_of, known_keys};
use crate::key_columns::{KeyColumns, KeyPart};
use crate::key_set::KeySet;
use arrow_schema::{Field, Schema, SchemaRef};
use datafusion::common::Column;
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use ogive::lsm::KeyspaceIndex;
use ogive::types::{Component, IndexExpression, KeyType, RecordType, TupleType};
use ogive::{Cause, Db, DbSnapshot, Error, Keyspace};
use std::borrow::Cow;
use std::ops::Bound;
use std::sync::Arc;

/// An index, and the columns by which it is, up to the first expression that SQL has no equal of.
#[derive(Debug)]
pub(super) struct ConditionIndex {
    index: KeyspaceIndex,
    /// The columns of its entries: those of the rows, and those that stand for expressions.
    columns: KeyColumns,
    expressions: Vec<IndexedExpression>,
    /// The order of its entries, as far as it is one of columns of the rows.
    order: Vec<OrderPart>,
    /// The column without which it leaves rows out, if there may be such rows.
    not_null: Option<String>,
}

/// The keys of the rows to which an index leads, and its name.
#[derive(Clone, Debug)]
pub(crate) struct FoundKeys {
    pub(crate) index: String,
    pub(crate) keys: KeySet,
}

/// How rows are found by the indexes of their keyspace.
#[derive(Debug, Default)]
pub(crate) struct ByIndexes {
    /// The keys outside of which no row meets the conditions, if to read all rows costs more. The rows of these keys
    /// may have other values.
    pub(crate) found: Option<FoundKeys>,
    /// The indexes in whose order the rows may be read.
    pub(crate) orders: Vec<IndexOrder>,
    /// About how many rows are worth as much when they are looked up as what is read otherwise.
    pub(crate) otherwise: u64,
}

impl ConditionIndex {
    /// The complete indexes of a keyspace that begin with columns, of these types, or with expressions that SQL has.
    pub(super) fn of(
        db: &Db,
        keyspace: &Keyspace,
        record_type: &RecordType,
        schema: &SchemaRef,
        key: &KeyColumns,
    ) -> ogive::Result<Vec<Self>> {
        let mut found = Vec::new();
        for index in db.indexes() {
            if index.keyspace() == keyspace && index.is_complete() {
                let components = index.components()?;
                found.extend(Self::new(index, &components, record_type, schema, key)?);
            }
        }
        Ok(found)
    }

    fn new(
        index: KeyspaceIndex,
        components: &[Component],
        record_type: &RecordType,
        schema: &SchemaRef,
        key: &KeyColumns,
    ) -> ogive::Result<Option<Self>> {
        let all = record_type.columns();
        let (mut fields, mut places, mut expressions) = (schema.fields().to_vec(), Vec::new(), Vec::new());
        for ((of, expression), component) in index.definition().expressions().zip(components) {
            // A table that is older than a column does not have it.
            let Some(at) = all.iter().position(|column| column.name == of) else { break };
            if expression == IndexExpression::Column {
                if all[at].key_type != component.key_type {
                    break;
                }
                places.push(at);
                continue;
            }
            let Some((own, values)) = IndexedExpression::new(of, expression, schema.field(at).data_type()) else {
                break;
            };
            places.push(fields.len());
            fields.push(Arc::new(Field::new(own.name(), values, true)));
            expressions.push(own);
        }
        if places.is_empty() {
            return Ok(None);
        }
        let is_whole = places.len() == components.len();
        let tuple = TupleType::new(&components[..places.len()])?;
        // Rows keep the sign of a zero and the bits of a NaN, which entries do not have.
        let columns = KeyColumns::new(KeyType::Tuple(tuple), &Arc::new(Schema::new(fields)), &places, true);
        let may_be_null = |name: &str| schema.field_with_name(name).is_ok_and(|field| field.is_nullable());
        let not_null = index.definition().not_null().filter(|name| may_be_null(name)).map(str::to_owned);
        let mut order = OrderPart::of(&columns, schema);
        // Entries with the same values are in the order of the keys.
        if is_whole && order.len() == places.len() {
            order.extend(OrderPart::of(key, schema));
        }
        Ok(Some(Self { index, columns, expressions, order, not_null }))
    }

    /// Whether a condition is about one of the columns.
    pub(super) fn is_about(&self, condition: &Expr) -> bool {
        is_about(&self.columns, &on_columns(&self.expressions, condition))
    }

    /// Whether a snapshot has its entries: it may be older.
    fn is_in(&self, snapshot: &DbSnapshot) -> Result<bool> {
        match self.index.rows_within(snapshot, (Bound::Unbounded, Bound::Unbounded)) {
            Err(Error { cause: Cause::Conflict, .. }) => Ok(false),
            rows => rows.map(|_| true).map_err(external),
        }
    }

    /// What conditions tell of the entries; `None` if the index perhaps leaves such rows out.
    fn known(&self, conditions: &[Cow<'_, Expr>]) -> Option<KnownKeys> {
        let conditions: Vec<&Expr> = conditions.iter().map(AsRef::as_ref).collect();
        let known = known_keys(&self.columns, &conditions);
        let Some(not_null) = &self.not_null else { return Some(known) };
        let expression = self.expressions.iter().find(|expression| expression.of() == not_null);
        let column = Column::new_unqualified(expression.map_or(not_null.as_str(), IndexedExpression::name));
        let not_null = Expr::IsNotNull(Box::new(Expr::Column(column)));
        let (without_nulls, is_used) = keys_of(&self.columns, &[&conditions[..], &[&not_null]].concat());
        (is_used.last() == Some(&true) && without_nulls == known.keys).then_some(known)
    }

    /// The order in which it leads to the rows of conditions.
    fn ordered(&self, known: KnownKeys, rows: Option<u64>) -> IndexOrder {
        let parts = self.order.iter().enumerate().map(|(at, part)| {
            let values = known.values.get(at);
            let is_fixed = values.and_then(KeySet::points).is_some_and(|values| values.len() == 1);
            let null = self.columns.columns().get(at).map(KeyPart::null);
            let has_null = |values: &KeySet| null.is_none_or(|null| values.intersection(&null).len() > 0);
            OrderPart { is_fixed, has_nulls: part.has_nulls && values.is_none_or(has_null), ..*part }
        });
        let parts = parts.collect();
        IndexOrder {
            index: self.index.clone(),
            parts,
            is_exact: known.is_used.iter().all(|used| *used),
            ranges: known.keys,
            rows,
        }
    }
}

/// How rows of conditions are found by indexes: the keys by the one that leads to the fewest, if one leads to at most
/// `most`, and the indexes that lead to them in an order.
pub(super) fn by_indexes(
    indexes: &[ConditionIndex],
    snapshot: &DbSnapshot,
    conditions: &[&Expr],
    most: usize,
) -> Result<ByIndexes> {
    let (mut by, mut most) = (ByIndexes { otherwise: most as u64, ..ByIndexes::default() }, most);
    for index in indexes {
        let on_columns: Vec<_> = conditions.iter().map(|condition| on_columns(&index.expressions, condition)).collect();
        let Some(known) = index.known(&on_columns) else { continue };
        if !index.is_in(snapshot)? {
            continue;
        }
        if conditions.is_empty() {
            by.orders.push(index.ordered(known, None));
            continue;
        }
        if !known.is_used.contains(&true) {
            continue;
        }
        // Ranges of keys of a tuple have all keys that begin with their values, and so the entries.
        let keys = index.index.keys_within(snapshot, known.keys.ranges(), most).map_err(external)?;
        by.orders.push(index.ordered(known, keys.as_ref().map(|keys| keys.len() as u64)));
        if let Some(keys) = keys {
            let found = KeySet::of_keys(keys.iter().map(|key| &key[..]).collect());
            by.otherwise = keys.len() as u64;
            by.found = Some(FoundKeys { index: index.index.name().to_owned(), keys: found });
            match keys.len().checked_sub(1) {
                Some(fewer) => most = fewer,
                None => break,
            }
        }
    }
    Ok(by)
}
