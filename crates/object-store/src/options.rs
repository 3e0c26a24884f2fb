//! Options of connections to object stores.

use crate::cache::DiskCache;
use crate::retry::CallLimits;
use ogive::io::Profile;
use ogive::{Error, Result};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Default time for all attempts of a call, in seconds.
const DEADLINE_S: f64 = 60.0;
/// Default longest wait after the first failed attempt, in milliseconds.
const BACKOFF_MS: u64 = 100;
/// Default size of a part of an upload: the smallest that needs no second thought up to 80 GB, in 10,000 parts.
const PART_BYTES: usize = 8 << 20;
/// Longest object that the store copies itself, in bytes: S3 copies at most 5 GB by one request, and the crate
/// `object_store` has no copies by parts.
const COPIED_BYTES_MAX: u64 = 5_000_000_000;
/// Longest deadline in seconds: a day.
const DEADLINE_S_MAX: f64 = 86_400.0;

/// Options of connections: those of the store, such as region, endpoint and credentials, and those of its use.
#[derive(Clone)]
#[non_exhaustive]
pub struct ObjectOptions {
    /// Options of the store by name, as the crate `object_store` has them: `region`, `endpoint`, `access_key_id`,
    /// `allow_http`, ... They override the environment, and the query of a URL overrides them.
    pub values: BTreeMap<String, String>,
    /// The performance of the store: sizes of opening reads, requests in flight, and which ranges are joined.
    pub profile: Profile,
    /// Time for all attempts of a call in seconds.
    pub deadline_s: f64,
    /// Longest wait after the first failed attempt in milliseconds; it doubles with each further one, up to 5 s.
    pub backoff_ms: u64,
    /// Size of a part of an upload; smaller files are written by one request. At least 5 MiB for S3.
    pub part_bytes: usize,
    /// A cache on the local disk for what is read; `memory://` has none.
    pub cache: Option<Arc<DiskCache>>,
    /// Longer objects are copied within the store through this machine, in bytes; tests lower it.
    #[doc(hidden)]
    pub copied_bytes_max: u64,
}

/// Names of the options only: their values may be secrets.
impl fmt::Debug for ObjectOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.values.keys().collect();
        formatter.debug_struct("ObjectOptions").field("values", &names).field("profile", &self.profile.name()).finish()
    }
}

impl Default for ObjectOptions {
    fn default() -> Self {
        Self {
            values: BTreeMap::new(),
            profile: Profile::named("s3").unwrap_or_default(),
            deadline_s: DEADLINE_S,
            backoff_ms: BACKOFF_MS,
            part_bytes: PART_BYTES,
            cache: None,
            copied_bytes_max: COPIED_BYTES_MAX,
        }
    }
}

impl ObjectOptions {
    /// Sets an option of the store.
    #[must_use]
    pub fn value(mut self, name: &str, value: &str) -> Self {
        self.values.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Sets the profile.
    #[must_use]
    pub fn profile(self, profile: Profile) -> Self {
        Self { profile, ..self }
    }

    /// Sets the time for all attempts of a call.
    #[must_use]
    pub fn deadline_s(self, deadline_s: f64) -> Self {
        Self { deadline_s, ..self }
    }

    /// Sets the longest wait after the first failed attempt.
    #[must_use]
    pub fn backoff_ms(self, backoff_ms: u64) -> Self {
        Self { backoff_ms, ..self }
    }

    /// Sets the size of a part of an upload.
    #[must_use]
    pub fn part_bytes(self, part_bytes: usize) -> Self {
        Self { part_bytes, ..self }
    }

    /// Keeps what is read in a cache on the local disk.
    #[must_use]
    pub fn cache(self, cache: Arc<DiskCache>) -> Self {
        Self { cache: Some(cache), ..self }
    }

    /// Sets the length of the longest object that the store copies itself.
    #[doc(hidden)]
    #[must_use]
    pub fn copied_bytes_max(self, copied_bytes_max: u64) -> Self {
        Self { copied_bytes_max, ..self }
    }

    /// Takes the options that belong to this crate, `deadline` and `profile`, out of `values`.
    pub(crate) fn take_own(&mut self) -> Result<()> {
        if let Some(profile) = self.values.remove("profile") {
            self.profile = Profile::by_name_or_file(&profile)?;
        }
        let Some(text) = self.values.remove("deadline") else { return Ok(()) };
        self.deadline_s = text
            .parse()
            .map_err(|_| Error::input("the option deadline is a number of seconds, such as deadline=60"))?;
        Ok(())
    }

    /// The limits of a call.
    pub(crate) fn limits(&self) -> Result<CallLimits> {
        if !(self.deadline_s > 0.0 && self.deadline_s <= DEADLINE_S_MAX) {
            return Err(Error::input(format!(
                "a deadline of {} seconds; give a number above 0 and up to {DEADLINE_S_MAX}",
                self.deadline_s
            )));
        }
        Ok(CallLimits {
            deadline: Duration::from_secs_f64(self.deadline_s),
            backoff: Duration::from_millis(self.backoff_ms),
        })
    }
}
