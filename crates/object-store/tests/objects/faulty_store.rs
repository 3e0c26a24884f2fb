//! A store in memory that fails as told, and counts requests, rounds and bytes.
//!
//! Requests that begin before one of them has ended form a *wave*; each takes the same real time, so a client that
//! waits for one answer before it asks on makes a wave for each. The time of a wave is modelled by a profile.

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt, StreamExt};
use object_store::client::{HttpError, HttpErrorKind};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyMode, CopyOptions, Error, GetOptions, GetRange, GetResult, GetResultPayload, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
    UploadPart,
};
use ogive::io::{Profile, Storage};
use ogive_object_store::{ObjectOptions, ObjectStorage};
use ogive_testkit::Random;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// The real time of a request where waves are counted.
const WAVE: Duration = Duration::from_millis(60);

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// 503 SlowDown; nothing is done.
    SlowDown,
    /// The connection breaks before anything is done.
    Reset,
    /// The connection breaks after the request was executed.
    LateReset,
    /// The body ends after this many bytes, without an error.
    Short(usize),
    /// The object is shorter: the answer has this many bytes, and says that it has no more.
    Cut(usize),
    /// The answer has other bytes, as many as it should have.
    Spoiled,
    /// The answer has the ETag of another object, if it has one.
    OtherTag,
    /// The condition of the request is said not to hold.
    Precondition,
    /// 404.
    Missing,
    /// No answer at all.
    Silence,
    /// 403.
    Denied,
}

/// What the store does not do, as some do not.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lacks {
    /// Suffix ranges, as Azure.
    pub(crate) suffix_ranges: bool,
    /// ETags.
    pub(crate) e_tags: bool,
    /// Conditions of reads: they are ignored.
    pub(crate) conditions: bool,
    /// Conditions of puts: they are ignored.
    pub(crate) put_conditions: bool,
    /// Conditions of copies: they are refused.
    pub(crate) copy_conditions: bool,
    /// Whole copies: half of the bytes are there.
    pub(crate) copies: bool,
}

/// What was asked of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) gets: u64,
    pub(crate) heads: u64,
    pub(crate) puts: u64,
    pub(crate) lists: u64,
    pub(crate) deletes: u64,
    pub(crate) uploads: u64,
    pub(crate) aborts: u64,
    pub(crate) copies: u64,
    /// Bytes of answers to GETs.
    pub(crate) bytes: u64,
    /// Sizes of the GETs of each wave.
    pub(crate) waves: Vec<Vec<u64>>,
    /// The longest chain of GETs and listings of which each began when the one before had ended.
    pub(crate) rounds: u64,
}

impl Counts {
    /// The modelled time of all waves.
    pub(crate) fn modelled_us(&self, profile: &Profile) -> f64 {
        self.waves.iter().map(|sizes| profile.batch_us(sizes)).sum()
    }
}

#[derive(Debug, Default)]
struct State {
    counts: Counts,
    gets: VecDeque<Option<Fault>>,
    puts: VecDeque<Option<Fault>>,
    parts: VecDeque<Option<Fault>>,
    copies: VecDeque<Option<Fault>>,
    hidden: Vec<String>,
    /// What GETs do not find, though HEADs do.
    denied: Vec<String>,
    /// What listings show besides.
    strays: Vec<ObjectMeta>,
    in_wave: usize,
    /// Draws the faults of requests that have none; one in this many has.
    drawn: Option<(Random, u64)>,
}

impl State {
    /// The fault of the next request, drawn from these if none is told.
    fn fault_or(&mut self, told: Option<Fault>, faults: &[Fault]) -> Option<Fault> {
        let Some((random, one_in)) = self.drawn.as_mut().filter(|_| told.is_none()) else { return told };
        if !random.one_in(*one_in) {
            return None;
        }
        let bytes = random.below(3_000) as usize;
        Some(match faults[random.below(faults.len() as u64) as usize] {
            Fault::Short(_) => Fault::Short(bytes),
            Fault::Cut(_) => Fault::Cut(bytes),
            fault => fault,
        })
    }
}

/// Faults of any request, after which it may have been executed.
const BROKEN: [Fault; 3] = [Fault::SlowDown, Fault::Reset, Fault::LateReset];
/// Faults of a GET: those, and answers that are wrong.
const WRONG: [Fault; 8] = [
    Fault::SlowDown,
    Fault::Reset,
    Fault::LateReset,
    Fault::Short(0),
    Fault::Cut(0),
    Fault::OtherTag,
    Fault::Precondition,
    Fault::Missing,
];

/// The store, in memory or over another one.
#[derive(Debug)]
pub(crate) struct FaultyStore<S = InMemory> {
    pub(crate) inner: S,
    state: Arc<Mutex<State>>,
    lacks: Lacks,
    counts_waves: bool,
}

impl FaultyStore {
    pub(crate) fn new() -> Arc<Self> {
        Self::over(InMemory::new())
    }

    pub(crate) fn lacking(lacks: Lacks) -> Arc<Self> {
        Arc::new(Self { inner: InMemory::new(), state: Arc::default(), lacks, counts_waves: false })
    }

    /// A store whose requests take so long that waves can be told apart.
    pub(crate) fn in_waves() -> Arc<Self> {
        let (inner, lacks) = (InMemory::new(), Lacks::default());
        Arc::new(Self { inner, state: Arc::default(), lacks, counts_waves: true })
    }

    /// A copy of the store that counts waves.
    pub(crate) fn copy_in_waves(&self) -> Arc<Self> {
        let inner = self.inner.fork();
        Arc::new(Self { inner, state: Arc::default(), lacks: self.lacks, counts_waves: true })
    }

    /// The storage of a folder of the store, with short waits between attempts.
    pub(crate) fn storage(self: &Arc<Self>, options: ObjectOptions) -> Arc<dyn Storage> {
        let options = options.backoff_ms(1);
        Arc::new(ObjectStorage::new(self.clone(), "folder", "test://bucket/folder", &options).unwrap())
    }

    /// What happens to the next GETs and HEADs.
    pub(crate) fn fail_gets<F: Into<Option<Fault>> + Copy>(&self, faults: &[F]) {
        self.state().gets.extend(faults.iter().map(|&fault| fault.into()));
    }

    /// What happens to the GETs and HEADs behind this many.
    pub(crate) fn fail_gets_after(&self, sound: usize, faults: &[Fault]) {
        self.state().gets.extend(std::iter::repeat_n(None, sound));
        self.fail_gets(faults);
    }

    pub(crate) fn fail_puts(&self, faults: &[Fault]) {
        self.state().puts.extend(faults.iter().map(|&fault| Some(fault)));
    }

    pub(crate) fn fail_parts(&self, faults: &[Option<Fault>]) {
        self.state().parts.extend(faults);
    }

    /// What happens to the next copies.
    pub(crate) fn fail_copies(&self, faults: &[Option<Fault>]) {
        self.state().copies.extend(faults);
    }

    /// Draws faults of one in this many requests from now on; returns what was drawn before.
    pub(crate) fn draw_faults(&self, drawn: Option<(Random, u64)>) -> Option<(Random, u64)> {
        std::mem::replace(&mut self.state().drawn, drawn)
    }

    /// Leaves an object out of listings, which lag.
    pub(crate) fn hide(&self, name: &str) {
        self.state().hidden.push(name.to_owned());
    }

    /// Answers GETs of an object by 404 from now on, or no longer.
    pub(crate) fn deny(&self, name: &str, is_denied: bool) {
        let mut state = self.state();
        state.denied.retain(|denied| denied != name);
        state.denied.extend(is_denied.then(|| name.to_owned()));
    }

    /// Shows the objects of another folder in listings.
    pub(crate) fn list_also(&self, folder: &str) {
        let prefix = Path::from(folder);
        let listed = self.inner.list_with_delimiter(Some(&prefix)).now_or_never().unwrap().unwrap();
        self.state().strays = listed.objects;
    }

    /// Puts an object behind the back of the storage.
    pub(crate) fn put(&self, name: &str, content: &[u8]) {
        let location = Path::from(format!("folder/{name}"));
        let put = self.inner.put(&location, PutPayload::from(content.to_vec()));
        put.now_or_never().unwrap().unwrap();
    }

    /// The bytes of an object, if there is one.
    pub(crate) fn content(&self, name: &str) -> Option<Vec<u8>> {
        let location = Path::from(format!("folder/{name}"));
        let got = async { self.inner.get(&location).await?.bytes().await };
        got.now_or_never().unwrap().ok().map(Vec::from)
    }

    pub(crate) fn remove(&self, name: &str) {
        let location = Path::from(format!("folder/{name}"));
        self.inner.delete(&location).now_or_never().unwrap().unwrap();
    }
}

impl<S: ObjectStore> FaultyStore<S> {
    /// A store that counts the requests to another one.
    pub(crate) fn over(inner: S) -> Arc<Self> {
        Arc::new(Self { inner, state: Arc::default(), lacks: Lacks::default(), counts_waves: false })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// The requests since the last call.
    pub(crate) fn take_counts(&self) -> Counts {
        std::mem::take(&mut self.state().counts)
    }

    /// The round of a request that begins now.
    fn round(&self) -> u64 {
        self.state().counts.rounds + 1
    }

    fn end_round(&self, round: u64) {
        let counts = &mut self.state().counts;
        counts.rounds = counts.rounds.max(round);
    }

    async fn wave(&self, bytes: u64) {
        if !self.counts_waves {
            return;
        }
        {
            let mut state = self.state();
            if state.in_wave == 0 {
                state.counts.waves.push(Vec::new());
            }
            state.in_wave += 1;
            state.counts.waves.last_mut().unwrap().push(bytes);
        }
        tokio::time::sleep(WAVE).await;
        // The members of a wave end together before the next request begins.
        self.state().in_wave -= 1;
    }
}

impl<S: ObjectStore> fmt::Display for FaultyStore<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("faulty store")
    }
}

fn slow_down() -> Error {
    generic("Server returned non-2xx status code: 503 Slow Down: <Error><Code>SlowDown</Code></Error>".into())
}

fn generic(source: Box<dyn std::error::Error + Send + Sync>) -> Error {
    Error::Generic { store: "faulty", source }
}

fn reset() -> Error {
    let source = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
    generic(Box::new(HttpError::new(HttpErrorKind::Interrupted, source)))
}

fn denied(location: &Path) -> Error {
    Error::PermissionDenied {
        path: location.to_string(),
        source: "Server returned non-2xx status code: 403 Forbidden: <Code>AccessDenied</Code> SECRET".into(),
    }
}

/// Fails before the request is executed.
async fn before(fault: Option<Fault>, location: &Path) -> Result<()> {
    match fault {
        Some(Fault::SlowDown) => Err(slow_down()),
        Some(Fault::Reset) => Err(reset()),
        Some(Fault::Denied) => Err(denied(location)),
        Some(Fault::Missing) => Err(Error::NotFound { path: location.to_string(), source: "denied".into() }),
        Some(Fault::Precondition) => {
            Err(Error::Precondition { path: location.to_string(), source: "the ETag differs".into() })
        }
        Some(Fault::Silence) => std::future::pending().await,
        _ => Ok(()),
    }
}

#[async_trait]
impl<S: ObjectStore> ObjectStore for FaultyStore<S> {
    async fn put_opts(&self, location: &Path, payload: PutPayload, mut opts: PutOptions) -> Result<PutResult> {
        if self.lacks.put_conditions {
            opts.mode = PutMode::Overwrite;
        }
        let fault = {
            let mut state = self.state();
            state.counts.puts += 1;
            let told = state.puts.pop_front().flatten();
            state.fault_or(told, &BROKEN)
        };
        before(fault, location).await?;
        let put = self.inner.put_opts(location, payload, opts).await;
        if fault == Some(Fault::LateReset) { Err(reset()) } else { put }
    }

    async fn put_multipart_opts(&self, location: &Path, opts: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.state().counts.uploads += 1;
        let inner = self.inner.put_multipart_opts(location, opts).await?;
        Ok(Box::new(FaultyUpload { inner, state: Arc::clone(&self.state) }))
    }

    async fn get_opts(&self, location: &Path, mut options: GetOptions) -> Result<GetResult> {
        let fault = {
            let mut state = self.state();
            if options.head {
                state.counts.heads += 1;
            } else {
                state.counts.gets += 1;
            }
            let told = state.gets.pop_front().flatten();
            state.fault_or(told, if options.head { &BROKEN[..2] } else { &WRONG })
        };
        before(fault, location).await?;
        if !options.head && self.state().denied.iter().any(|name| location.filename() == Some(name)) {
            return Err(Error::NotFound { path: location.to_string(), source: "denied".into() });
        }
        if self.lacks.suffix_ranges && matches!(options.range, Some(GetRange::Suffix(_))) {
            return Err(Error::NotSupported { source: "suffix ranges".into() });
        }
        if self.lacks.conditions || self.lacks.e_tags {
            options.if_match = None;
        }
        let is_head = options.head;
        let round = self.round();
        let result = self.inner.get_opts(location, options).await;
        if result.is_err() || is_head {
            self.end_round(round);
        }
        let mut result = result?;
        if fault == Some(Fault::OtherTag) {
            result.meta.e_tag = Some("\"other\"".to_owned());
        }
        if self.lacks.e_tags {
            result.meta.e_tag = None;
        }
        if is_head {
            return Ok(result);
        }
        let bytes = result.range.end - result.range.start;
        self.state().counts.bytes += bytes;
        self.wave(bytes).await;
        self.end_round(round);
        if let Some(Fault::Short(kept)) = fault {
            let (meta, range, attributes) = (result.meta.clone(), result.range.clone(), result.attributes.clone());
            let whole = result.bytes().await?;
            let part: Bytes = whole.slice(..kept.min(whole.len()));
            let payload = GetResultPayload::Stream(stream::once(async { Ok(part) }).boxed());
            return Ok(GetResult { payload, meta, range, attributes });
        }
        if let Some(Fault::Cut(kept)) = fault {
            let (mut meta, attributes) = (result.meta.clone(), result.attributes.clone());
            let whole = result.bytes().await?;
            let part: Bytes = whole.slice(..kept.min(whole.len()));
            meta.size = kept as u64;
            let payload = GetResultPayload::Stream(stream::once(async { Ok(part) }).boxed());
            return Ok(GetResult { payload, meta, range: 0..kept as u64, attributes });
        }
        if fault == Some(Fault::Spoiled) {
            let (meta, range, attributes) = (result.meta.clone(), result.range.clone(), result.attributes.clone());
            let spoiled: Bytes = result.bytes().await?.iter().map(|byte| !byte).collect();
            let payload = GetResultPayload::Stream(stream::once(async { Ok(spoiled) }).boxed());
            return Ok(GetResult { payload, meta, range, attributes });
        }
        if fault == Some(Fault::LateReset) {
            let broken = stream::iter([Ok(Bytes::from_static(b"x")), Err(reset())]).boxed();
            return Ok(GetResult { payload: GetResultPayload::Stream(broken), ..result });
        }
        Ok(result)
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.state().counts.deletes += 1;
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let strays = self.state().strays.clone();
        self.inner.list(prefix).chain(stream::iter(strays.into_iter().map(Ok))).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.state().counts.lists += 1;
        let round = self.round();
        let mut listed = self.inner.list_with_delimiter(prefix).await?;
        self.end_round(round);
        let hidden = self.state().hidden.clone();
        listed.objects.extend(self.state().strays.clone());
        listed.objects.retain(|object| !hidden.iter().any(|name| object.location.filename() == Some(name)));
        Ok(listed)
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        let fault = {
            let mut state = self.state();
            state.counts.copies += 1;
            state.copies.pop_front().flatten()
        };
        before(fault, from).await?;
        if self.lacks.copy_conditions && options.mode == CopyMode::Create {
            return Err(Error::NotSupported { source: "conditions of copies".into() });
        }
        if self.lacks.copies {
            let whole = self.inner.get(from).await?.bytes().await?;
            self.inner.put(to, whole.slice(..whole.len() / 2).into()).await?;
            return Ok(());
        }
        let copied = self.inner.copy_opts(from, to, options).await;
        if fault == Some(Fault::LateReset) { Err(reset()) } else { copied }
    }
}

/// A multipart upload whose parts may fail.
#[derive(Debug)]
struct FaultyUpload {
    inner: Box<dyn MultipartUpload>,
    state: Arc<Mutex<State>>,
}

#[async_trait]
impl MultipartUpload for FaultyUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let fault = self.state.lock().unwrap().parts.pop_front().flatten();
        let part = self.inner.put_part(data);
        async move {
            before(fault, &Path::from("part")).await?;
            part.await
        }
        .boxed()
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.inner.complete().await
    }

    async fn abort(&mut self) -> Result<()> {
        self.state.lock().unwrap().counts.aborts += 1;
        self.inner.abort().await
    }
}
