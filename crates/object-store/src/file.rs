//! An open object: reads that state which object they are of.

use crate::cache::{CachedObject, LocalCache, PAGE_BYTES, is_cached};
use crate::failure::{Failure, FailureKind};
use crate::ranges::{JoinedRange, join};
use crate::replay;
use crate::retry::{Call, CallLimits};
use crate::runtime::Job;
use crate::storage::{Client, ObjectName};
use crate::telemetry::telemetry;
use bytes::Bytes;
use futures_util::future::try_join_all;
use object_store::{GetOptions, GetRange, GetResult, ObjectMeta, ObjectStoreExt};
use ogive::io::{ListedFile, PendingReads, Profile, Purpose, RangeRequest, ReadBuffer, ReadRequest, ReadableFile};
use ogive::io::{StorageTelemetry, check_range};
use ogive::{Error, Result};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use tokio::time::Instant;
use twox_hash::XxHash3_64;

const NS_PER_S: u64 = 1_000_000_000;

/// What is told of an object that is gone.
const REMOVED: &str = "it was removed: the answer is that there is no such object (404)";

/// Which object was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) length_bytes: u64,
    pub(crate) e_tag: Option<String>,
    /// `None` if the store does not state it.
    pub(crate) modified_ns: Option<u64>,
}

impl Identity {
    pub(crate) fn of(meta: &ObjectMeta) -> Self {
        let modified_ns = meta.last_modified.timestamp_nanos_opt().and_then(|time| u64::try_from(time).ok());
        // Where it is missing, the crate states the start of 1970.
        let modified_ns = modified_ns.filter(|&time| time > 0);
        Self { length_bytes: meta.size, e_tag: meta.e_tag.clone(), modified_ns }
    }

    /// The ETag as a condition. Weak ones never match there.
    pub(crate) fn condition(&self) -> Option<String> {
        self.e_tag.clone().filter(|tag| !tag.starts_with("W/"))
    }

    /// What tells this version of the object from others, if anything does.
    pub(crate) fn version(&self) -> Option<String> {
        match (&self.e_tag, self.modified_ns) {
            (Some(tag), _) => Some(version_of(tag)),
            (None, Some(time)) => Some(format!("modified {time}")),
            (None, None) => None,
        }
    }

    /// The time of modification. Object stores state seconds: the rest is a digest of the ETag, so that two objects of
    /// one second differ.
    pub(crate) fn stated_ns(&self) -> Option<u64> {
        let digest = |tag: &String| XxHash3_64::oneshot(tag.as_bytes()) % NS_PER_S;
        let modified_ns = self.modified_ns?;
        Some(self.e_tag.as_ref().map_or(modified_ns, |tag| modified_ns / NS_PER_S * NS_PER_S + digest(tag)))
    }

    /// The difference of the object of an answer, if there is one.
    fn difference(&self, found: &Self) -> Option<String> {
        if self.length_bytes != found.length_bytes {
            let (known, found) = (self.length_bytes, found.length_bytes);
            return Some(format!("it had {known} bytes, and the answer says that it has {found}"));
        }
        match (&self.e_tag, &found.e_tag) {
            (None, None) if self.modified_ns != found.modified_ns => {
                Some("the time of modification of the answer differs".to_owned())
            }
            (one, other) if one != other => Some("the ETag of the answer differs".to_owned()),
            _ => None,
        }
    }
}

/// What an ETag tells of an object.
fn version_of(e_tag: &str) -> String {
    format!("ETag {e_tag}")
}

/// What is known of an object, with which answers are compared.
#[derive(Clone, Copy, Debug)]
enum Known<'k> {
    /// From before it was opened.
    Listed(&'k ListedFile),
    Opened(&'k Identity),
}

impl Known<'_> {
    fn difference(self, found: &Identity) -> Option<String> {
        match self {
            Self::Listed(listed) => listed.difference(found.length_bytes, found.e_tag.as_deref(), found.stated_ns()),
            Self::Opened(identity) => identity.difference(found),
        }
    }

    /// The failure of a read of an object that is another one now.
    fn changed(self, now: &Identity) -> Failure {
        let length_bytes = match self {
            Self::Listed(listed) => listed.length_bytes,
            Self::Opened(identity) => Some(identity.length_bytes),
        };
        let detail = match length_bytes.filter(|&known| known != now.length_bytes) {
            Some(known) => format!("it had {known} bytes, and has {} now", now.length_bytes),
            None => "it was modified later".to_owned(),
        };
        Failure::new(FailureKind::Changed, detail)
    }

    /// The failure of an answer that is not of this object, if it is not. A HEAD tells whether that has changed; if
    /// not, or if it finds a third one, the answer is wrong.
    async fn mismatch(self, client: &Client, object: &ObjectName, answered: &Identity) -> Option<Failure> {
        let detail = self.difference(answered)?;
        let wrong = |said: &str| Failure::new(FailureKind::Wrong, format!("{detail}, but a HEAD {said}"));
        let now = client.store.head(&object.location).await.map_err(Failure::from);
        Some(match now.as_ref().map(Identity::of) {
            Ok(now) if self.difference(&now).is_none() => wrong("finds it as it was"),
            Ok(now) if answered.difference(&now).is_none() => self.changed(answered),
            Ok(_) => wrong("finds yet another one"),
            Err(failure) if failure.kind == FailureKind::NotFound => wrong("finds none"),
            Err(failure) if failure.is_transient() => failure.clone(),
            Err(_) => self.changed(answered),
        })
    }
}

/// Bytes of the end of an object, from the request that opened it.
#[derive(Clone, Debug)]
struct Tail {
    offset: u64,
    bytes: Bytes,
}

/// The number of an opening, different for all.
fn opening() -> u64 {
    static OPENED: AtomicU64 = AtomicU64::new(0);
    OPENED.fetch_add(1, Ordering::Relaxed)
}

/// The answer of the request that opens an object.
#[derive(Clone, Debug)]
pub(crate) struct OpenedObject {
    /// Different for all openings. Attempts of one call that open the object share it, and so what they read.
    number: u64,
    identity: Identity,
    tail: Option<Tail>,
}

impl OpenedObject {
    fn new(identity: Identity, tail: Option<Tail>) -> Self {
        Self { number: opening(), identity, tail }
    }

    /// Opens an object by one request for its last bytes. Where they cannot be asked for without its length, that is
    /// asked for first. An answer that is not of the object that was listed is asked for again.
    pub(crate) async fn open(client: &Client, object: &ObjectName, listed: &ListedFile) -> Result<Self> {
        let attempt = |_| async move {
            let opened = match Self::attempt(client, object).await {
                Err(failure) if !listed.is_named_only() => {
                    return Err(contradicted(client, object, Known::Listed(listed), failure).await);
                }
                opened => opened?,
            };
            check_listed(listed, &opened.identity)?;
            Ok(opened)
        };
        Call::begin(client.limits).attempts("open", &object.path, attempt).await
    }

    /// One that the cache knows is only asked for if it has changed.
    async fn attempt(client: &Client, object: &ObjectName) -> Result<Self, Failure> {
        let _place = client.places.acquire().await;
        if client.has_suffix_ranges.load(Ordering::Relaxed) {
            let known = match &client.cache {
                Some(local) => local.opened(object).await,
                None => None,
            };
            let options = GetOptions::new()
                .with_range(Some(GetRange::Suffix(client.opening_bytes)))
                .with_if_none_match(known.as_ref().and_then(Identity::condition));
            let failure = match client.store.get_opts(&object.location, options).await {
                Ok(answer) => return Self::of_answer(answer).await,
                Err(error) => Failure::from(error),
            };
            match failure.kind {
                FailureKind::NotModified => return known.map(|known| Self::new(known, None)).ok_or(failure),
                FailureKind::NotSupported => client.has_suffix_ranges.store(false, Ordering::Relaxed),
                // An empty object has no last bytes.
                FailureKind::Range | FailureKind::Other => {
                    let meta = client.store.head(&object.location).await.map_err(Failure::from)?;
                    return if meta.size == 0 { Ok(Self::without_tail(&meta)) } else { Err(failure) };
                }
                _ => return Err(failure),
            }
        }
        let meta = client.store.head(&object.location).await.map_err(Failure::from)?;
        if meta.size == 0 || meta.size > client.opening_bytes {
            return Ok(Self::without_tail(&meta));
        }
        let identity = Identity::of(&meta);
        let bytes = fetch(client, object, &identity, 0..meta.size).await?;
        Ok(Self::new(identity, Some(Tail { offset: 0, bytes })))
    }

    fn without_tail(meta: &ObjectMeta) -> Self {
        Self::new(Identity::of(meta), None)
    }

    async fn of_answer(answer: GetResult) -> Result<Self, Failure> {
        let (identity, offset) = (Identity::of(&answer.meta), answer.range.start);
        let bytes = body(answer).await?;
        Ok(Self::new(identity, Some(Tail { offset, bytes })))
    }
}

/// The whole object, by one request. An answer that is not of the object that was listed is asked for again.
pub(crate) async fn read_whole(client: &Client, object: &ObjectName, listed: &ListedFile) -> Result<Bytes> {
    let attempt = |_| async {
        let _place = client.places.acquire().await;
        let answer = match client.store.get_opts(&object.location, GetOptions::new()).await.map_err(Failure::from) {
            Ok(answer) => answer,
            Err(failure) if listed.is_named_only() => return Err(failure),
            Err(failure) => return Err(contradicted(client, object, Known::Listed(listed), failure).await),
        };
        let identity = Identity::of(&answer.meta);
        let bytes = body(answer).await?;
        check_listed(listed, &Identity { length_bytes: bytes.len() as u64, ..identity })?;
        Ok(bytes)
    };
    Call::begin(client.limits).attempts("read", &object.path, attempt).await
}

/// Compares an answer with what a listing says of its object.
fn check_listed(listed: &ListedFile, found: &Identity) -> Result<(), Failure> {
    let difference = Known::Listed(listed).difference(found);
    difference.map_or(Ok(()), |detail| Err(Failure::new(FailureKind::Wrong, detail)))
}

/// The failure of a read of an object that was listed, or opened before. That it is not there, is another one, or ends
/// before what was asked for, is looked at once more.
async fn contradicted(client: &Client, object: &ObjectName, known: Known<'_>, failure: Failure) -> Failure {
    let said = match failure.kind {
        FailureKind::NotFound => "there is no such object (404)",
        FailureKind::Range => "it ends before that range (416)",
        FailureKind::Exists => "another object has its name (412)",
        // Another range is one of a shorter object, or wrong.
        FailureKind::Wrong => "",
        _ => return failure,
    };
    let now = match client.store.head(&object.location).await.map_err(Failure::from) {
        Ok(now) => Identity::of(&now),
        // What fails now may be there.
        Err(other) if other.is_transient() => return other,
        Err(_) => return failure,
    };
    match (failure.kind, known.difference(&now)) {
        (FailureKind::Wrong, None) => failure,
        (FailureKind::Wrong, Some(_)) => known.changed(&now),
        (FailureKind::NotFound, _) | (_, None) => {
            let detail = format!("a GET of it says that {said}, but a HEAD finds {} bytes", now.length_bytes);
            Failure::new(FailureKind::Wrong, detail)
        }
        _ => failure,
    }
}

/// All bytes that an answer announced.
async fn body(answer: GetResult) -> Result<Bytes, Failure> {
    let announced = answer.range.end - answer.range.start;
    let bytes = answer.bytes().await.map_err(|error| match Failure::from(error) {
        // Whatever breaks an answer that had begun may not happen again.
        failure if failure.kind == FailureKind::Other => Failure::new(FailureKind::Broken, "the answer broke off"),
        failure => failure,
    })?;
    telemetry().note_reads(1, bytes.len() as u64);
    if bytes.len() as u64 != announced { Err(Failure::short_body(bytes.len(), announced)) } else { Ok(bytes) }
}

/// A range of the object that was opened, or the failure that it is not that one any more.
async fn fetch(client: &Client, object: &ObjectName, identity: &Identity, range: Range<u64>) -> Result<Bytes, Failure> {
    let changed = |detail: &str| Failure::new(FailureKind::Changed, detail);
    let options = GetOptions::new().with_range(Some(range.clone())).with_if_match(identity.condition());
    let answer = match client.store.get_opts(&object.location, options).await.map_err(Failure::from) {
        Ok(answer) => answer,
        Err(failure) => {
            let failure = contradicted(client, object, Known::Opened(identity), failure).await;
            return Err(match failure.kind {
                FailureKind::NotFound => changed(REMOVED),
                FailureKind::Exists => changed("it was modified later: another object has its name"),
                FailureKind::Range => changed("it is shorter now"),
                _ => failure,
            });
        }
    };
    if let Some(failure) = Known::Opened(identity).mismatch(client, object, &Identity::of(&answer.meta)).await {
        return Err(failure);
    }
    check_answered(&answer, &range)?;
    body(answer).await
}

/// Whether an answer has the range that was asked for.
fn check_answered(answer: &GetResult, range: &Range<u64>) -> Result<(), Failure> {
    if answer.range == *range {
        return Ok(());
    }
    let (asked, got) = (range.end - range.start, answer.range.end.saturating_sub(answer.range.start));
    let detail = format!("the answer has {got} bytes at {}, not {asked} at {}", answer.range.start, range.start);
    Err(Failure::new(FailureKind::Wrong, detail))
}

/// What a request needs, shared with the tasks that make it.
#[derive(Debug)]
pub(crate) struct Shared {
    /// That of the opening.
    number: u64,
    client: Arc<Client>,
    object: ObjectName,
    /// What was known of it before.
    listed: ListedFile,
    length_bytes: u64,
    /// Unknown until the first answer, for an object that was opened by its length.
    identity: RwLock<Option<Identity>>,
    /// Whether more than one answer is of that one, or what was known before tells it from others.
    is_confirmed: AtomicBool,
}

impl Shared {
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn path(&self) -> &Path {
        &self.object.path
    }

    pub(crate) fn len_bytes(&self) -> u64 {
        self.length_bytes
    }

    pub(crate) fn limits(&self) -> CallLimits {
        self.client.limits
    }

    pub(crate) fn profile(&self) -> &Profile {
        &self.client.profile
    }

    /// Reads a range of an object that was opened by its length, and remembers which object has answered first.
    async fn fetch_first(&self, range: Range<u64>) -> Result<Bytes, Failure> {
        let options = GetOptions::new().with_range(Some(range.clone()));
        let answer = match self.client.store.get_opts(&self.object.location, options).await.map_err(Failure::from) {
            Ok(answer) => answer,
            Err(failure) => {
                return Err(contradicted(&self.client, &self.object, Known::Listed(&self.listed), failure).await);
            }
        };
        let found = Identity::of(&answer.meta);
        let known = Known::Listed(&self.listed);
        if let Some(failure) = known.mismatch(&self.client, &self.object, &found).await {
            return Err(failure);
        }
        check_answered(&answer, &range)?;
        let bytes = body(answer).await?;
        let first = self.identity.write().unwrap_or_else(PoisonError::into_inner).get_or_insert(found.clone()).clone();
        let mismatch = Known::Opened(&first).mismatch(&self.client, &self.object, &found).await;
        mismatch.map_or(Ok(bytes), |failure| Err(self.unless_unclear(failure)))
    }

    fn identity(&self) -> Option<Identity> {
        self.identity.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The failure of a read. One answer alone, of an object of which the length was known, may have been the wrong
    /// one: it is forgotten then, so that the next read begins anew.
    fn unless_unclear(&self, failure: Failure) -> Failure {
        let is_other = failure.kind == FailureKind::Changed && failure.detail() != REMOVED;
        if !is_other || self.is_confirmed.load(Ordering::Relaxed) {
            return failure;
        }
        *self.identity.write().unwrap_or_else(PoisonError::into_inner) = None;
        let detail = format!("two answers contradict each other, or {}; read it again", failure.detail());
        Failure::new(FailureKind::Unclear, detail)
    }

    /// Reads a range, within the deadline of a call; with `is_cached`, through the cache of the local disk.
    pub(crate) async fn read(&self, call: Call, range: Range<u64>, is_cached: bool) -> Result<Bytes> {
        match &self.client.cache {
            Some(local) if is_cached && local.cache.takes(&range) => self.read_cached(local, call, range).await,
            _ => self.request(call, range).await,
        }
    }

    /// Reads a range from cached pages, and requests those that are missing, with all between them.
    async fn read_cached(&self, local: &LocalCache, call: Call, range: Range<u64>) -> Result<Bytes> {
        let pages = range.start / PAGE_BYTES..range.end.div_ceil(PAGE_BYTES);
        let page_bytes = |page: u64| (self.length_bytes - page * PAGE_BYTES).min(PAGE_BYTES) as usize;
        let mut found = match self.cached_object(local) {
            Some(object) => local.get(object, pages.clone()).await,
            None => vec![None; (pages.end - pages.start) as usize],
        };
        for (page, bytes) in pages.clone().zip(&mut found) {
            *bytes = bytes.take().filter(|bytes| bytes.len() == page_bytes(page));
        }
        if let (Some(first), Some(last)) =
            (found.iter().position(Option::is_none), found.iter().rposition(Option::is_none))
        {
            let missing = pages.start + first as u64..=pages.start + last as u64;
            let offset = missing.start() * PAGE_BYTES;
            let end = missing.end() * PAGE_BYTES + page_bytes(*missing.end()) as u64;
            let bytes = self.request(call, offset..end).await?;
            if let Some(object) = self.cached_object(local) {
                local.put(object, *missing.start(), bytes.clone()).await;
            }
            for page in missing {
                let start = (page * PAGE_BYTES - offset) as usize;
                found[(page - pages.start) as usize] = Some(bytes.slice(start..start + page_bytes(page)));
            }
        }
        let skipped = (range.start - pages.start * PAGE_BYTES) as usize;
        let wanted = skipped..skipped + (range.end - range.start) as usize;
        let parts: Vec<Bytes> = found.into_iter().flatten().collect();
        Ok(match &parts[..] {
            [only] => only.slice(wanted),
            parts => Bytes::from(parts.concat()).slice(wanted),
        })
    }

    /// This object in the cache. Where neither a listing nor an answer has stated a version yet, it is not known.
    fn cached_object(&self, local: &LocalCache) -> Option<CachedObject> {
        let version = match self.identity() {
            Some(identity) => identity.version()?,
            None => version_of(self.listed.e_tag.as_deref()?),
        };
        Some(CachedObject::new(&local.endpoint, &self.object.path, self.length_bytes, &version))
    }

    async fn request(&self, call: Call, range: Range<u64>) -> Result<Bytes> {
        let attempt = |_| async {
            let _place = self.client.places.acquire().await;
            match self.identity() {
                Some(identity) => match fetch(&self.client, &self.object, &identity, range.clone()).await {
                    Ok(bytes) => {
                        self.is_confirmed.store(true, Ordering::Relaxed);
                        Ok(bytes)
                    }
                    Err(failure) => Err(self.unless_unclear(failure)),
                },
                None => self.fetch_first(range.clone()).await,
            }
        };
        let begun = Instant::now();
        let bytes = call.attempts("read", &self.object.path, attempt).await?;
        let duration_us = begun.elapsed().as_secs_f64() * 1e6;
        StorageTelemetry::note_duration(&self.object.path, bytes.len() as u64, duration_us);
        Ok(bytes)
    }
}

/// An object that is open for reading.
#[derive(Debug)]
pub(crate) struct ObjectFile {
    shared: Arc<Shared>,
    /// Kept while the object is open if it is the whole object, else until a read lies outside.
    tail: Mutex<Option<Tail>>,
    /// Whether the cache has what the opening found, or is not to have it.
    is_kept: AtomicBool,
}

impl ObjectFile {
    pub(crate) fn new(client: Arc<Client>, object: ObjectName, opened: OpenedObject) -> Self {
        let OpenedObject { number, identity, tail } = opened;
        let length_bytes = identity.length_bytes;
        let (listed, identity, is_confirmed) = (ListedFile::default(), RwLock::new(Some(identity)), true.into());
        let shared = Shared { number, client, object, listed, length_bytes, identity, is_confirmed };
        Self { is_kept: tail.is_none().into(), shared: Arc::new(shared), tail: Mutex::new(tail) }
    }

    /// An object of a known length, of which nothing was asked yet.
    pub(crate) fn known(client: Arc<Client>, object: ObjectName, listed: ListedFile, length_bytes: u64) -> Self {
        let shared = replay::opened(&object.path.clone(), length_bytes, || {
            let is_confirmed = AtomicBool::new(listed.e_tag.is_some() || listed.modified_ns.is_some());
            let identity = RwLock::default();
            Arc::new(Shared { number: opening(), client, object, listed, length_bytes, identity, is_confirmed })
        });
        Self { shared, tail: Mutex::new(None), is_kept: true.into() }
    }

    /// Lets the cache keep what the opening found, with the first read that uses it.
    fn keep_opening(&self) {
        let Some(local) = &self.shared.client.cache else { return };
        if self.is_kept.swap(true, Ordering::Relaxed) {
            return;
        }
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let (Some(Tail { offset, bytes }), Some(identity)) = (tail, self.shared.identity()) {
            local.keep_opening(&self.shared.object, &identity, (offset, &bytes));
        }
    }

    /// The bytes of all ranges, if the opening request brought them.
    fn kept(&self, ranges: &[Range<u64>], is_opening: bool) -> Option<Vec<Bytes>> {
        let mut kept = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let tail = kept.as_ref()?;
        let slice = |range: &Range<u64>| {
            let start = range.start.checked_sub(tail.offset)? as usize;
            let end = range.end.checked_sub(tail.offset)? as usize;
            (end <= tail.bytes.len()).then(|| tail.bytes.slice(start..end))
        };
        let found: Option<Vec<Bytes>> = ranges.iter().map(slice).collect();
        if found.is_none() && tail.offset > 0 && !is_opening {
            *kept = None;
        }
        found
    }

    /// The end of a single range, if the opening request brought it.
    fn kept_end(&self, ranges: &[Range<u64>]) -> Option<Tail> {
        let [range] = ranges else { return None };
        let kept = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let tail = kept.as_ref().filter(|tail| range.start < tail.offset && tail.offset < range.end)?;
        let length = usize::try_from(range.end - tail.offset).ok().filter(|&length| length <= tail.bytes.len())?;
        Some(Tail { offset: tail.offset, bytes: tail.bytes.slice(..length) })
    }

    /// Starts the requests for these ranges.
    fn start(&self, ranges: &[Range<u64>], purpose: Option<Purpose>) -> Result<StartedReads> {
        let (path, is_opening) = (&self.shared.object.path, purpose == Some(Purpose::Open));
        let is_cached = is_cached(purpose);
        if is_cached {
            self.keep_opening();
        }
        let end = if is_opening { self.kept_end(ranges) } else { None };
        if let Some(kept) = self.kept(ranges, is_opening) {
            return Ok(StartedReads::Kept(kept));
        }
        let ranges: Vec<Range<u64>> =
            ranges.iter().map(|range| range.start..end.as_ref().map_or(range.end, |end| end.offset)).collect();
        if let Some(replayed) = replay::read(&self.shared, &ranges, is_cached) {
            return Ok(StartedReads::Kept(followed_by(replayed?, end)));
        }
        let joined = join(&ranges, &self.shared.client.profile);
        let (shared, requests) = (Arc::clone(&self.shared), joined.clone());
        let job = Job::start(path, async move {
            let (shared, call) = (&shared, Call::begin(shared.client.limits));
            let reads = requests.into_iter().map(|one| shared.read(call, one.range, is_cached));
            try_join_all(reads).await
        })?;
        Ok(StartedReads::InFlight { job, joined, ranges, end, shared: Arc::clone(&self.shared) })
    }
}

/// What was read, with the end that was there before behind the last range.
fn followed_by(mut read: Vec<Bytes>, end: Option<Tail>) -> Vec<Bytes> {
    if let (Some(last), Some(end)) = (read.last_mut(), end) {
        *last = [&**last, &*end.bytes].concat().into();
    }
    read
}

impl ReadableFile for ObjectFile {
    fn len(&self) -> u64 {
        self.shared.length_bytes
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        self.read_many(vec![request])
    }

    fn read_many(&self, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        for request in &requests {
            check_range(self.path(), self.len(), request)?;
        }
        let range = |request: &ReadRequest<'_>| request.offset..request.offset + request.buffer.len() as u64;
        let ranges: Vec<_> = requests.iter().map(range).collect();
        let read = self.start(&ranges, requests.first().map(|first| first.purpose))?.bytes()?;
        for (request, bytes) in requests.into_iter().zip(read) {
            request.buffer.copy_from_slice(&bytes);
        }
        Ok(())
    }

    fn start_reads(&self, ranges: &[RangeRequest]) -> Result<Box<dyn PendingReads>> {
        let mut plain = Vec::with_capacity(ranges.len());
        for range in ranges {
            let end = range.offset.checked_add(range.bytes as u64).filter(|&end| end <= self.len());
            let past = || Error::io("read", self.path(), std::io::ErrorKind::UnexpectedEof.into());
            plain.push(range.offset..end.ok_or_else(past)?);
        }
        Ok(Box::new(self.start(&plain, ranges.first().map(|first| first.purpose))?))
    }

    fn modified_ns(&self) -> Option<u64> {
        self.shared.identity()?.stated_ns()
    }

    fn distrust(&self) -> Option<Error> {
        *self.tail.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if let Some(local) = &self.shared.client.cache
            && let Some(object) = self.shared.cached_object(local)
        {
            local.cache.forget(object);
        }
        None
    }

    fn path(&self) -> &Path {
        &self.shared.object.path
    }
}

/// Ranges that are read.
#[derive(Debug)]
enum StartedReads {
    Kept(Vec<Bytes>),
    InFlight {
        job: Job<Result<Vec<Bytes>>>,
        joined: Vec<JoinedRange>,
        ranges: Vec<Range<u64>>,
        /// What follows the last one, and was there before.
        end: Option<Tail>,
        shared: Arc<Shared>,
    },
}

impl StartedReads {
    /// Waits for the bytes of all ranges.
    fn bytes(self) -> Result<Vec<Bytes>> {
        let (job, joined, ranges, end, shared) = match self {
            Self::Kept(bytes) => return Ok(bytes),
            Self::InFlight { job, joined, ranges, end, shared } => (job, joined, ranges, end, shared),
        };
        let mut bytes = vec![Bytes::new(); ranges.len()];
        for (read, one) in job.wait(&shared.object.path)??.into_iter().zip(&joined) {
            for &member in &one.members {
                let (range, start) = (&ranges[member], one.range.start);
                bytes[member] = read.slice((range.start - start) as usize..(range.end - start) as usize);
            }
        }
        Ok(followed_by(bytes, end))
    }
}

impl PendingReads for StartedReads {
    fn wait(self: Box<Self>) -> Result<Vec<ReadBuffer>> {
        Ok(self.bytes()?.into_iter().map(|bytes| ReadBuffer::from(Vec::from(bytes))).collect())
    }
}
