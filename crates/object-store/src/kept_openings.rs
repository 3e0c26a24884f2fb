//! Openings in the cache on the local disk: the object that a URL led to last, and the end of that object.
//!
//! A page of its own keeps `length: u64 | time of modification in ns, or 0: u64 | ETag`. The next opening states the
//! ETag as a condition, and an object that is unchanged costs an empty answer.

use crate::cache::{CachedObject, LocalCache, PAGE_BYTES};
use crate::file::Identity;
use crate::storage::ObjectName;
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// What stands for the version in the name of such a page.
const OPENING: &str = "opening";
/// Longer ETags are not kept, in bytes; servers have some tens.
const E_TAG_BYTES_MAX: usize = 1024;
const WORD_BYTES: usize = 8;

fn encode(identity: &Identity) -> Option<Vec<u8>> {
    let e_tag = identity.condition().filter(|e_tag| e_tag.len() <= E_TAG_BYTES_MAX)?;
    let words = [identity.length_bytes, identity.modified_ns.unwrap_or(0)];
    Some([&words.map(u64::to_le_bytes).concat()[..], e_tag.as_bytes()].concat())
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

    /// The object that a URL led to when it was opened last, read by a thread that may wait for the disk.
    pub(crate) async fn opened(&self, object: &ObjectName) -> Option<Identity> {
        let (cache, opening) = (Arc::clone(&self.cache), self.opening_of(object));
        decode(&spawn_blocking(move || cache.peek(opening)).await.ok()??)
    }

    /// Keeps which object a URL leads to, and its last bytes, from an offset on.
    pub(crate) fn keep_opening(&self, object: &ObjectName, identity: &Identity, (offset, bytes): (u64, &[u8])) {
        let (Some(kept), Some(version)) = (encode(identity), identity.version()) else { return };
        let first = offset.div_ceil(PAGE_BYTES);
        let whole = usize::try_from(first * PAGE_BYTES - offset).ok().and_then(|skipped| bytes.get(skipped..));
        if let Some(pages) = whole {
            let of = CachedObject::new(&self.endpoint, &object.path, identity.length_bytes, &version);
            self.cache.put(of, first, pages);
        }
        let opening = self.opening_of(object);
        if self.cache.peek(opening).and_then(|page| decode(&page)).as_ref() != Some(identity) {
            self.cache.forget(opening);
            self.cache.put(opening, 0, &kept);
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
