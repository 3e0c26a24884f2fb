//! Structs as rows.

use super::data::{TypedData, TypedScalar, TypedValue};
use crate::error::Result;
use crate::types::{Field, RowBuilder, RowFields, RowType};

/// A struct that is stored as a row: see [`row!`](crate::row!).
pub trait TypedRow: TypedValue {
    /// The fields of the row.
    ///
    /// # Errors
    /// As [`RowType::new`].
    fn row_type() -> Result<&'static RowType>;
}

/// A Rust type for fields of rows: a scalar that is read as itself, or an `Option` of one, which may be null.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of fields of a row",
    label = "a row of `ogive::row!` cannot have a field of type `{Self}`",
    note = "fields are integers, floats, `bool`, `String`, `Vec<u8>`, byte arrays, dates, UUIDs, and `Option` of these"
)]
pub trait RowField: Sized {
    /// The field of this type with a name.
    fn field(name: &str) -> Field;

    /// Appends the field to a row.
    ///
    /// # Errors
    /// As [`TypedData::encode`].
    fn push(&self, row: &mut RowBuilder) -> Result<()>;

    /// The next of the fields; `None` if it has no such value.
    fn take(fields: &mut RowFields<'_>) -> Option<Self>;
}

impl<T: TypedScalar + for<'a> TypedData<Read<'a> = T>> RowField for T {
    fn field(name: &str) -> Field {
        Field::new(name, T::scalar_type())
    }

    fn push(&self, row: &mut RowBuilder) -> Result<()> {
        row.push_bytes(Some(self.to_field()?.as_ref()))
    }

    #[inline]
    fn take(fields: &mut RowFields<'_>) -> Option<Self> {
        T::decode(fields.take_field(T::scalar_type().width(), false)??)
    }
}

impl<T: TypedScalar + for<'a> TypedData<Read<'a> = T>> RowField for Option<T> {
    fn field(name: &str) -> Field {
        Field::new(name, T::scalar_type()).nullable()
    }

    fn push(&self, row: &mut RowBuilder) -> Result<()> {
        match self {
            Some(value) => value.push(row),
            None => row.push_bytes(None),
        }
    }

    #[inline]
    fn take(fields: &mut RowFields<'_>) -> Option<Self> {
        match fields.take_field(T::scalar_type().width(), true)? {
            Some(bytes) => T::decode(bytes).map(Some),
            None => Some(None),
        }
    }
}

/// Declares a struct whose values are rows: its fields are fields of the row with the same names, and those that are
/// `Option` may be null.
///
/// Fields are of the scalar types that are read as themselves, or an `Option` of one: `bool`, integers, floats,
/// `String`, `Vec<u8>`, `[u8; N]`, and the types of dates, times and UUIDs of the features `chrono`, `jiff` and `uuid`.
/// Structs with lifetimes, such as with fields of `&str`, with type parameters, or with structs as fields are not
/// supported.
///
/// Fields that are added later come at the end and must be `Option`; older rows have `None` in them. Once a program has
/// opened a keyspace with such a struct, the keyspace states the new type. Handles with the older struct that are open
/// go on: they do not see the new fields, and rows that they write have `None` there. No new one can be opened:
/// [`Keyspace::typed`](crate::Keyspace::typed) fails, so that it cannot drop the new fields. Tables state the type that
/// they were written with.
///
/// ```
/// ogive::row! {
///     /// An order.
///     #[derive(Clone, Debug, PartialEq)]
///     pub struct Order {
///         pub item: String,
///         pub price: Option<f64>,
///     }
/// }
///
/// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
/// # let db = ogive::Db::open(storage, &ogive::DbOptions::default())?;
/// let orders = db.keyspace("orders")?.typed::<u64, Order>()?;
/// let fig = Order { item: "fig".into(), price: Some(0.25) };
/// orders.insert(7, &fig)?;
/// assert_eq!(orders.load(7)?, Some(fig));
///
/// // A single field is read without copying the others.
/// let found = orders.get(7)?.expect("it was inserted");
/// assert_eq!(found.row()?.field(0)?, Some(&b"fig"[..]));
/// # Ok::<(), ogive::Error>(())
/// ```
#[macro_export]
macro_rules! row {
    (
        $(#[$attribute:meta])*
        $visible:vis struct $name:ident {
            $($(#[$field_attribute:meta])* $field_visible:vis $field:ident: $type:ty),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        $visible struct $name {
            $($(#[$field_attribute])* $field_visible $field: $type),+
        }

        impl $crate::typed::TypedData for $name {
            type Arg<'a> = $name;
            type Read<'a> = $name;
            type Bytes<'a> = ::std::vec::Vec<u8>;

            fn encode(value: &$name) -> $crate::Result<::std::vec::Vec<u8>> {
                let row_type = <$name as $crate::typed::TypedRow>::row_type()?;
                let mut row = $crate::types::RowBuilder::new(::std::clone::Clone::clone(row_type));
                $($crate::typed::RowField::push(&value.$field, &mut row)?;)+
                let mut bytes = ::std::vec::Vec::new();
                row.finish(&mut bytes)?;
                ::std::result::Result::Ok(bytes)
            }

            fn decode(bytes: &[u8]) -> ::std::option::Option<$name> {
                let row_type = <$name as $crate::typed::TypedRow>::row_type().ok()?;
                let row = $crate::types::Row::new(row_type, bytes).ok()?;
                let mut fields = row.iter();
                ::std::option::Option::Some($name {
                    $($field: $crate::typed::RowField::take(&mut fields)?),+
                })
            }
        }

        impl $crate::typed::TypedValue for $name {
            fn value_type() -> $crate::Result<$crate::types::ValueType> {
                let row_type = <$name as $crate::typed::TypedRow>::row_type()?;
                ::std::result::Result::Ok(::std::convert::From::from(::std::clone::Clone::clone(row_type)))
            }
        }

        impl $crate::typed::TypedRow for $name {
            fn row_type() -> $crate::Result<&'static $crate::types::RowType> {
                static ROW_TYPE: ::std::sync::OnceLock<$crate::types::RowType> = ::std::sync::OnceLock::new();
                if let ::std::option::Option::Some(row_type) = ROW_TYPE.get() {
                    return ::std::result::Result::Ok(row_type);
                }
                let fields = [$({
                    let name = stringify!($field);
                    <$type as $crate::typed::RowField>::field(name.strip_prefix("r#").unwrap_or(name))
                }),+];
                let row_type = $crate::types::RowType::new(fields)?;
                ::std::result::Result::Ok(ROW_TYPE.get_or_init(|| row_type))
            }
        }
    };
}
