//! Property tests of encodings. Goal: bytes order as values do, and every key, name and text leads back to what it came
//! from. Method: types and values are drawn, with many near each other and at the ends of their ranges; orders are
//! compared with one that is written down value by value, as SQL orders them.

use super::tuple::COMPONENTS_MAX;
use super::*;
use proptest::prelude::*;
use std::cmp::Ordering;
use std::ops::{Bound, RangeBounds};

/// Draws numbers from a seed.
pub(super) struct Draw(pub(super) u64);

impl Draw {
    fn word(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.word() % end as u64) as usize
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A number within a range: at an end, near zero, or anywhere.
    fn number(&mut self, min: i128, max: i128) -> i128 {
        let wide = (u128::from(self.word()) << 64 | u128::from(self.word())) as i128;
        let drawn = match self.below(4) {
            0 => self.pick(&[min, min + 1, max, max - 1]),
            1 => self.below(7) as i128 - 3,
            2 => wide >> self.below(127),
            _ => wide,
        };
        if (min..=max).contains(&drawn) { drawn } else { self.pick(&[min, max]) }
    }

    pub(super) fn scalar(&mut self) -> KeyType {
        let unit = self.pick(&[TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond]);
        let precision = 1 + self.below(38) as u8;
        let decimal = KeyType::Decimal { precision, scale: self.below(usize::from(precision) + 1) as u8 };
        let fixed = KeyType::FixedBytes(1 + self.below(16) as u8);
        let simple = [
            KeyType::Bool,
            KeyType::U8,
            KeyType::U16,
            KeyType::U32,
            KeyType::U64,
            KeyType::U128,
            KeyType::I8,
            KeyType::I16,
            KeyType::I32,
            KeyType::I64,
            KeyType::I128,
            KeyType::F32,
            KeyType::F64,
            KeyType::Text,
            KeyType::Bytes,
            KeyType::Uuid,
            KeyType::Date,
        ];
        match self.below(6) {
            0 => self.pick(&[KeyType::Time(unit), KeyType::Timestamp(unit)]),
            1 => self.pick(&[decimal, fixed]),
            2 => self.pick(&[KeyType::Text, KeyType::Bytes]),
            _ => self.pick(&simple),
        }
    }

    fn key_type(&mut self) -> KeyType {
        if self.below(2) == 0 {
            return self.scalar();
        }
        let end = if self.below(8) == 0 { COMPONENTS_MAX } else { 3 };
        let count = 1 + self.below(end);
        let components: Vec<Component> = (0..count)
            .map(|_| Component {
                key_type: self.scalar(),
                descending: self.below(2) == 0,
                nulls: self.pick(&[NullOrder::Never, NullOrder::First, NullOrder::Last]),
            })
            .collect();
        KeyType::Tuple(TupleType::new(&components).unwrap())
    }

    /// A few short strings of few distinct bytes, so that many are equal, or prefixes of each other.
    fn bytes(&mut self, among: &[u8]) -> Vec<u8> {
        (0..self.below(4)).map(|_| self.pick(among)).collect()
    }

    pub(super) fn value(&mut self, key_type: KeyType) -> Value {
        match key_type {
            KeyType::Tuple(tuple) => {
                Value::Tuple(tuple.components().map(|component| self.component(component)).collect())
            }
            KeyType::Bool => Value::Bool(self.below(2) == 0),
            KeyType::F32 | KeyType::F64 => {
                let any = match key_type {
                    KeyType::F32 => f64::from(f32::from_bits(self.word() as u32)),
                    _ => f64::from_bits(self.word()),
                };
                let ends = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN, 0.0, -0.0, 1.0, -1.0];
                Value::Float(if self.below(2) == 0 { any } else { self.pick(&ends) })
            }
            KeyType::Text => {
                let letters = self.bytes(&[0, 1, b',', b'"', b'a', b'b', 0x7f, b'\n', b'\\', b'n', b't']);
                let mut text = String::from_utf8(letters).unwrap();
                if self.below(3) == 0 {
                    text.push(self.pick(&['ä', '\u{10ffff}', '\u{ffff}']));
                }
                Value::Text(text)
            }
            KeyType::Bytes => Value::Bytes(self.bytes(&[0, 1, b'\\', b',', b'a', 0xfe, 0xff])),
            KeyType::FixedBytes(_) | KeyType::Uuid => {
                Value::Bytes((0..key_type.width().unwrap()).map(|_| self.pick(&[0, 1, 0x7f, 0xff])).collect())
            }
            _ => match (key_type.unsigned_max(), key_type.signed_range()) {
                (Some(u128::MAX), _) => Value::Unsigned(self.number(i128::MIN, i128::MAX) as u128),
                (Some(max), _) => Value::Unsigned(self.number(0, max as i128) as u128),
                (_, Some((min, max))) => Value::Signed(self.number(min, max)),
                _ => unreachable!("{key_type}"),
            },
        }
    }

    fn component(&mut self, component: Component) -> Value {
        let is_null = component.nulls != NullOrder::Never && self.below(3) == 0;
        if is_null { Value::Null } else { self.value(component.key_type) }
    }
}

/// The order of SQL: a NaN equals every NaN and is greater than all other floats; -0 equals 0.
fn scalars(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Unsigned(a), Value::Unsigned(b)) => a.cmp(b),
        (Value::Signed(a), Value::Signed(b)) => a.cmp(b),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())),
        (Value::Text(a), Value::Text(b)) => a.chars().cmp(b.chars()),
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        _ => unreachable!("{a:?} and {b:?}"),
    }
}

pub(super) fn compare(key_type: KeyType, a: &Value, b: &Value) -> Ordering {
    let (KeyType::Tuple(tuple), Value::Tuple(a), Value::Tuple(b)) = (key_type, a, b) else { return scalars(a, b) };
    let orders = tuple.components().zip(a.iter().zip(b)).map(|(component, (a, b))| {
        let null = if component.nulls == NullOrder::First { Ordering::Less } else { Ordering::Greater };
        match (a, b) {
            (Value::Null, Value::Null) => Ordering::Equal,
            (Value::Null, _) => null,
            (_, Value::Null) => null.reverse(),
            _ if component.descending => scalars(b, a),
            _ => scalars(a, b),
        }
    });
    orders.fold(Ordering::Equal, Ordering::then)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn keys_order_as_their_values(seed: u64) {
        let mut draw = Draw(seed);
        let key_type = draw.key_type();
        let (a, b) = (draw.value(key_type), draw.value(key_type));
        let keys = [key_type.encode(&a).unwrap(), key_type.encode(&b).unwrap()];
        prop_assert_eq!(keys[0].cmp(&keys[1]), compare(key_type, &a, &b), "{}: {:?} and {:?}", key_type, a, b);
        for (value, key) in [a, b].iter().zip(&keys) {
            let decoded = key_type.decode(key).unwrap();
            prop_assert_eq!(compare(key_type, &decoded, value), Ordering::Equal, "{}: {:?}", key_type, value);
            prop_assert!(key_type.width().is_none_or(|width| width == key.len()));
        }
    }

    #[test]
    fn keys_are_shown_as_they_are_read(seed: u64) {
        let mut draw = Draw(seed);
        let key_type = draw.key_type();
        let value = draw.value(key_type);
        let key = key_type.encode(&value).unwrap();
        let shown = key_type.display(&key);
        prop_assert!(!shown.chars().any(char::is_control), "{}", shown);
        prop_assert_eq!(key_type.parse(&shown).unwrap(), key, "{}: {:?} as {}", key_type, value, shown);
    }

    #[test]
    fn names_and_codes_lead_back_to_the_type(seed: u64) {
        let key_type = Draw(seed).key_type();
        prop_assert_eq!(key_type.to_string().parse::<KeyType>().unwrap(), key_type);
        match key_type {
            KeyType::Tuple(tuple) => {
                for component in tuple.components() {
                    prop_assert_eq!(Component::from_code(component.code()), Some(component));
                }
            }
            _ => prop_assert_eq!(KeyType::from_code(key_type.code()), Some(key_type)),
        }
    }

    #[test]
    fn keys_with_the_same_first_components_share_a_prefix_and_no_others(seed: u64) {
        let mut draw = Draw(seed);
        let KeyType::Tuple(tuple) = draw.key_type() else { return Ok(()) };
        let key_type = KeyType::Tuple(tuple);
        let (Value::Tuple(a), b) = (draw.value(key_type), draw.value(key_type)) else { unreachable!() };
        let Value::Tuple(values) = &b else { unreachable!() };
        let key = key_type.encode(&b).unwrap();
        for count in 0..=a.len() {
            let prefix = key_type.encode_prefix(&a[..count]).unwrap();
            let short: Vec<Component> = tuple.components().take(count).collect();
            let is_same = count == 0 || compare(
                KeyType::Tuple(TupleType::new(&short).unwrap()),
                &Value::Tuple(a[..count].to_vec()),
                &Value::Tuple(values[..count].to_vec()),
            ) == Ordering::Equal;
            prop_assert_eq!(key.starts_with(&prefix), is_same, "{}: {:?} of {:?}", key_type, &a[..count], b);
        }
    }

    #[test]
    fn the_range_of_a_prefix_has_its_keys_and_no_others(seed: u64) {
        let mut draw = Draw(seed);
        let key_type = draw.key_type();
        let keys: Vec<Vec<u8>> = (0..8).map(|_| key_type.encode(&draw.value(key_type)).unwrap()).collect();
        for key in &keys {
            for length in 0..=key.len() {
                let prefix = &key[..length];
                let (start, end) = key_type.prefix_range(prefix);
                for other in &keys {
                    let within = (start.as_ref(), end.as_ref()).contains(other);
                    prop_assert_eq!(within, other.starts_with(prefix), "{}: {:?} of {:?}", key_type, prefix, other);
                }
                if let (Some(width), Bound::Included(start)) = (key_type.width(), &start) {
                    prop_assert_eq!(start.len(), width);
                }
            }
            if key_type.width().is_some() {
                let range = key_type.prefix_range(&[&key[..], b"x"].concat());
                prop_assert!(!keys.iter().any(|other| range.contains(other)));
            }
        }
    }

    #[test]
    fn nulls_are_found_without_decoding(seed: u64) {
        let mut draw = Draw(seed);
        let key_type = draw.key_type();
        let value = draw.value(key_type);
        let key = key_type.encode(&value).unwrap();
        let has_null = matches!(&value, Value::Tuple(values) if values.contains(&Value::Null));
        let found = key_type.null_test().is_some_and(|test| test.has_null(&key));
        prop_assert_eq!(found, has_null, "{}: {:?}", key_type, value);
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(seed: u64, bytes: Vec<u8>) {
        let mut draw = Draw(seed);
        let key_type = draw.key_type();
        let mut bytes = bytes;
        if draw.below(2) == 0 {
            // Near a key.
            bytes = key_type.encode(&draw.value(key_type)).unwrap();
            match (bytes.is_empty(), draw.below(3)) {
                (true, _) => {}
                (_, 0) => bytes.truncate(draw.below(bytes.len())),
                _ => {
                    let at = draw.below(bytes.len());
                    bytes[at] = draw.pick(&[0, 1, 2, 0xfe, 0xff]);
                }
            }
        }
        let _ = key_type.display(&bytes);
        if let Ok(value) = key_type.decode(&bytes) {
            let again = key_type.encode(&value).unwrap();
            let decoded = key_type.decode(&again).unwrap();
            prop_assert_eq!(compare(key_type, &decoded, &value), Ordering::Equal);
            // Of floats, older keys distinguish zeros and NaNs.
            let name = key_type.to_string();
            prop_assert!(again == bytes || name.contains("f32") || name.contains("f64"));
        }
    }
}

#[test]
fn encodings_keep_the_order_and_print_what_was_parsed() {
    let cases: [(&str, &[&str]); 26] = [
        ("bool", &["false", "true"]),
        ("u8", &["0", "255"]),
        ("u16", &["0", "255", "256", "65535"]),
        ("u32", &["0", "1", "255", "256", "4294967295"]),
        ("u64", &["0", "1", "255", "256", "18446744073709551615"]),
        ("u128", &["0", "18446744073709551616", "340282366920938463463374607431768211455"]),
        ("i8", &["-128", "-1", "0", "127"]),
        ("i16", &["-32768", "-1", "0", "32767"]),
        ("i32", &["-2147483648", "-1", "0", "2147483647"]),
        ("i64", &["-9223372036854775808", "-1", "0", "1", "9223372036854775807"]),
        ("i128", &["-170141183460469231731687303715884105728", "-1", "0", "170141183460469231731687303715884105727"]),
        ("f32", &["-inf", "-1.5", "0", "0.1", "16777216", "1e20", "inf", "NaN"]),
        ("f64", &["-inf", "-1.152921504606847e18", "0", "0.000001", "2", "9007199254740992", "1e23", "inf", "NaN"]),
        ("text", &["", "a", "a\\nb", "b", "c:\\dir", "c:\\\\x41", "ä"]),
        ("bytes", &["", "\\x00", "a", "a\\\\b", "ä", "\\xff"]),
        ("bytes1", &["\\x00", "\\\\", "a", "\\xff"]),
        ("bytes3", &["\\x00\\x00\\x00", "a\\x00b", "abc", "ab\\xff"]),
        ("uuid", &["00000000-0000-0000-0000-000000000000", "01890a5d-ac96-774b-bcce-b302099a8057"]),
        ("date", &["-0044-03-15", "0000-01-01", "1969-12-31", "2024-02-29", "+12024-01-01"]),
        ("time(s)", &["00:00:00", "23:59:59"]),
        ("timestamp(ns)", &["1677-09-21T00:12:43.145224192", "1969-12-31T23:59:59.9", "1970-01-01T00:00:00"]),
        ("decimal(4,2)", &["-99.99", "-0.01", "0.00", "0.10", "12.00"]),
        ("decimal(38,0)", &["-99999999999999999999999999999999999999", "0", "99999999999999999999999999999999999999"]),
        ("(text, u32)", &["a,0", "a,1", "\"a,b\",0", "b,0"]),
        ("(text? nulls first, i32 desc)", &[",1", ",-1", "\"\",1", "a,7", "\"a\"\"b\",7"]),
        ("(date? nulls last, u8)", &["2024-01-01,1", ",0", ",9"]),
    ];
    for (name, texts) in cases {
        let key_type: KeyType = name.parse().unwrap();
        assert_eq!(key_type.to_string(), name);
        let keys: Vec<_> =
            texts.iter().map(|text| key_type.parse(text).unwrap_or_else(|error| panic!("{error}"))).collect();
        assert!(keys.is_sorted_by(|a, b| a < b), "{name}: {keys:?}");
        for (text, key) in texts.iter().zip(&keys) {
            assert_eq!(key_type.display(key), *text);
            assert!(key_type.width().is_none_or(|width| width == key.len()), "{name}");
        }
    }
}

#[test]
fn several_texts_of_a_value_are_one_key() {
    for (name, texts) in [
        ("f64", &["0", "-0", "0.0", "-0e7"][..]),
        ("f64", &["NaN", "-NaN", "nan"]),
        ("uuid", &["01890a5d-ac96-774b-bcce-b302099a8057", "01890A5DAC96774BBCCEB302099A8057"]),
        ("decimal(6,2)", &["1.5", "1.50", "01.500", "1.5000"]),
        ("decimal(6,2)", &["0", "-0", "-0.00", ".0"]),
        ("timestamp", &["2024-05-01", "2024-05-01 00:00", "2024-05-01T02:00:00+02:00", "2024-05-01T00:00:00Z"]),
    ] {
        let key_type: KeyType = name.parse().unwrap();
        let keys: Vec<_> = texts.iter().map(|text| key_type.parse(text).unwrap()).collect();
        assert!(keys.iter().all(|key| *key == keys[0]), "{name}: {keys:?}");
    }
}

#[test]
fn numbers_beyond_the_range_of_a_float_are_none() {
    for (key_type, text) in [(KeyType::F64, "1e309"), (KeyType::F64, "-1e999"), (KeyType::F32, "3.5e38")] {
        assert!(key_type.parse(text).is_err(), "{key_type}: {text}");
    }
    for (key_type, text) in [(KeyType::F64, "1e308"), (KeyType::F64, "-Infinity"), (KeyType::F32, "+inf")] {
        assert!(key_type.parse(text).is_ok(), "{key_type}: {text}");
    }
}

#[test]
fn floats_of_many_zeros_have_an_exponent_that_is_read_again() {
    let large = ["100000000000000000000", "1e21", "1.5e21", "1.7976931348623157e308"];
    let small = ["123456.789", "0.000001", "9.9e-7", "1e-7", "2.2250738585072014e-308", "5e-324"];
    let shorter = ["0.000001", "9.9e-7", "1e-7", "1e-45", "16777216", "1e21", "3.4028235e38"];
    for (key_type, texts) in [(KeyType::F64, &large[..]), (KeyType::F64, &small), (KeyType::F32, &shorter)] {
        let values = ValueType::Scalar(key_type);
        for text in texts.iter().flat_map(|text| [(*text).to_owned(), format!("-{text}")]) {
            assert_eq!(key_type.display(&key_type.parse(&text).unwrap()), text, "{key_type}");
            assert_eq!(values.display(&values.parse(&text).unwrap()), text, "{key_type}");
        }
    }
    for text in ["0", "-0", "NaN", "inf", "-inf"] {
        let values = ValueType::Scalar(KeyType::F64);
        assert_eq!(values.display(&values.parse(text).unwrap()), text);
    }
}

/// Integers around all powers of two, and drawn ones: each is its float, or no key, and every float is the key of its
/// text.
#[test]
fn integers_are_floats_where_they_are_equal() {
    let mut state = 7_u128;
    let mut drawn = || {
        state = state.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(1);
        (state >> 1).cast_signed() >> (state >> 121)
    };
    let powers = (0..127).flat_map(|power| [(1_i128 << power) - 1, 1_i128 << power, (1_i128 << power) + 1]);
    let numbers: Vec<i128> = powers.chain((0..5_000).map(|_| drawn())).flat_map(|number| [number, -number]).collect();
    for number in numbers {
        let text = number.to_string();
        let f32_holds = number as f32 as i128 == number;
        let f64_holds = number as f64 as i128 == number;
        for (key_type, holds) in [(KeyType::F32, f32_holds), (KeyType::F64, f64_holds)] {
            let tuple: KeyType = format!("({key_type}?)").parse().unwrap();
            assert_eq!(key_type.parse(&text).is_ok(), holds, "{key_type}: {text}");
            assert_eq!(key_type.parse(&format!("+00{text}")).is_ok(), holds && number >= 0, "{key_type}: {text}");
            assert_eq!(tuple.parse(&text).is_ok(), holds, "{tuple}: {text}");
        }
        let nearest = Value::Float(number as f64);
        let shown = KeyType::F64.display(&KeyType::F64.encode(&nearest).unwrap());
        assert_eq!(KeyType::F64.decode(&KeyType::F64.parse(&shown).unwrap()).unwrap(), nearest, "{shown}");
        // As a value, it may also be written as a float without an exponent.
        let values = ValueType::Scalar(KeyType::F64);
        let shortest = (number as f64).to_string();
        assert_eq!(values.decode(&values.parse(&shortest).unwrap()).unwrap(), nearest, "{shortest}");
        assert_eq!(values.parse(&text).is_ok(), f64_holds || shortest == text, "{text}");
    }
}

#[test]
fn prefixes_are_text_bytes_or_components() {
    for (name, prefix, keys, others) in [
        ("text", "ab", &["ab", "abc"][..], &["a", "b"][..]),
        ("bytes", "a\\x00", &["a\\x00", "a\\x00b"], &["a", "ab"]),
        ("(text, u8)", "a", &["a,0", "a,9"], &["ab,0", "b,0"]),
        ("(text?, u8, u8)", ",1", &[",1,0"], &["\"\",1,0", ",2,0"]),
        ("(text, u8)", "", &["a,0", "\"\",9"], &[]),
        ("(text?, u8)", "", &[",0", ",9"], &["a,0", "\"\",9"]),
    ] {
        let key_type: KeyType = name.parse().unwrap();
        let prefix = key_type.parse_prefix(prefix).unwrap();
        let begins = |text: &&str| key_type.parse(text).unwrap().starts_with(&prefix);
        assert!(keys.iter().all(begins) && !others.iter().any(begins), "{name}");
    }
    for (name, prefix) in [("u64", "1"), ("date", "2024"), ("(u8, u8)", "1,2,3"), ("(u8)", "x"), ("bytes", "\\x")] {
        assert!(name.parse::<KeyType>().unwrap().parse_prefix(prefix).is_err(), "{name}: {prefix}");
    }
}

#[test]
fn what_is_not_of_a_type_is_refused() {
    for (name, text) in [
        ("bool", "1"),
        ("u8", "256"),
        ("u64", "-1"),
        ("u32", "4294967296"),
        ("u64", "1.0"),
        ("u64", ""),
        ("i8", "128"),
        ("i128", "170141183460469231731687303715884105728"),
        ("f64", "one"),
        ("f64", ""),
        ("bytes3", "ab"),
        ("bytes3", "abcd"),
        ("bytes", "\\q"),
        ("bytes", "\\x"),
        ("bytes", "\\x4"),
        ("bytes", "\\x4g"),
        ("bytes", "\\x+4"),
        ("uuid", "01890a5dac96774bbcceb302099a805"),
        ("uuid", "01890a5d-ac96-774b-bcce-b302099a805g"),
        ("uuid", "01890a5-dac96-774b-bcce-b302099a8057"),
        ("date", "2023-02-29"),
        ("time(s)", "12:00:00.5"),
        ("timestamp(s)", "+300000000000-01-01"),
        ("decimal(4,2)", "100.00"),
        ("decimal(4,2)", "0.001"),
        ("decimal(4,2)", "1e1"),
        ("decimal(4,2)", ""),
        ("decimal(4,2)", "."),
        ("decimal(4,2)", "--1"),
        ("decimal(4,2)", "+1"),
        ("(text, u8)", "a"),
        ("(text, u8)", "a,1,2"),
        ("(text, u8)", "a,"),
        ("(text, u8)", "\"a,1"),
        ("(text, u8)", "a\"b,1"),
        ("(text, u8)", "\"a\"b,1"),
    ] {
        let key_type: KeyType = name.parse().unwrap();
        assert!(key_type.parse(text).is_err(), "{name}: {text}");
    }
    for (name, value) in [
        ("f32", Value::Float(0.1)),
        ("u8", Value::Signed(1)),
        ("i8", Value::Signed(128)),
        ("text", Value::Null),
        ("time(s)", Value::Unsigned(86_400)),
        ("(u8)", Value::Null),
        ("(u8)", Value::Tuple(vec![Value::Null])),
        ("(u8)", Value::Unsigned(1)),
        ("(u8?)", Value::Tuple(vec![])),
        ("uuid", Value::Bytes(vec![0; 15])),
    ] {
        assert!(name.parse::<KeyType>().unwrap().encode(&value).is_err(), "{name}: {value:?}");
    }
}

#[test]
fn a_name_that_no_type_has_lists_them_all() {
    for wrong in [
        "",
        "u12",
        "Bytes",
        "bytes0",
        "bytes256",
        "bytes-1",
        "bytes999",
        "bytes01",
        "time(m)",
        "timestamp()",
        "decimal",
        "decimal(0,0)",
        "decimal(39,2)",
        "decimal(4,5)",
        "decimal(4)",
        "decimal(+4,2)",
        "()",
        "(u8",
        "(u8,)",
        "((u8))",
        "(u8 down)",
        "(u8 nulls first)",
        "(u8) desc",
    ] {
        let message = wrong.parse::<KeyType>().unwrap_err().to_string();
        let is_explained =
            ["key types are bool, u8", "has no nulls to order", "tuple"].iter().any(|part| message.contains(part));
        assert!(is_explained, "{wrong}: {message}");
    }
    assert!(KeyType::FixedBytes(0).check().is_err());
    let many = vec![Component::new(KeyType::U8); COMPONENTS_MAX + 1];
    assert!(TupleType::new(&many).is_err() && TupleType::new(&many[1..]).is_ok());
    assert!(TupleType::new(&[Component::new("(u8)".parse().unwrap())]).is_err());
}

#[test]
fn keys_of_another_width_are_shown_with_escapes() {
    for name in ["u32", "u64", "u128", "i64", "i128", "f64", "uuid", "date", "decimal(3,1)", "(u8, u8)"] {
        assert_eq!(name.parse::<KeyType>().unwrap().display(b"abc\xff\0"), "abc\\xff\\x00", "{name}");
    }
}

#[test]
fn codes_round_trip_and_stay() {
    for (name, stored) in [
        ("u64", &[1][..]),
        ("u128", &[2]),
        ("i64", &[3]),
        ("f64", &[4]),
        ("text", &[5]),
        ("bytes", &[6]),
        ("u32", &[7]),
        ("i128", &[8]),
        ("bytes1", &[257]),
        ("bytes16", &[272]),
        ("bool", &[9]),
        ("uuid", &[16]),
        ("date", &[17]),
        ("time(s)", &[20]),
        ("timestamp(ns)", &[27]),
        ("decimal(10,2)", &[4738]),
        ("(text, date desc)", &[65_538, 5, 8_192 + 17]),
        ("(u8?)", &[65_537, 0xc000 + 10]),
    ] {
        let key_type: KeyType = name.parse().unwrap();
        assert_eq!(key_type.codes(), stored, "{name}");
        let mut next = stored.iter().copied();
        assert_eq!(KeyType::from_codes(|| next.next()), Some(key_type), "{name}");
    }
    for unknown in [
        &[][..],
        &[0],
        &[18],
        &[28],
        &[256],
        &[512],
        &[4096],
        &[u64::MAX],
        &[65_536],
        &[65_537],
        &[65_537, 0],
        &[65_537, 0x8005],
        &[65_553, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    ] {
        let mut next = unknown.iter().copied();
        assert_eq!(KeyType::from_codes(|| next.next()), None, "{unknown:?}");
    }
}

#[test]
fn a_prefix_of_a_single_component_is_one_of_its_text() {
    let texts = ["", "a", "ab", "abc", "b", "é1", "é", "a\0", "a\0b", "A"];
    for name in ["(text?)", "(text? nulls first)", "(text)", "(text desc)"] {
        let key_type: KeyType = name.parse().unwrap();
        for prefix in ["a", "ab", "é", "a\0", "b", "x"] {
            let bytes = key_type.parse_prefix(prefix).unwrap();
            for text in texts {
                let key = key_type.encode(&Value::Tuple(vec![Value::Text(text.into())])).unwrap();
                assert_eq!(key.starts_with(&bytes), text.starts_with(prefix), "{name}: {prefix:?} of {text:?}");
            }
        }
    }
    let pair: KeyType = "(text, text)".parse().unwrap();
    let key = pair.encode(&Value::Tuple(vec![Value::Text("ab".into()), Value::Text("c".into())])).unwrap();
    assert!(key.starts_with(&pair.parse_prefix("ab").unwrap()) && !key.starts_with(&pair.parse_prefix("a").unwrap()));
}

/// docs/format/types.md: the sign of a zero is that of the value, in rows and alone; a key has one zero.
#[test]
fn values_keep_the_sign_of_zero_and_keys_have_none() {
    for key_type in [KeyType::F32, KeyType::F64] {
        let row: ValueType = format!("{{x: {key_type}}}").parse().unwrap();
        for zero in [0.0_f64, -0.0] {
            let sign = |value: &Value| matches!(value, Value::Float(found) if found.to_bits() == zero.to_bits());
            let scalar = ValueType::Scalar(key_type);
            let alone = scalar.decode(&scalar.encode(&Value::Float(zero)).unwrap()).unwrap();
            let Value::Tuple(fields) =
                row.decode(&row.encode(&Value::Tuple(vec![Value::Float(zero)])).unwrap()).unwrap()
            else {
                panic!("a row has fields")
            };
            assert!(sign(&alone) && sign(&fields[0]), "{zero} became {alone:?} and {fields:?}");
            assert_eq!(key_type.encode(&Value::Float(zero)).unwrap(), key_type.encode(&Value::Float(0.0)).unwrap());
        }
    }
}
