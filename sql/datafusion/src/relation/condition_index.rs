//! Indexes of a keyspace: conditions on columns that are not the key become keys of rows, read from an index.
//!
//! ```text
//! country = 'de' and score > 5     index by country, score desc     entries (de, 9) -> 4, (de, 7) -> 2
//!                                                                   rows 2 and 4 are looked up, and checked
//! ```

use crate::error::external;
use crate::filter::{is_about, keys_of};
use crate::key_columns::KeyColumns;
use crate::key_set::KeySet;
use arrow_schema::SchemaRef;
use datafusion::common::Column;
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use ogive::lsm::KeyspaceIndex;
use ogive::types::{KeyType, RecordType};
use ogive::{Db, DbSnapshot, Keyspace};

/// An index, and the columns by which it is, up to the first expression.
#[derive(Debug)]
pub(super) struct ConditionIndex {
    index: KeyspaceIndex,
    columns: KeyColumns,
}

/// The keys of the rows to which an index leads, and its name.
#[derive(Clone, Debug)]
pub(crate) struct FoundKeys {
    pub(crate) index: String,
    pub(crate) keys: KeySet,
}

impl ConditionIndex {
    /// The complete indexes of a keyspace that begin with columns, of these types.
    pub(super) fn of(
        db: &Db,
        keyspace: &Keyspace,
        record_type: &RecordType,
        schema: &SchemaRef,
    ) -> ogive::Result<Vec<Self>> {
        let mut found = Vec::new();
        let all = record_type.columns();
        for index in db.indexes() {
            if index.keyspace() != keyspace || !index.is_complete() {
                continue;
            }
            let Some((names, tuple)) = index.leading_columns()? else { continue };
            // A table that is older than a column does not have it.
            let place = |name: &&str| all.iter().position(|column| column.name == **name);
            let Some(places) = names.iter().map(place).collect::<Option<Vec<_>>>() else { continue };
            let has_types = places.iter().zip(tuple.components()).all(|(&at, part)| all[at].key_type == part.key_type);
            if has_types {
                // Rows keep the sign of a zero and the bits of a NaN, which entries do not have.
                let columns = KeyColumns::new(KeyType::Tuple(tuple), schema, &places, true);
                found.push(Self { index, columns });
            }
        }
        Ok(found)
    }

    /// Whether a condition is about one of the columns.
    pub(super) fn is_about(&self, condition: &Expr) -> bool {
        is_about(&self.columns, condition)
    }

    /// The values of the columns for which conditions are true; `None` if nothing is known of the first one, or the
    /// index perhaps leaves such rows out.
    fn values(&self, conditions: &[&Expr]) -> Option<KeySet> {
        let (values, is_used) = keys_of(&self.columns, conditions);
        if !is_used.contains(&true) {
            return None;
        }
        let Some(not_null) = self.index.definition().not_null() else { return Some(values) };
        let not_null = Expr::IsNotNull(Box::new(Expr::Column(Column::new_unqualified(not_null))));
        let (without_nulls, is_used) = keys_of(&self.columns, &[conditions, &[&not_null]].concat());
        (is_used.last() == Some(&true) && without_nulls == values).then_some(values)
    }
}

/// The keys by the index that leads to the fewest, if one leads to at most `most`.
pub(super) fn fewest_keys(
    indexes: &[ConditionIndex],
    snapshot: &DbSnapshot,
    conditions: &[&Expr],
    mut most: usize,
) -> Result<Option<FoundKeys>> {
    let mut fewest = None;
    for index in indexes {
        // Ranges of keys of a tuple have all keys that begin with their values, and so the entries.
        let Some(values) = index.values(conditions) else { continue };
        if let Some(keys) = index.index.keys_within(snapshot, values.ranges(), most).map_err(external)? {
            let found = KeySet::of_keys(keys.iter().map(|key| &key[..]).collect());
            fewest = Some(FoundKeys { index: index.index.name().to_owned(), keys: found });
            match keys.len().checked_sub(1) {
                Some(fewer) => most = fewer,
                None => break,
            }
        }
    }
    Ok(fewest)
}
