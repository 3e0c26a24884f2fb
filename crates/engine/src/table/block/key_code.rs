//! Keys of one length as literal bytes and numbers: which bytes of the keys of a block are the same in all, and how the
//! others read as numbers that are in the order of the keys.
//!
//! ```text
//! user00000000004711        "user" | 14 decimal digits
//! 0000002a 000003e8 (hex)   8 bytes, which a block may find to be the same in all its keys, | 8 bytes
//! 1b4e28ba-2fa1-11d2-...    8 hexadecimal digits | "-" | 4 digits | ...
//! ```

use super::parts::KEY_WINDOW_BYTES_MAX;
use std::cmp::Ordering;

/// Longest key that is coded, in bytes: text forms of UUIDs have 36.
pub(in crate::table) const CODED_KEY_BYTES_MAX: usize = 64;
/// Digits of hexadecimal numbers that are letters.
const HEX_LETTERS: u8 = 6;
/// Most numbers of a key: the five groups of a UUID.
pub(in crate::table) const KEY_WORDS_MAX: usize = 5;

/// The symbols of a number in a key, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::table) enum Alphabet {
    /// All bytes: a big-endian integer.
    Bytes,
    Decimal,
    LowerHex,
    UpperHex,
}

impl Alphabet {
    /// Alphabets of text, those with fewer symbols first.
    const TEXT: [Self; 3] = [Self::Decimal, Self::LowerHex, Self::UpperHex];

    pub(in crate::table) fn of_code(code: u8) -> Option<Self> {
        [Self::Bytes, Self::Decimal, Self::LowerHex, Self::UpperHex].get(usize::from(code).checked_sub(1)?).copied()
    }

    pub(in crate::table) fn code(self) -> u8 {
        self as u8 + 1
    }

    fn symbols(self) -> &'static [u8] {
        match self {
            Self::Bytes => &[],
            Self::Decimal => b"0123456789",
            Self::LowerHex => b"0123456789abcdef",
            Self::UpperHex => b"0123456789ABCDEF",
        }
    }

    /// Most symbols of a number of 64 bits.
    pub(in crate::table) fn length_max(self) -> usize {
        match self {
            Self::Bytes => 8,
            Self::Decimal => 19,
            Self::LowerHex | Self::UpperHex => 16,
        }
    }

    fn base(self) -> u64 {
        if self == Self::Bytes { 256 } else { self.symbols().len() as u64 }
    }

    /// Number of symbols before a byte, and whether the byte is one itself.
    #[inline]
    fn rank(self, byte: u8) -> (u64, bool) {
        let first_letter = match self {
            Self::Bytes => return (u64::from(byte), true),
            Self::LowerHex => b'a',
            Self::Decimal | Self::UpperHex => b'A',
        };
        match byte {
            0..b'0' => (0, false),
            b'0'..=b'9' => (u64::from(byte - b'0'), true),
            _ if byte < first_letter => (10, false),
            _ if self != Self::Decimal && byte - first_letter < HEX_LETTERS => {
                (10 + u64::from(byte - first_letter), true)
            }
            _ => (self.base(), false),
        }
    }

    /// The number that `text` reads as; `None` if a byte is no symbol.
    #[inline]
    pub(in crate::table) fn number(self, text: &[u8]) -> Option<u64> {
        if self == Self::Bytes {
            return Some(text.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)));
        }
        text.iter().try_fold(0_u64, |number, &byte| match self.rank(byte) {
            (rank, true) => Some(number * self.base() + rank),
            _ => None,
        })
    }

    /// Writes a number as symbols that fill `text`; `None` if it has more.
    #[inline]
    pub(in crate::table) fn write(self, mut number: u64, text: &mut [u8]) -> Option<()> {
        if self == Self::Bytes {
            let bytes = number.to_be_bytes();
            let (zeros, bytes) = bytes.split_at_checked(8_usize.checked_sub(text.len())?)?;
            text.copy_from_slice(bytes);
            return zeros.iter().all(|&byte| byte == 0).then_some(());
        }
        let symbols = self.symbols();
        if self == Self::Decimal {
            // Division by a constant is a multiplication.
            for symbol in text.iter_mut().rev() {
                *symbol = b'0' + (number % 10) as u8;
                number /= 10;
            }
        } else {
            for symbol in text.iter_mut().rev() {
                *symbol = *symbols.get((number % 16) as usize)?;
                number /= 16;
            }
        }
        (number == 0).then_some(())
    }

    /// The least number of `length` symbols that is not before the beginning of `text`, and whether `text` begins with
    /// that number; `None` if all numbers are before it.
    #[inline]
    pub(in crate::table) fn bound(self, text: &[u8], length: usize) -> Option<(u64, bool)> {
        if self == Self::Bytes
            && length == 8
            && let Some(word) = text.first_chunk()
        {
            return Some((u64::from_be_bytes(*word), true));
        }
        let mut number = 0_u64;
        for at in 0..length {
            let (rank, is_symbol) = text.get(at).map_or((0, false), |&byte| self.rank(byte));
            number = number.checked_mul(self.base())?.checked_add(rank)?;
            if !is_symbol {
                number = (at + 1..length).try_fold(number, |number, _| number.checked_mul(self.base()))?;
                return (number <= self.greatest(length)).then_some((number, false));
            }
        }
        Some((number, true))
    }

    /// The greatest number of `length` symbols.
    fn greatest(self, length: usize) -> u64 {
        self.base().checked_pow(length as u32).map_or(u64::MAX, |beyond| beyond - 1)
    }
}

/// A part of all keys of a block: bytes that are the same in all, or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::table) struct CodedKeySpan {
    /// `None` for literal bytes.
    pub(in crate::table) alphabet: Option<Alphabet>,
    pub(in crate::table) length: usize,
}

/// How keys of one length are divided. Bytes outside the numbers are the same in all keys. Without spans, keys may have
/// any length, and are [front-coded](super::coded).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::table) struct KeyCode {
    pub(in crate::table) spans: Vec<CodedKeySpan>,
    /// A key of this form, with zeros for the numbers.
    template: Vec<u8>,
}

impl KeyCode {
    /// Keys as big-endian integers, the last of which end with the key; `None` for keys that are too long or empty.
    pub(in crate::table) fn of_bytes(key: &[u8]) -> Option<Self> {
        let words = key.len().div_ceil(8);
        if key.is_empty() || words > KEY_WORDS_MAX {
            return None;
        }
        let first = key.len() - 8 * (words - 1);
        let span = |length: usize| CodedKeySpan { alphabet: Some(Alphabet::Bytes), length };
        let spans = (0..words).map(|word| span(if word == 0 { first } else { 8 })).collect();
        Some(Self { spans, template: vec![0; key.len()] })
    }

    /// Keys as text with numbers, as some of them show: runs of digits are numbers, all else must be the same in all
    /// keys. `None` if they are not of this form.
    pub(in crate::table) fn of_text<'a>(mut keys: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let first = keys.next().filter(|key| key.len() <= CODED_KEY_BYTES_MAX)?;
        // For each byte, the alphabets that all keys allow there, and whether it is the same in all.
        let allowed = |byte: u8| Alphabet::TEXT.map(|alphabet| alphabet.rank(byte).1);
        let mut places: Vec<([bool; 3], bool)> = first.iter().map(|&byte| (allowed(byte), true)).collect();
        for key in keys {
            if key.len() != first.len() {
                return None;
            }
            for ((place, &byte), &one) in places.iter_mut().zip(key).zip(first) {
                if byte != one {
                    place.1 = false;
                    let also = allowed(byte);
                    place.0 = std::array::from_fn(|i| place.0[i] && also[i]);
                }
            }
        }
        let mut spans: Vec<CodedKeySpan> = Vec::new();
        for (at, &(allowed, is_same)) in places.iter().enumerate() {
            // Digits count as numbers even where they have been the same so far; letters only where they vary, or where
            // a hexadecimal number goes on.
            let goes_on = spans.last().and_then(|span| span.alphabet).filter(|_| at > 0);
            let position = |of: Alphabet| Alphabet::TEXT.iter().position(|&other| other == of).unwrap_or(0);
            let alphabet = match goes_on {
                Some(of) if of != Alphabet::Decimal && allowed[position(of)] => Some(of),
                _ if is_same && !allowed[0] => None,
                _ => Some(*Alphabet::TEXT.iter().zip(allowed).find(|(_, is_allowed)| *is_allowed)?.0),
            };
            push_place(&mut spans, alphabet);
        }
        let words = spans.iter().filter(|span| span.alphabet.is_some()).count();
        let literal = spans.iter().take_while(|span| span.alphabet.is_none()).map(|span| span.length).sum::<usize>();
        let is_short = first.len() - literal <= KEY_WINDOW_BYTES_MAX;
        let mut code = Self { spans, template: first.to_vec() };
        for (_, range) in code.words().collect::<Vec<_>>() {
            code.template.get_mut(range)?.fill(0);
        }
        ((1..=KEY_WORDS_MAX).contains(&words) && is_short).then_some(code)
    }

    /// Keys of any length, which share bytes with the keys before them.
    pub(in crate::table) fn front() -> Self {
        Self { spans: Vec::new(), template: Vec::new() }
    }

    /// Whether keys are front-coded.
    pub(in crate::table) fn is_front(&self) -> bool {
        self.spans.is_empty()
    }

    /// Whether all keys of that length have this form.
    fn is_of_bytes(&self) -> bool {
        self.spans.iter().all(|span| span.alphabet == Some(Alphabet::Bytes))
    }

    /// Whether a key has this form.
    #[inline]
    pub(in crate::table) fn admits(&self, key: &[u8]) -> bool {
        self.is_front() || key.len() == self.template.len() && (self.is_of_bytes() || self.admits_text(key))
    }

    fn admits_text(&self, key: &[u8]) -> bool {
        self.parts().all(|(span, at)| {
            let (part, template) = (key.get(at..at + span.length), self.template.get(at..at + span.length));
            match (span.alphabet, part) {
                (None, part) => part == template,
                (Some(alphabet), Some(part)) => alphabet.number(part).is_some(),
                _ => false,
            }
        })
    }

    fn parts(&self) -> impl Iterator<Item = (CodedKeySpan, usize)> {
        self.spans.iter().scan(0, |at, &span| {
            *at += span.length;
            Some((span, *at - span.length))
        })
    }

    /// The numbers of the form, with the offset of each in a key.
    pub(in crate::table) fn words(&self) -> impl Iterator<Item = (Alphabet, std::ops::Range<usize>)> {
        self.parts().filter_map(|(span, at)| Some((span.alphabet?, at..at + span.length)))
    }
}

/// Extends the last span by a byte, or begins a new one.
fn push_place(spans: &mut Vec<CodedKeySpan>, alphabet: Option<Alphabet>) {
    if let Some(last) = spans.last_mut() {
        let room = last.alphabet.map_or(usize::from(u8::MAX), Alphabet::length_max);
        // A decimal number that turns out to be hexadecimal becomes one, as long as it fits.
        let joins = match (last.alphabet, alphabet) {
            (Some(Alphabet::Decimal), Some(of @ (Alphabet::LowerHex | Alphabet::UpperHex))) => {
                (last.length < of.length_max()).then_some(Some(of))
            }
            (before, of) => (before == of && last.length < room).then_some(of),
        };
        if let Some(of) = joins {
            *last = CodedKeySpan { alphabet: of, length: last.length + 1 };
            return;
        }
    }
    spans.push(CodedKeySpan { alphabet, length: 1 });
}

/// The place of a key among those that begin with `literal`: before all, after all, or as what follows decides.
#[inline]
pub(in crate::table) fn against_literal<'k>(key: &'k [u8], literal: &[u8]) -> Result<&'k [u8], Ordering> {
    key.strip_prefix(literal).ok_or_else(|| key.cmp(literal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spans(code: &KeyCode) -> Vec<(Option<Alphabet>, usize)> {
        code.spans.iter().map(|span| (span.alphabet, span.length)).collect()
    }

    #[test]
    fn numbers_are_recognised_in_text() {
        let of = |keys: &[&str]| KeyCode::of_text(keys.iter().map(|key| key.as_bytes()));
        assert_eq!(spans(&of(&["user0017", "user0018"]).unwrap()), [(None, 4), (Some(Alphabet::Decimal), 4)]);
        let uuids = ["1b4e28ba-2fa1", "9999999c-8888"];
        let expected = [(Some(Alphabet::LowerHex), 8), (None, 1), (Some(Alphabet::LowerHex), 4)];
        assert_eq!(spans(&of(&uuids).unwrap()), expected);
        let oids = ["0a1f", "0b22"];
        assert_eq!(spans(&of(&oids).unwrap()), [(Some(Alphabet::LowerHex), 4)]);
        assert_eq!(of(&["apple", "beans"]), None);
        assert_eq!(of(&["a1", "a10"]), None);
        let long = ["x0000000000000000000000000000001", "x0000000000000000000000000000002"];
        assert_eq!(spans(&of(&long).unwrap())[1..], [(Some(Alphabet::Decimal), 19), (Some(Alphabet::Decimal), 12)]);
    }

    proptest! {
        #[test]
        fn numbers_keep_the_order_of_text(
            alphabet in prop_oneof![
                Just(Alphabet::Bytes), Just(Alphabet::Decimal), Just(Alphabet::LowerHex), Just(Alphabet::UpperHex),
            ],
            length in 1_usize..20,
            number: u64,
            text in "[0-9a-fA-F/:@Gg~]{0,22}",
        ) {
            let length = length.min(alphabet.length_max());
            let number = alphabet.greatest(length).checked_add(1).map_or(number, |beyond| number % beyond);
            let mut written = vec![0; length];
            alphabet.write(number, &mut written).unwrap();
            prop_assert_eq!(alphabet.number(&written), Some(number));
            prop_assert_eq!(alphabet.bound(&written, length), Some((number, true)));
            let expected = written.as_slice() < text.as_bytes().get(..length).unwrap_or(text.as_bytes());
            let bound = alphabet.bound(text.as_bytes(), length);
            prop_assert_eq!(bound.is_none_or(|(bound, _)| number < bound), expected);
        }
    }
}
