//! Openings in the cache on the local disk: the object that a URL led to last, and the end of that object.
//!
//! A page of its own keeps `length: u64 | time of modification in ns, or 0: u64 | ETag`. The next opening states the
//! ETag as a condition, and an object that is unchanged costs an empty answer.

use crate::cache::{CachedObject, LocalCache, PAGE_BYTES};
use crate::file::Identity;
use crate::storage::ObjectName;
use bytes::Bytes;

/// What stands for the version in the name of such a page.
const OPENING: &str = "opening";
/// Longer ETags are not kept, in bytes; servers have some tens.
const E_TAG_BYTES_MAX: usize = 1024;
const WORD_BYTES: usize = 8;

fn encode(identity: &Identity) -> Option<Bytes> {
    let e_tag = identity.condition().filter(|e_tag| e_tag.len() <= E_TAG_BYTES_MAX)?;
    let words = [identity.length_bytes, identity.modified_ns.unwrap_or(0)];
    Some([&words.map(u64::to_le_bytes).concat()[..], e_tag.as_bytes()].concat().into())
}

fn decode(page: &[u8]) -> Option<Identity> {
    let (length_bytes, rest) = page.split_first_chunk::<WORD_BYTES>()?;
    let (modified_ns, e_tag) = rest.split_first_chunk::<WORD_BYTES>()?;
    Some(Identity {
        length_bytes: u64::from_le_bytes(*length_bytes),
        e_tag: Some(std::str::from_utf8(e_tag).ok()?.to_owned()),
        modified_ns: Some(u64::from_le_bytes(*modified_ns)).filter(|&time| time > 0),
    })
}

impl LocalCache {
    /// The page of the openings of a URL.
    fn opening_of(&self, object: &ObjectName) -> CachedObject {
        CachedObject::new(&self.endpoint, &object.path, 0, OPENING)
    }

    /// The object that a URL led to when it was opened last.
    pub(crate) async fn opened(&self, object: &ObjectName) -> Option<Identity> {
        decode(&self.get(self.opening_of(object), 0..1).await.pop()??)
    }

    /// Keeps which object a URL leads to, and its last bytes, from an offset on.
    pub(crate) async fn keep_opening(&self, object: &ObjectName, identity: &Identity, (offset, bytes): (u64, Bytes)) {
        let (Some(kept), Some(version)) = (encode(identity), identity.version()) else { return };
        let first = offset.div_ceil(PAGE_BYTES);
        let skipped = (first * PAGE_BYTES - offset) as usize;
        if skipped < bytes.len() {
            let of = CachedObject::new(&self.endpoint, &object.path, identity.length_bytes, &version);
            self.put(of, first, bytes.slice(skipped..)).await;
        }
        if self.opened(object).await.as_ref() != Some(identity) {
            let opening = self.opening_of(object);
            self.forget(opening).await;
            self.put(opening, 0, kept).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_an_object_comes_back() {
        let e_tag = |tag: &str| Some(tag.to_owned());
        for modified_ns in [None, Some(1_700_000_000_000_000_000)] {
            let identity = Identity { length_bytes: 7 << 30, e_tag: e_tag("\"0123abc\""), modified_ns };
            assert_eq!(decode(&encode(&identity).unwrap()), Some(identity));
        }
        let of = |tag| Identity { length_bytes: 1, e_tag: tag, modified_ns: None };
        assert!(encode(&of(None)).is_none() && encode(&of(e_tag("W/\"1\""))).is_none());
        assert!(encode(&of(Some("x".repeat(E_TAG_BYTES_MAX + 1)))).is_none() && decode(&[0; 15]).is_none());
    }
}
