//! Synthetic values derived from the keys, for measurements with wider records than the input has.

use super::InputError;
use super::record::{Input, InputFacts, Record};
use ogive::types::{RecordType, ValueType};

/// An input whose records get values of fixed width that depend on their keys only.
#[derive(Debug)]
pub(crate) struct WithPayload {
    inner: Box<dyn Input + Send>,
    facts: InputFacts,
    value: Vec<u8>,
}

impl WithPayload {
    /// Replaces the values of `inner` by values of `width_bytes`.
    pub(crate) fn new(inner: Box<dyn Input + Send>, width_bytes: u32) -> Self {
        let found = inner.facts().record_type.clone().with_values();
        let record_type = RecordType { values: ValueType::default(), ..found };
        let facts = InputFacts { value_width: Some(width_bytes), record_type, ..inner.facts().clone() };
        Self { inner, facts, value: vec![0; width_bytes as usize] }
    }
}

impl Input for WithPayload {
    fn facts(&self) -> &InputFacts {
        &self.facts
    }

    fn next(&mut self) -> Result<Option<Record<'_>>, InputError> {
        let Some(record) = self.inner.next()? else { return Ok(None) };
        fill(record.key, &mut self.value);
        Ok(Some(Record { key: record.key, value: &self.value }))
    }

    fn position_bytes(&self) -> u64 {
        self.inner.position_bytes()
    }

    fn null_keys(&self) -> u64 {
        self.inner.null_keys()
    }
}

/// The payload of a key: a stream of SplitMix64 (Steele, Lea, Flood 2014), seeded with a fold of the key. Noise, so it
/// does not compress.
pub(crate) fn fill(key: &[u8], value: &mut [u8]) {
    let mut state = key.chunks(8).fold(key.len() as u64, |seed, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mixed(seed.wrapping_add(u64::from_be_bytes(word)).wrapping_add(INCREMENT))
    });
    for chunk in value.chunks_mut(8) {
        state = state.wrapping_add(INCREMENT);
        chunk.copy_from_slice(&mixed(state).to_le_bytes()[..chunk.len()]);
    }
}

const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

fn mixed(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_follows_from_its_key_and_from_nothing_else() {
        let payload = |key: &[u8], width| {
            let mut value = vec![7; width];
            fill(key, &mut value);
            value
        };
        assert_eq!(payload(b"key", 20), payload(b"key", 20));
        assert_eq!(payload(b"key", 20)[..12], payload(b"key", 12)[..]);
        assert_ne!(payload(b"key", 8), payload(b"kez", 8));
        assert_ne!(payload(b"", 8), payload(b"\0", 8));
        assert_ne!(payload(&[0; 8], 8), payload(&[0; 16], 8));
        assert!(payload(b"key", 0).is_empty());
    }
}
