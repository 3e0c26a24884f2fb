//! An object store emulated on the local disk, with the latency of a profile and counters of requests and bytes.
//!
//! A request waits for one of the concurrent slots of the profile, then takes T(n) for its n bytes; `HEAD` and `LIST`
//! take T(0). Ranges of one call are joined as clients of S3 join them: `object_store` also reads the gaps of up to 1
//! MiB between them.

use async_trait::async_trait;
use datafusion::object_store::local::LocalFileSystem;
use datafusion::object_store::path::Path as Location;
use datafusion::object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions,
    PutOptions, PutPayload, PutResult, Result,
};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use ogive::io::Profile;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// What a store was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StoreCounts {
    /// Reads of ranges and of whole objects.
    pub gets: u64,
    /// `HEAD` and `LIST`.
    pub lookups: u64,
    /// Bytes of all reads.
    pub bytes: u64,
    /// Sum of T(n) of all requests, in microseconds.
    pub profile_us: f64,
    /// Sum of the times that requests were served, in microseconds.
    pub served_us: f64,
    /// Time in which at least one request was served, in microseconds.
    pub busy_us: f64,
}

impl StoreCounts {
    /// Requests of all kinds.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.gets + self.lookups
    }

    /// Requests that were served at once, on the average over the time in which there was one; 0 without requests.
    #[must_use]
    pub fn at_once(&self) -> f64 {
        if self.busy_us > 0.0 { self.served_us / self.busy_us } else { 0.0 }
    }

    /// The modelled time of the storage: the sum of T(n), divided by the requests that were served at once.
    #[must_use]
    pub fn modelled_us(&self) -> f64 {
        if self.served_us > 0.0 { self.profile_us / self.at_once() } else { 0.0 }
    }

    /// These counts and others together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            gets: self.gets + other.gets,
            lookups: self.lookups + other.lookups,
            bytes: self.bytes + other.bytes,
            profile_us: self.profile_us + other.profile_us,
            served_us: self.served_us + other.served_us,
            busy_us: self.busy_us + other.busy_us,
        }
    }
}

#[derive(Debug, Default)]
struct State {
    counts: StoreCounts,
    /// Requests that are being served, and since when there is one.
    served: usize,
    busy_since: Option<Instant>,
}

/// A folder as a slow object store. Clones share places and counts.
#[derive(Clone, Debug)]
pub struct EmulatedStore {
    objects: Arc<LocalFileSystem>,
    profile: Profile,
    places: Arc<Semaphore>,
    state: Arc<Mutex<State>>,
}

impl EmulatedStore {
    /// The files of a folder as objects, as slow as the profile says.
    ///
    /// # Errors
    /// A folder that is not there.
    pub fn new(folder: &Path, profile: Profile) -> Result<Self> {
        let places = Arc::new(Semaphore::new(profile.parallel() as usize));
        let objects = Arc::new(LocalFileSystem::new_with_prefix(folder)?);
        Ok(Self { objects, profile, places, state: Arc::default() })
    }

    /// The profile.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The counts since the last call.
    #[must_use]
    pub fn take(&self) -> StoreCounts {
        std::mem::take(&mut self.state().counts)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the time of a request of this size; it is no longer served when the result is dropped.
    async fn serve(&self, bytes: Option<u64>) {
        let place = self.places.acquire().await;
        let time_us = self.profile.time_us(bytes.unwrap_or_default());
        let served = Served::begin(self, bytes, time_us);
        tokio::time::sleep(Duration::from_secs_f64(time_us / 1e6)).await;
        drop(served);
        drop(place);
    }
}

/// A request that is being served, until it is dropped: a caller may give it up.
struct Served<'a> {
    store: &'a EmulatedStore,
    since: Instant,
}

impl<'a> Served<'a> {
    fn begin(store: &'a EmulatedStore, bytes: Option<u64>, time_us: f64) -> Self {
        let since = Instant::now();
        let mut state = store.state();
        match bytes {
            Some(bytes) => {
                state.counts.gets += 1;
                state.counts.bytes += bytes;
            }
            None => state.counts.lookups += 1,
        }
        state.counts.profile_us += time_us;
        state.served += 1;
        state.busy_since.get_or_insert(since);
        Self { store, since }
    }
}

impl Drop for Served<'_> {
    fn drop(&mut self) {
        let mut state = self.store.state();
        state.counts.served_us += self.since.elapsed().as_secs_f64() * 1e6;
        state.served -= 1;
        if state.served == 0
            && let Some(since) = state.busy_since.take()
        {
            state.counts.busy_us += since.elapsed().as_secs_f64() * 1e6;
        }
    }
}

impl fmt::Display for EmulatedStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "EmulatedStore({}, {})", self.profile.name(), self.objects)
    }
}

#[async_trait]
impl ObjectStore for EmulatedStore {
    async fn put_opts(&self, location: &Location, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.objects.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Location,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.objects.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Location, options: GetOptions) -> Result<GetResult> {
        let is_head = options.head;
        let found = self.objects.get_opts(location, options).await;
        let bytes = found.as_ref().map_or(0, |found| found.range.end - found.range.start);
        self.serve((!is_head).then_some(bytes)).await;
        found
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Location>>) -> BoxStream<'static, Result<Location>> {
        self.objects.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Location>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (store, listed) = (self.clone(), self.objects.list(prefix));
        let served = async move {
            store.serve(None).await;
            listed
        };
        stream::once(served).flatten().boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Location>) -> Result<ListResult> {
        self.serve(None).await;
        self.objects.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Location, to: &Location, options: CopyOptions) -> Result<()> {
        self.objects.copy_opts(from, to, options).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::object_store::ObjectStoreExt;
    use futures::future::join_all;

    /// A store of one object of 10,000 bytes; a read takes 20 ms, and two are served at once.
    fn store(folder: &Path) -> EmulatedStore {
        std::fs::write(folder.join("object"), vec![7; 10_000]).unwrap();
        EmulatedStore::new(folder, Profile::affine("slow", 20_000.0, 1_000.0, 2).unwrap()).unwrap()
    }

    #[tokio::test]
    async fn requests_and_bytes_are_counted_by_kind() {
        let folder = tempfile::tempdir().unwrap();
        let (store, object) = (store(folder.path()), Location::from("object"));
        assert_eq!(store.get_range(&object, 10..110).await.unwrap().len(), 100);
        assert_eq!(store.get(&object).await.unwrap().bytes().await.unwrap().len(), 10_000);
        assert_eq!(store.head(&object).await.unwrap().size, 10_000);
        assert_eq!(store.list(None).count().await, 1);
        let counts = store.take();
        assert_eq!((counts.gets, counts.lookups, counts.bytes), (2, 2, 10_100));
        // Four latencies, and 10,100 bytes at 1,000 a millisecond.
        assert!((counts.profile_us - 80_010.1).abs() < 1e-6, "{counts:?}");
        assert_eq!(store.take(), StoreCounts::default());
    }

    #[tokio::test]
    async fn ranges_of_a_call_are_joined_as_clients_of_s3_do() {
        let folder = tempfile::tempdir().unwrap();
        let (store, object) = (store(folder.path()), Location::from("object"));
        let read = store.get_ranges(&object, &[0..100, 5_000..5_100]).await.unwrap();
        assert_eq!(read.iter().map(|bytes| bytes.len()).collect::<Vec<_>>(), [100, 100]);
        let counts = store.take();
        assert_eq!((counts.gets, counts.bytes), (1, 5_100));
    }

    #[tokio::test]
    async fn no_more_requests_are_served_at_once_than_there_are_places() {
        let folder = tempfile::tempdir().unwrap();
        let (store, object) = (store(folder.path()), Location::from("object"));
        join_all((0..6).map(|number| store.get_range(&object, number..number + 1))).await;
        let together = store.take();
        // Whatever the machine does meanwhile, two of six at a time.
        assert!(together.at_once() > 1.5 && together.at_once() <= 2.0, "{together:?}");
        for number in 0..3 {
            store.get_range(&object, number..number + 1).await.unwrap();
        }
        let in_turn = store.take();
        assert!((in_turn.at_once() - 1.0).abs() < 0.05, "{in_turn:?}");
    }

    #[test]
    fn the_modelled_time_is_that_of_the_profile_with_the_requests_at_once() {
        let counts =
            StoreCounts { gets: 4, profile_us: 160.0, served_us: 200.0, busy_us: 100.0, ..StoreCounts::default() };
        assert!((counts.at_once() - 2.0).abs() < 1e-9);
        assert!((counts.modelled_us() - 80.0).abs() < 1e-9, "waits that were too long do not count");
        assert_eq!(StoreCounts::default().modelled_us(), 0.0);
        assert_eq!(counts.plus(&counts).requests(), 8);
    }
}
