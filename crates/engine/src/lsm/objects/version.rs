//! The name of a version of a store on an object store.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use crate::error::Error;
use crate::lsm::state::version::ChainId;
use crate::lsm::state::version::FileKind;

/// A version of a store on an object store: what its writer had acknowledged at one time. It is shown, and read, as
/// `MANIFEST.PARTS-LOG.PARTS`.
///
/// A version can be opened until the store's writer removes its files, a grace period after it has replaced them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StoreVersion {
    /// Number of the manifest, and of its parts.
    pub(super) manifest: u64,
    pub(super) manifest_parts: u64,
    /// Number of the newest log, and of its parts.
    pub(super) log: u64,
    pub(super) log_parts: u64,
}

impl StoreVersion {
    /// The chains whose parts it counts.
    pub(super) fn chains(&self) -> [ChainId; 2] {
        let chain = |kind, number| ChainId { kind, number };
        [chain(FileKind::Manifest, self.manifest), chain(FileKind::Log, self.log)]
    }
}

impl Display for StoreVersion {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}-{}.{}", self.manifest, self.manifest_parts, self.log, self.log_parts)
    }
}

impl FromStr for StoreVersion {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let pair = |text: &str| {
            let (number, parts) = text.split_once('.')?;
            Some((number.parse().ok()?, parts.parse().ok()?))
        };
        let parsed = text.split_once('-').and_then(|(manifest, log)| Some((pair(manifest)?, pair(log)?)));
        let ((manifest, manifest_parts), (log, log_parts)) = parsed.ok_or_else(|| {
            Error::input(format!("{text:?} is not a version of a store; give one such as \"5.12-13.7\""))
        })?;
        Ok(Self { manifest, manifest_parts, log, log_parts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_back_from_their_names() {
        let version = StoreVersion { manifest: 5, manifest_parts: 12, log: 13, log_parts: 7 };
        assert_eq!(version.to_string(), "5.12-13.7");
        assert_eq!("5.12-13.7".parse::<StoreVersion>().unwrap(), version);
        for text in ["", "5", "5.12", "5.12-13", "5.12-13.x", "5-12.13.7"] {
            assert!(text.parse::<StoreVersion>().is_err(), "{text}");
        }
    }
}
