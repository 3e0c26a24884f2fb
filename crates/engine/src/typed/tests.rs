//! Property tests of Rust types as keys. Goal: their bytes are those of [`KeyType::encode`], which is tested by itself,
//! they lead back to the values, and other bytes to none. Method: values are drawn by proptest.

use super::*;
use crate::types::{KeyType, Value};
use proptest::prelude::*;
use std::fmt::Debug;

/// Checks a key against the value that it stands for, and that its bytes lead back to `read`.
fn check<K: TypedKey + ?Sized>(key: &K::Arg<'_>, value: &Value, is_read: impl FnOnce(&K::Read<'_>) -> bool) {
    let key_type = K::key_type().unwrap();
    let bytes = K::encode(key).unwrap();
    let bytes = bytes.as_ref();
    assert_eq!(bytes, key_type.encode(value).unwrap(), "{key_type} {value:?}");
    assert!(is_read(&K::decode(bytes).unwrap()), "{key_type} {value:?}");
    if let KeyType::Tuple(_) = key_type {
        assert!(K::decode(&[bytes, &[0]].concat()).is_none() && K::decode(&bytes[..bytes.len() - 1]).is_none());
    }
}

fn check_all<T>(value: T, shown: Value)
where
    T: Copy + Debug + PartialEq + TypedScalar + for<'a> TypedData<Arg<'a> = T, Read<'a> = T>,
    T: for<'a> TypedScalar<Part<'a> = T>,
{
    check::<T>(&value, &shown, |read| *read == value);
    let tuple = |parts: Vec<Value>| Value::Tuple(parts);
    let parts = [shown.clone(), Value::Unsigned(1)];
    check::<(T, u8)>(&(value, 1), &tuple(parts.to_vec()), |read| *read == (value, 1));
    check::<(Desc<T>, u8)>(&(Desc(value), 1), &tuple(parts.to_vec()), |read| *read == (Desc(value), 1));
    for given in [Some(value), None] {
        let parts = vec![given.map_or(Value::Null, |_| shown.clone()), Value::Unsigned(1)];
        check::<(Option<T>, u8)>(&(given, 1), &tuple(parts.clone()), |read| *read == (given, 1));
        check::<(Desc<Option<T>>, u8)>(&(Desc(given), 1), &tuple(parts), |read| *read == (Desc(given), 1));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn integers_have_the_bytes_of_their_key_types(number: u128) {
        let signed = number as i128;
        macro_rules! check_integers {
            ($($unsigned:ident $signed:ident),+) => {$(
                for (number, signed) in [(number, signed), (0, 0), ($unsigned::MAX.into(), $signed::MIN.into())] {
                    let (number, signed) = (number as $unsigned, signed as $signed);
                    check_all(number, Value::Unsigned(number.into()));
                    check_all(signed, Value::Signed(signed.into()));
                }
            )+};
        }
        check_integers!(u8 i8, u16 i16, u32 i32, u64 i64, u128 i128);
        check_all(number % 2 == 0, Value::Bool(number % 2 == 0));
        let array: [u8; 5] = std::array::from_fn(|at| (number >> at) as u8);
        check_all(array, Value::Bytes(array.to_vec()));
    }

    #[test]
    fn floats_have_the_bytes_of_their_key_types(wide: f64, narrow: f32) {
        for wide in [wide, 0.0, f64::INFINITY, f64::NEG_INFINITY] {
            check_all(wide, Value::Float(wide));
        }
        for narrow in [narrow, 0.0, f32::INFINITY, f32::MIN] {
            check_all(narrow, Value::Float(narrow.into()));
        }
        check::<f64>(&-0.0, &Value::Float(-0.0), |read| read.to_bits() == 0);
        check::<f32>(&-f32::NAN, &Value::Float(f64::NAN), |read| read.is_nan());
    }

    #[test]
    fn text_and_bytes_have_the_bytes_of_their_key_types(
        text in "[\0\u{1}aä\u{ffff}]{0,6}",
        bytes in "[\0\u{1}a\u{7f}]{0,6}",
    ) {
        let bytes = [bytes.as_bytes(), &[0xff][..usize::from(text.len() % 2 == 0)]].concat();
        let (text, bytes) = (text.as_str(), bytes.as_slice());
        let (text_value, bytes_value) = (Value::Text(text.into()), Value::Bytes(bytes.into()));
        check::<str>(&text, &text_value, |read| *read == text);
        check::<&str>(&text, &text_value, |read| *read == text);
        check::<String>(&text, &text_value, |read| read == text);
        check::<[u8]>(&bytes, &bytes_value, |read| *read == bytes);
        check::<&[u8]>(&bytes, &bytes_value, |read| *read == bytes);
        check::<Vec<u8>>(&bytes, &bytes_value, |read| read == bytes);
        let both = Value::Tuple(vec![text_value.clone(), bytes_value.clone()]);
        check::<(&str, &[u8])>(&(text, bytes), &both, |read| read.0 == text && read.1 == bytes);
        check::<(Desc<String>, Desc<&[u8]>)>(&(Desc(text), Desc(bytes)), &both, |read| {
            read.0.0 == text && read.1.0 == bytes
        });
        let nulls = Value::Tuple(vec![Value::Null, bytes_value, Value::Null]);
        check::<(Option<&str>, Option<Vec<u8>>, Desc<Option<&str>>)>(&(None, Some(bytes), Desc(None)), &nulls, |read| {
            read.0.is_none() && read.1.as_deref() == Some(bytes) && read.2.0.is_none()
        });
        let mut own = Vec::new();
        (Some(text.to_owned()), Desc(bytes.to_vec())).append_to(&mut own).unwrap();
        let given = <(Option<&str>, Desc<&[u8]>)>::encode(&(Some(text), Desc(bytes))).unwrap();
        assert_eq!(own, given);
    }

    #[test]
    fn decoders_take_any_bytes(bytes: Vec<u8>) {
        type Key = (Option<&'static str>, Desc<u16>, Desc<Option<&'static [u8]>>, bool);
        if let Some(read) = Key::decode(&bytes) {
            let (text, number, own, flag) = &read;
            let given = (text.as_deref(), *number, Desc(own.0.as_deref()), *flag);
            assert_eq!(Key::encode(&given).unwrap(), bytes);
        }
        assert_eq!(Key::decode(&bytes).is_some(), Key::key_type().unwrap().decode(&bytes).is_ok());
        assert_eq!(str::decode(&bytes).is_some(), KeyType::Text.decode(&bytes).is_ok());
        assert_eq!(bool::decode(&bytes).is_some(), KeyType::Bool.decode(&bytes).is_ok());
    }
}

#[test]
fn the_names_of_types_are_those_of_sql() {
    let shown = <(&str, Desc<u64>, Option<f64>, Desc<Option<i8>>, [u8; 3], bool)>::key_type().unwrap().to_string();
    assert_eq!(shown, "(text, u64 desc, f64? nulls last, i8? desc nulls first, bytes3, bool)");
}

#[test]
fn text_of_a_tuple_is_borrowed_where_it_can_be() {
    let bytes = <(&str, &str)>::encode(&("plain", "ze\0ro")).unwrap();
    let (plain, with_zero) = <(&str, &str)>::decode(&bytes).unwrap();
    assert!(matches!(plain, std::borrow::Cow::Borrowed("plain")));
    assert_eq!(with_zero, "ze\0ro");
}

#[cfg(any(feature = "chrono", feature = "jiff"))]
mod times {
    use super::*;

    /// Checks that a key is shown as `text`.
    pub(super) fn check_text<T>(value: T, text: &str)
    where
        T: TypedKey + PartialEq + for<'a> TypedData<Arg<'a> = T, Read<'a> = T>,
    {
        let bytes = T::encode(&value).unwrap();
        assert_eq!(T::key_type().unwrap().display(bytes.as_ref()), text);
        assert!(T::decode(bytes.as_ref()).unwrap() == value);
        let [low, high] = [0, 0xff].map(|byte| vec![byte; bytes.as_ref().len()]);
        // Far beyond what the crates can hold: no panic.
        _ = (T::decode(&low).is_some(), T::decode(&high).is_some());
    }
}

#[cfg(feature = "chrono")]
#[test]
fn times_of_chrono_are_shown_as_what_they_are() {
    use chrono::{NaiveDate, NaiveTime};
    use times::check_text;
    let date = NaiveDate::from_ymd_opt(2024, 2, 29).unwrap();
    let time = NaiveTime::from_hms_micro_opt(23, 59, 58, 1).unwrap();
    check_text(date, "2024-02-29");
    check_text(NaiveDate::from_ymd_opt(1969, 12, 31).unwrap(), "1969-12-31");
    check_text(time, "23:59:58.000001");
    check_text(date.and_time(time), "2024-02-29T23:59:58.000001");
    check_text(date.and_time(time).and_utc(), "2024-02-29T23:59:58.000001");
    let leap = NaiveTime::from_hms_nano_opt(23, 59, 59, 1_500_000_000).unwrap();
    assert!(NaiveTime::encode(&leap).is_err());
}

#[cfg(feature = "jiff")]
#[test]
fn times_of_jiff_are_shown_as_what_they_are() {
    use jiff::civil::{Date, DateTime, Time, date, time};
    use jiff::{SignedDuration, Timestamp};
    use times::check_text;
    let (day, hour) = (date(2024, 2, 29), time(23, 59, 58, 1000));
    check_text(day, "2024-02-29");
    check_text(date(1969, 12, 31), "1969-12-31");
    check_text(hour, "23:59:58.000001");
    check_text(day.to_datetime(hour), "2024-02-29T23:59:58.000001");
    let noon = Timestamp::UNIX_EPOCH + SignedDuration::from_micros(1_500_000);
    check_text(noon, "1970-01-01T00:00:01.5");
    let mut at = Date::MIN;
    while let Ok(next) = at.checked_add(SignedDuration::from_hours(24 * 97)) {
        let read = <Date as TypedData>::decode(&Date::encode(&at).unwrap());
        assert_eq!(read, Some(at));
        at = next;
    }
    for ends in [DateTime::MIN, DateTime::MAX.with().subsec_nanosecond(999_999_000).build().unwrap()] {
        assert_eq!(DateTime::decode(&DateTime::encode(&ends).unwrap()), Some(ends));
    }
    assert_eq!(Time::decode(&Time::encode(&Time::MAX).unwrap()).unwrap().hour(), 23);
}

#[cfg(feature = "uuid")]
#[test]
fn uuids_are_shown_as_what_they_are() {
    let uuid: u128 = 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef;
    let key = uuid::Uuid::from_u128(uuid);
    let shown = uuid::Uuid::key_type().unwrap().display(&uuid::Uuid::encode(&key).unwrap());
    assert_eq!(shown, "01234567-89ab-cdef-0123-456789abcdef");
    check_all(key, Value::Bytes(uuid.to_be_bytes().to_vec()));
}
