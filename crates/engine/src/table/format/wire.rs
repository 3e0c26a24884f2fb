//! The encoding of table metadata: varints and byte strings, bounded by the input.

/// Appends values to a buffer.
#[derive(Debug, Default)]
pub(in crate::table) struct MetadataEncoder(pub(in crate::table) Vec<u8>);

impl MetadataEncoder {
    /// An unsigned integer, seven bits a byte, low bits first.
    pub(in crate::table) fn int(&mut self, mut value: u64) -> &mut Self {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
        self
    }

    /// A byte string after its length.
    pub(in crate::table) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.int(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }
}

/// Decodes values from a buffer; `None` if it ends early or a value is out of range.
#[derive(Debug)]
pub(in crate::table) struct MetadataDecoder<'a>(pub(in crate::table) &'a [u8]);

impl<'a> MetadataDecoder<'a> {
    pub(in crate::table) fn int(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            let part = u64::from(byte & 0x7F);
            if shift == 63 && part > 1 {
                return None;
            }
            value |= part << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// An integer that fits the target type.
    pub(in crate::table) fn small<T: TryFrom<u64>>(&mut self) -> Option<T> {
        T::try_from(self.int()?).ok()
    }

    pub(in crate::table) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length: usize = self.small()?;
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub(in crate::table) fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_encoded_is_decoded_and_every_cut_is_noticed() {
        let mut encoder = MetadataEncoder::default();
        encoder.int(0).int(127).int(128).int(u64::MAX).bytes(b"").bytes(b"ogive");
        let bytes = encoder.0;
        let decode = |bytes: &[u8]| {
            let mut decoder = MetadataDecoder(bytes);
            let ints = [decoder.int()?, decoder.int()?, decoder.int()?, decoder.int()?];
            Some((ints, decoder.bytes()?.to_vec(), decoder.text()?))
        };
        assert_eq!(decode(&bytes), Some(([0, 127, 128, u64::MAX], vec![], "ogive".to_owned())));
        for cut in 0..bytes.len() {
            assert_eq!(decode(&bytes[..cut]), None, "cut at {cut}");
        }
        assert_eq!(MetadataDecoder(&[0xFF; 10]).int(), None);
        assert_eq!(MetadataDecoder(&[0x80, 2]).small::<u8>(), None);
    }
}
