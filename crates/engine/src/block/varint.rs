//! Variable-length integers: seven bits a byte, lowest first (LEB128).

/// Appends a number, seven bits a byte, lowest first.
pub fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Decodes the number at `at`, and advances `at`.
pub fn take_varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        let part = u64::from(byte & 0x7f);
        if part << shift >> shift != part {
            return None;
        }
        number |= part << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cut_and_overlong_numbers_are_refused() {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, u64::MAX);
        assert_eq!(bytes.len(), 10);
        for length in 0..bytes.len() {
            assert_eq!(take_varint(&bytes[..length], &mut 0), None);
        }
        assert_eq!(take_varint(&[0xff; 11], &mut 0), None);
        assert_eq!(take_varint(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2], &mut 0), None);
    }

    proptest! {
        #[test]
        fn numbers_come_back(number: u64) {
            let (mut bytes, mut at) = (Vec::new(), 0);
            put_varint(&mut bytes, number);
            prop_assert_eq!(take_varint(&bytes, &mut at), Some(number));
            prop_assert_eq!(at, bytes.len());
        }
    }
}
