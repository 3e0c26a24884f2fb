//! Components of tuples, and tuples as keys.

use super::data::{TypedData, TypedKey, TypedScalar, append_component, take_fixed};
use crate::error::Result;
use crate::types::{Component, KeyType, NullOrder, TupleType};

/// A component of a tuple in descending order. `Desc<Option<T>>` has nulls first: the reverse of `Option<T>`.
///
/// ```
/// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
/// # let db = ogive::Db::open(storage, &ogive::DbOptions::default())?;
/// use ogive::typed::Desc;
///
/// // The newest reading of each sensor comes first.
/// let readings = db.keyspace("readings")?.typed::<(&str, Desc<u64>), f64>()?;
/// readings.insert(("door", Desc(17)), 21.5)?;
/// readings.insert(("door", Desc(18)), 22.0)?;
/// let (_, newest) = readings.prefix(("door",)).next().transpose()?.expect("there are two");
/// assert_eq!(newest.value()?, 22.0);
/// # Ok::<(), ogive::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Desc<T>(pub T);

impl<T: Ord> PartialOrd for Desc<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Ord> Ord for Desc<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.0.cmp(&self.0)
    }
}

/// One or more components of a tuple: of a key, a value of a multimap, or a secondary index.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of keys or values of a multimap, or of an indexed part",
    label = "`{Self}` has no order-preserving bytes that end where they say",
    note = "these are scalars, `Option` and `Desc` of them, and tuples of these"
)]
pub trait TypedParts: 'static {
    /// Components are written from this.
    type PartArg<'a>;
    /// Components are read as this.
    type Part<'a>;

    /// The components in order.
    fn components() -> Vec<Component>;

    /// Appends the components to a key.
    ///
    /// # Errors
    /// As [`TypedData::encode`].
    fn append(parts: &Self::PartArg<'_>, key: &mut Vec<u8>) -> Result<()>;

    /// Appends these components to a key.
    ///
    /// # Errors
    /// As [`TypedData::encode`].
    fn append_to(&self, key: &mut Vec<u8>) -> Result<()>;

    /// The components at the start of `key`, which is advanced; `None` if there are none.
    fn take<'a>(key: &mut &'a [u8]) -> Option<Self::Part<'a>>;
}

/// One component of a tuple: a scalar, `Option<T>` or [`Desc<T>`].
pub trait TypedComponent: TypedParts {}

impl<T: TypedScalar + ?Sized> TypedComponent for T {}
impl<T: TypedScalar> TypedComponent for Option<T> {}
impl<T: TypedScalar> TypedComponent for Desc<T> {}
impl<T: TypedScalar> TypedComponent for Desc<Option<T>> {}

fn component<T: TypedScalar + ?Sized>(descending: bool, nulls: NullOrder) -> Vec<Component> {
    vec![Component { key_type: T::scalar_type(), descending, nulls }]
}

fn append<T: TypedScalar + ?Sized>(bytes: &[u8], descending: bool, key: &mut Vec<u8>) {
    append_component(bytes, T::scalar_type().width().is_some(), descending, key);
}

/// Markers in front of components that may be null.
const NULL_FIRST: u8 = 0;
const PRESENT: u8 = 1;
const NULL_LAST: u8 = 2;

fn append_null<T: TypedScalar>(marker: u8, key: &mut Vec<u8>) {
    key.push(marker);
    key.resize(key.len() + T::scalar_type().width().unwrap_or(0), 0);
}

fn take_nullable<'a, T: TypedScalar>(key: &mut &'a [u8], null: u8, descending: bool) -> Option<Option<T::Part<'a>>> {
    let [marker] = take_fixed::<1>(key, false)?;
    if marker == null {
        let (zeros, rest) = key.split_at_checked(T::scalar_type().width().unwrap_or(0))?;
        *key = rest;
        return zeros.iter().all(|&byte| byte == 0).then_some(None);
    }
    if marker == PRESENT { T::take(key, descending).map(Some) } else { None }
}

impl<T: TypedScalar + ?Sized> TypedParts for T {
    type PartArg<'a> = T::Arg<'a>;
    type Part<'a> = <T as TypedScalar>::Part<'a>;

    fn components() -> Vec<Component> {
        component::<T>(false, NullOrder::Never)
    }

    fn append(parts: &T::Arg<'_>, key: &mut Vec<u8>) -> Result<()> {
        append::<T>(T::encode(parts)?.as_ref(), false, key);
        Ok(())
    }

    fn append_to(&self, key: &mut Vec<u8>) -> Result<()> {
        append::<T>(self.to_bytes()?.as_ref(), false, key);
        Ok(())
    }

    fn take<'a>(key: &mut &'a [u8]) -> Option<<T as TypedScalar>::Part<'a>> {
        <T as TypedScalar>::take(key, false)
    }
}

impl<T: TypedScalar> TypedParts for Desc<T> {
    type PartArg<'a> = Desc<T::Arg<'a>>;
    type Part<'a> = Desc<<T as TypedScalar>::Part<'a>>;

    fn components() -> Vec<Component> {
        component::<T>(true, NullOrder::Never)
    }

    fn append(parts: &Desc<T::Arg<'_>>, key: &mut Vec<u8>) -> Result<()> {
        append::<T>(T::encode(&parts.0)?.as_ref(), true, key);
        Ok(())
    }

    fn append_to(&self, key: &mut Vec<u8>) -> Result<()> {
        append::<T>(self.0.to_bytes()?.as_ref(), true, key);
        Ok(())
    }

    fn take<'a>(key: &mut &'a [u8]) -> Option<Desc<<T as TypedScalar>::Part<'a>>> {
        <T as TypedScalar>::take(key, true).map(Desc)
    }
}

impl<T: TypedScalar> TypedParts for Option<T> {
    type PartArg<'a> = Option<T::Arg<'a>>;
    type Part<'a> = Option<<T as TypedScalar>::Part<'a>>;

    fn components() -> Vec<Component> {
        component::<T>(false, NullOrder::Last)
    }

    fn append(parts: &Option<T::Arg<'_>>, key: &mut Vec<u8>) -> Result<()> {
        match parts {
            None => append_null::<T>(NULL_LAST, key),
            Some(part) => {
                key.push(PRESENT);
                append::<T>(T::encode(part)?.as_ref(), false, key);
            }
        }
        Ok(())
    }

    fn append_to(&self, key: &mut Vec<u8>) -> Result<()> {
        match self {
            None => append_null::<T>(NULL_LAST, key),
            Some(part) => {
                key.push(PRESENT);
                append::<T>(part.to_bytes()?.as_ref(), false, key);
            }
        }
        Ok(())
    }

    fn take<'a>(key: &mut &'a [u8]) -> Option<Option<<T as TypedScalar>::Part<'a>>> {
        take_nullable::<T>(key, NULL_LAST, false)
    }
}

impl<T: TypedScalar> TypedParts for Desc<Option<T>> {
    type PartArg<'a> = Desc<Option<T::Arg<'a>>>;
    type Part<'a> = Desc<Option<<T as TypedScalar>::Part<'a>>>;

    fn components() -> Vec<Component> {
        component::<T>(true, NullOrder::First)
    }

    fn append(parts: &Desc<Option<T::Arg<'_>>>, key: &mut Vec<u8>) -> Result<()> {
        match &parts.0 {
            None => append_null::<T>(NULL_FIRST, key),
            Some(part) => {
                key.push(PRESENT);
                append::<T>(T::encode(part)?.as_ref(), true, key);
            }
        }
        Ok(())
    }

    fn append_to(&self, key: &mut Vec<u8>) -> Result<()> {
        match &self.0 {
            None => append_null::<T>(NULL_FIRST, key),
            Some(part) => {
                key.push(PRESENT);
                append::<T>(part.to_bytes()?.as_ref(), true, key);
            }
        }
        Ok(())
    }

    fn take<'a>(key: &mut &'a [u8]) -> Option<Desc<Option<<T as TypedScalar>::Part<'a>>>> {
        take_nullable::<T>(key, NULL_FIRST, true).map(Desc)
    }
}

macro_rules! tuples {
    ($(($($name:ident $part:ident),+))+) => {$(
        impl<$($name: TypedComponent),+> TypedParts for ($($name,)+) {
            type PartArg<'a> = ($($name::PartArg<'a>,)+);
            type Part<'a> = ($($name::Part<'a>,)+);

            fn components() -> Vec<Component> {
                [$($name::components()),+].concat()
            }

            fn append(($($part,)+): &Self::PartArg<'_>, key: &mut Vec<u8>) -> Result<()> {
                $($name::append($part, key)?;)+
                Ok(())
            }

            fn append_to(&self, key: &mut Vec<u8>) -> Result<()> {
                let ($($part,)+) = self;
                $($part.append_to(key)?;)+
                Ok(())
            }

            fn take<'a>(key: &mut &'a [u8]) -> Option<Self::Part<'a>> {
                Some(($($name::take(key)?,)+))
            }
        }

        impl<$($name: TypedComponent),+> TypedData for ($($name,)+) {
            type Arg<'a> = ($($name::PartArg<'a>,)+);
            type Read<'a> = ($($name::Part<'a>,)+);
            type Bytes<'a> = Vec<u8>;

            fn encode(value: &Self::Arg<'_>) -> Result<Vec<u8>> {
                let mut key = Vec::new();
                <Self as TypedParts>::append(value, &mut key)?;
                Ok(key)
            }

            fn decode(mut bytes: &[u8]) -> Option<Self::Read<'_>> {
                let parts = <Self as TypedParts>::take(&mut bytes)?;
                bytes.is_empty().then_some(parts)
            }
        }

        impl<$($name: TypedComponent),+> TypedKey for ($($name,)+) {
            fn key_type() -> Result<KeyType> {
                TupleType::new(&<Self as TypedParts>::components()).map(KeyType::Tuple)
            }
        }
    )+};
}
tuples!((A a, B b) (A a, B b, C c) (A a, B b, C c, D d) (A a, B b, C c, D d, E e) (A a, B b, C c, D d, E e, F f));

/// The beginning of keys of type `K`: for tuples the first components, as a tuple, and for text and bytes a part.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no prefix of keys of type `{K}`",
    label = "keys of type `{K}` do not begin with it",
    note = "a prefix of tuples is a tuple of their first components, such as `(1,)`; of text a `&str`, of bytes `&[u8]`"
)]
pub trait TypedPrefix<K: ?Sized> {
    /// Appends the bytes that all keys with this prefix begin with.
    ///
    /// # Errors
    /// As [`TypedData::encode`].
    fn append_prefix(&self, key: &mut Vec<u8>) -> Result<()>;
}

macro_rules! prefixes {
    ($(($($name:ident $part:ident),+) of ($($all:ident),+))+) => {$(
        impl<$($all: TypedComponent),+> TypedPrefix<($($all,)+)> for ($($name::PartArg<'_>,)+) {
            fn append_prefix(&self, key: &mut Vec<u8>) -> Result<()> {
                let ($($part,)+) = self;
                $($name::append($part, key)?;)+
                Ok(())
            }
        }
    )+};
}
prefixes!(
    (A a) of (A, B)
    (A a) of (A, B, C)
    (A a, B b) of (A, B, C)
    (A a) of (A, B, C, D)
    (A a, B b) of (A, B, C, D)
    (A a, B b, C c) of (A, B, C, D)
    (A a) of (A, B, C, D, E)
    (A a, B b) of (A, B, C, D, E)
    (A a, B b, C c) of (A, B, C, D, E)
    (A a, B b, C c, D d) of (A, B, C, D, E)
    (A a) of (A, B, C, D, E, F)
    (A a, B b) of (A, B, C, D, E, F)
    (A a, B b, C c) of (A, B, C, D, E, F)
    (A a, B b, C c, D d) of (A, B, C, D, E, F)
    (A a, B b, C c, D d, E e) of (A, B, C, D, E, F)
);

macro_rules! plain_prefixes {
    ($($prefix:ty: $($key:ty),+;)+) => {$($(
        impl TypedPrefix<$key> for $prefix {
            fn append_prefix(&self, key: &mut Vec<u8>) -> Result<()> {
                key.extend_from_slice(self.as_ref());
                Ok(())
            }
        }
    )+)+};
}
plain_prefixes!(&str: str, &'static str, String; &[u8]: [u8], &'static [u8], Vec<u8>;);
