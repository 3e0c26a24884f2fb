//! The columns of a key: conditions on them as sets of keys.
//!
//! A key is one component, or a tuple of several. The bytes of the components of a tuple follow each other, and no
//! component is a prefix of another, so that a range of values of the first component is a range of keys; so is a range
//! of values of the second, where the first is a single value.

use crate::key_set::{KeyRange, KeySet, point};
use crate::packed_keys::{KeyBuffer, PackedKeys};
use arrow_array::ArrayRef;
use arrow_schema::{DataType, SchemaRef, SortOptions};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use ogive::types::{ColumnPlace, Component, KeyType, NullOrder, RecordType, TupleType, Value};
use ogive_arrow::{RecordBatchBuilder, value_of};
use std::ops::Bound;
use std::sync::Arc;

/// Most ranges that conditions on several columns are combined to: an `IN` of each becomes all pairs.
const RANGES_MAX: usize = 1 << 17;

/// The columns of the key of a relation, in the order of the key.
#[derive(Clone, Debug)]
pub(crate) struct KeyColumns {
    key_type: KeyType,
    columns: Vec<KeyPart>,
}

/// A column of a key.
#[derive(Clone, Debug)]
pub(crate) struct KeyPart {
    pub(crate) name: String,
    /// Its position in the schema of the relation.
    pub(crate) position: usize,
    component: Component,
    data_type: DataType,
    order: PartOrder,
    /// Whether it is one of several, or may be null: then its bytes tell where they end.
    in_tuple: bool,
}

/// How the order of a column's values is related to that of the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartOrder {
    /// The same.
    Same,
    /// Another one, but equal values have equal keys, and different values different ones.
    Other,
}

impl KeyColumns {
    /// The columns at these positions of a schema. With `is_raw`, values are as in a foreign file, where floats may be
    /// negative zeros or any NaN, which have an order of their own there.
    pub(crate) fn new(key_type: KeyType, schema: &SchemaRef, positions: &[usize], is_raw: bool) -> Self {
        let components: Vec<Component> = match key_type {
            KeyType::Tuple(tuple) => tuple.components().collect(),
            _ => vec![Component::new(key_type)],
        };
        let part = |(component, &position): (&Component, &usize)| {
            let field = schema.field(position);
            let is_float = matches!(component.key_type, KeyType::F32 | KeyType::F64);
            KeyPart {
                name: field.name().clone(),
                position,
                component: *component,
                data_type: field.data_type().clone(),
                in_tuple: matches!(key_type, KeyType::Tuple(_)),
                order: if is_float && is_raw { PartOrder::Other } else { PartOrder::Same },
            }
        };
        Self { key_type, columns: components.iter().zip(positions).map(part).collect() }
    }

    pub(crate) fn columns(&self) -> &[KeyPart] {
        &self.columns
    }

    /// The type of the keys.
    pub(crate) fn key_type(&self) -> KeyType {
        self.key_type
    }

    /// The order of the rows, as far as it is that of columns.
    pub(crate) fn ordering(&self) -> Option<LexOrdering> {
        let ordered = self.columns.iter().take_while(|part| part.order == PartOrder::Same);
        LexOrdering::new(
            ordered.map(|part| {
                PhysicalSortExpr::new(Arc::new(Column::new(&part.name, part.position)), part.sort_options())
            }),
        )
    }

    /// The positions of the columns by which the rows are ordered, in that order, and the direction of each.
    pub(crate) fn ordered_columns(&self) -> impl Iterator<Item = (usize, SortOptions)> {
        let ordered = self.columns.iter().take_while(|part| part.order == PartOrder::Same);
        ordered.map(|part| (part.position, part.sort_options()))
    }

    /// The values of the components of a key, as many as [`Self::ordering`] has; `None` if one has no value of the type
    /// of its column.
    pub(crate) fn scalars(&self, key: &[u8]) -> Option<Vec<ScalarValue>> {
        let mut builder =
            RecordBatchBuilder::with_columns(&RecordType::new(self.key_type, KeyType::Bytes), true, |it| {
                matches!(it.place, ColumnPlace::Key(_))
            });
        builder.append(key, None).ok()?;
        let batch = builder.finish().ok()?;
        let parts = self.columns.iter().zip(batch.columns()).take_while(|(part, _)| part.order == PartOrder::Same);
        parts
            .map(|(part, array)| match (array.data_type(), &part.data_type) {
                (one, other) if one == other => ScalarValue::try_from_array(array, 0).ok(),
                (DataType::Utf8, DataType::LargeUtf8 | DataType::Utf8View)
                | (DataType::Binary, DataType::LargeBinary | DataType::BinaryView) => {
                    ScalarValue::try_from_array(array, 0).ok()?.cast_to(&part.data_type).ok()
                }
                _ => None,
            })
            .collect()
    }

    /// Whether keys are tuples.
    pub(crate) fn is_tuple(&self) -> bool {
        matches!(self.key_type, KeyType::Tuple(_))
    }

    /// The least key with these values of the first components; `None` for values that are not of their types, or none.
    pub(crate) fn start_of(&self, values: &[ScalarValue]) -> Option<Vec<u8>> {
        let parts = self.columns.iter().zip(values).map(|(part, value)| match value.is_null() {
            true => part.encoded(&Value::Null),
            false => part.key(value).flatten(),
        });
        let prefix = parts.collect::<Option<Vec<_>>>()?.concat();
        match self.key_type.prefix_range(&prefix).0 {
            Bound::Included(start) => Some(start),
            _ => Some(prefix),
        }
    }

    /// The keys that begin with one of these prefixes, or that are one of them if keys have a single component.
    pub(crate) fn with_prefixes(&self, prefixes: KeyBuffer) -> KeySet {
        match self.is_tuple() {
            true => self.below(PackedKeys::of(prefixes).iter(), &KeySet::all()),
            false => KeySet::of_keys(prefixes),
        }
    }

    /// The column of a name.
    pub(crate) fn position_of(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|part| part.name == name)
    }

    /// The keys whose components are in these sets, one for each column of which something is known, and how many of
    /// the columns, from the first on, are taken into account.
    pub(crate) fn keys_of(&self, sets: &[Option<KeySet>]) -> (KeySet, usize) {
        if !self.is_tuple() {
            return match sets.first() {
                Some(Some(set)) => (set.clone(), 1),
                _ => (KeySet::all(), 0),
            };
        }
        let mut prefixes: KeyBuffer = [&[][..]].into_iter().collect();
        for (used, set) in sets.iter().enumerate() {
            let Some(set) = set.as_ref().filter(|set| fits(&prefixes, set)) else {
                return (self.below(prefixes.keys(), &KeySet::all()), used);
            };
            let Some(points) = set.points() else { return (self.below(prefixes.keys(), set), used + 1) };
            let mut longer = KeyBuffer::default();
            for prefix in prefixes.keys() {
                points.iter().for_each(|component| longer.push_parts(&[prefix, component]));
            }
            prefixes = longer;
        }
        (self.below(prefixes.keys(), &KeySet::all()), sets.len())
    }

    /// The keys that begin with one of the prefixes, and then a component of the set.
    fn below<'p>(&self, prefixes: impl Iterator<Item = &'p [u8]>, set: &KeySet) -> KeySet {
        let components: Vec<KeyRange> = set.ranges().collect();
        let ranges = prefixes.flat_map(|prefix| components.iter().map(|range| self.with_prefix(prefix, range)));
        KeySet::of(ranges.collect())
    }

    /// The keys that begin with a prefix and then a component of a range.
    fn with_prefix(&self, prefix: &[u8], (start, end): &KeyRange) -> KeyRange {
        let joined = |bytes: &[u8]| [prefix, bytes].concat();
        let (first, behind) = self.key_type.prefix_range(prefix);
        let start = match start {
            Bound::Unbounded => first,
            Bound::Included(start) => self.key_type.prefix_range(&joined(start)).0,
            // All keys with this component are excluded.
            Bound::Excluded(start) => match self.key_type.prefix_range(&joined(start)).1 {
                Bound::Excluded(end) => Bound::Included(end),
                _ => return (Bound::Excluded(Vec::new()), Bound::Excluded(Vec::new())),
            },
        };
        let end = match end {
            Bound::Unbounded => behind,
            Bound::Included(end) => self.key_type.prefix_range(&joined(end)).1,
            Bound::Excluded(end) => match self.key_type.prefix_range(&joined(end)).0 {
                Bound::Included(end) => Bound::Excluded(end),
                other => other,
            },
        };
        (start, end)
    }
}

/// Whether prefixes and the points of a set are not too many pairs.
fn fits(prefixes: &KeyBuffer, set: &KeySet) -> bool {
    prefixes.len().saturating_mul(set.len()) <= RANGES_MAX
}

fn is_negative_zero(literal: &ScalarValue) -> bool {
    match literal {
        ScalarValue::Float32(Some(float)) => *float == 0.0 && float.is_sign_negative(),
        ScalarValue::Float64(Some(float)) => *float == 0.0 && float.is_sign_negative(),
        _ => false,
    }
}

impl KeyPart {
    fn sort_options(&self) -> SortOptions {
        SortOptions { descending: self.component.descending, nulls_first: self.component.nulls == NullOrder::First }
    }

    /// Whether greater values come first.
    pub(crate) fn is_descending(&self) -> bool {
        self.component.descending
    }

    /// The components for which a comparison with a literal is true; `None` if that is no set of ranges.
    pub(crate) fn compared(&self, operator: Operator, literal: &ScalarValue) -> Option<KeySet> {
        use Operator::{Eq, Gt, GtEq, Lt, LtEq};
        if !matches!(operator, Eq | Gt | GtEq | Lt | LtEq) {
            return None;
        }
        if literal.is_null() {
            return Some(KeySet::none());
        }
        if self.order == PartOrder::Other && operator != Eq {
            return None;
        }
        let Some(key) = self.key(literal)? else { return Some(KeySet::none()) };
        let operator = if self.component.descending { operator.swap()? } else { operator };
        let range = match operator {
            Lt => (Bound::Unbounded, Bound::Excluded(key)),
            LtEq => (Bound::Unbounded, Bound::Included(key)),
            Gt => (Bound::Excluded(key), Bound::Unbounded),
            GtEq => (Bound::Included(key), Bound::Unbounded),
            _ => point(key),
        };
        Some(KeySet::of(vec![range]).intersection(&self.not_null()))
    }

    /// The components that are equal to one of these values; `None` if one of them cannot be compared with keys.
    pub(crate) fn in_values<'a>(&self, literals: impl Iterator<Item = &'a ScalarValue>) -> Option<KeySet> {
        let mut keys = KeyBuffer::default();
        for literal in literals.filter(|literal| !literal.is_null()) {
            if self.push_frequent(literal, &mut keys) {
                continue;
            }
            // Keys have one zero, which lists have both forms of.
            let zero = ScalarValue::new_zero(&self.data_type).ok();
            let zero = zero.filter(|_| self.order == PartOrder::Same && is_negative_zero(literal));
            if let Some(key) = self.key(zero.as_ref().unwrap_or(literal))? {
                keys.push(&key);
            }
        }
        Some(KeySet::of_keys(keys))
    }

    /// The components whose text begins with a prefix.
    pub(crate) fn with_text(&self, prefix: &str) -> Option<KeySet> {
        if self.component.key_type != KeyType::Text {
            return None;
        }
        if !self.in_tuple {
            return Some(KeySet::of(vec![KeyType::Text.prefix_range(prefix.as_bytes())]));
        }
        // The bytes of the whole text without the two that end it; a zero takes two.
        let mut bytes = self.encoded(&Value::Text(prefix.to_owned()))?;
        bytes.truncate(bytes.len().saturating_sub(2));
        Some(KeySet::of(vec![KeyType::Bytes.prefix_range(&bytes)]))
    }

    /// The components that are null.
    pub(crate) fn null(&self) -> KeySet {
        match self.component.nulls {
            NullOrder::Never => KeySet::none(),
            _ => self.encoded(&Value::Null).map_or_else(KeySet::none, |key| KeySet::of(vec![point(key)])),
        }
    }

    /// The components that are not null.
    pub(crate) fn not_null(&self) -> KeySet {
        let Some(null) = self.encoded(&Value::Null) else { return KeySet::all() };
        KeySet::of(vec![match self.component.nulls {
            NullOrder::Never => (Bound::Unbounded, Bound::Unbounded),
            NullOrder::First => (Bound::Excluded(null), Bound::Unbounded),
            NullOrder::Last => (Bound::Unbounded, Bound::Excluded(null)),
        }])
    }

    /// Adds the component of a literal of the most frequent types, without the detour by an array; returns `false` for
    /// others.
    fn push_frequent(&self, literal: &ScalarValue, keys: &mut KeyBuffer) -> bool {
        if self.in_tuple {
            return false;
        }
        match (literal, self.component.key_type, &self.data_type) {
            (ScalarValue::Int64(Some(number)), KeyType::I64, DataType::Int64) => keys.push(&ogive::encode_i64(*number)),
            (ScalarValue::UInt64(Some(number)), KeyType::U64, DataType::UInt64) => keys.push(&number.to_be_bytes()),
            (ScalarValue::Utf8(Some(text)), KeyType::Text, DataType::Utf8)
            | (ScalarValue::LargeUtf8(Some(text)), KeyType::Text, DataType::LargeUtf8)
            | (ScalarValue::Utf8View(Some(text)), KeyType::Text, DataType::Utf8View) => keys.push(text.as_bytes()),
            _ => return false,
        }
        true
    }

    /// The component of a literal; `None` unless the literal has the type of the column, and is compared as keys are.
    /// Within, `None` for a literal that no key is equal to.
    fn key(&self, literal: &ScalarValue) -> Option<Option<Vec<u8>>> {
        let array = literal.to_array().ok()?;
        if *array.data_type() != self.data_type {
            return None;
        }
        let key_type = self.component.key_type;
        let value = value_of(&array, key_type, 0);
        if value == Value::Null {
            return None;
        }
        if let Value::Float(number) = value {
            // Arrow orders zeros and NaNs by their bits; a key has one zero and one NaN.
            let is_negative_zero = number == 0.0 && number.is_sign_negative();
            if number.is_nan() || is_negative_zero || number == 0.0 && self.order == PartOrder::Other {
                return None;
            }
        }
        self.encoded(&value).map(Some)
    }

    /// The type of its values, if the values of an array are of it.
    pub(crate) fn type_of(&self, array: &ArrayRef) -> Option<KeyType> {
        (*array.data_type() == self.data_type && self.order == PartOrder::Same).then_some(self.component.key_type)
    }

    /// The bytes of a value in a key.
    pub(crate) fn encoded(&self, value: &Value) -> Option<Vec<u8>> {
        match self.in_tuple {
            true => {
                let tuple = TupleType::new(&[self.component]).ok()?;
                KeyType::Tuple(tuple).encode(&Value::Tuple(vec![value.clone()])).ok()
            }
            false => self.component.key_type.encode(value).ok(),
        }
    }
}
