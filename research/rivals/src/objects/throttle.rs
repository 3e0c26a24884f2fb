//! An object store in memory that is as slow as a real one, and counts requests: for both versions of the crate
//! `object_store` that the systems use.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Time to the first byte.
pub(super) const LATENCY: Duration = Duration::from_millis(40);
/// Bytes a second of one request.
pub(super) const BYTES_PER_S: f64 = 90e6;
/// Requests that are served at once.
pub(super) const PARALLEL: usize = 64;
/// Names in one answer to a listing.
const NAMES_PER_LIST: u64 = 1000;

/// Requests and bytes since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Counts {
    /// GET and HEAD.
    pub(super) gets: u64,
    /// PUT, LIST, and those of multipart uploads.
    pub(super) puts: u64,
    pub(super) read_bytes: u64,
    pub(super) written_bytes: u64,
}

impl Counts {
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            gets: self.gets - before.gets,
            puts: self.puts - before.puts,
            read_bytes: self.read_bytes - before.read_bytes,
            written_bytes: self.written_bytes - before.written_bytes,
        }
    }
}

/// The line to the store.
#[derive(Debug)]
pub(super) struct Line {
    places: Semaphore,
    gets: AtomicU64,
    puts: AtomicU64,
    read_bytes: AtomicU64,
    written_bytes: AtomicU64,
}

impl Line {
    pub(super) fn new() -> Self {
        let [gets, puts, read_bytes, written_bytes] = [const { AtomicU64::new(0) }; 4];
        Self { places: Semaphore::new(PARALLEL), gets, puts, read_bytes, written_bytes }
    }

    pub(super) fn counts(&self) -> Counts {
        Counts {
            gets: self.gets.load(Ordering::Relaxed),
            puts: self.puts.load(Ordering::Relaxed),
            read_bytes: self.read_bytes.load(Ordering::Relaxed),
            written_bytes: self.written_bytes.load(Ordering::Relaxed),
        }
    }

    async fn place(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed.
        self.places.acquire().await.ok()
    }

    /// Waits as long as a request that moves these bytes takes.
    async fn transfer(&self, bytes: u64) {
        tokio::time::sleep(LATENCY + Duration::from_secs_f64(bytes as f64 / BYTES_PER_S)).await;
    }

    async fn get(&self, bytes: u64) {
        self.gets.fetch_add(1, Ordering::Relaxed);
        self.read_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.transfer(bytes).await;
    }

    async fn put(&self, bytes: u64) {
        let _place = self.place().await;
        self.puts.fetch_add(1, Ordering::Relaxed);
        self.written_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.transfer(bytes).await;
    }

    async fn list(&self, names: u64) {
        for _ in 0..names.div_ceil(NAMES_PER_LIST).max(1) {
            self.put(0).await;
        }
    }
}

/// The store for one version of the crate, as a module of this name.
macro_rules! throttled {
    ($module:ident, $crate_name:ident) => {
        pub(super) mod $module {
            use super::Line;
            use async_trait::async_trait;
            use futures_util::stream::{BoxStream, StreamExt, once};
            use futures_util::{FutureExt, TryStreamExt};
            use std::sync::Arc;
            use $crate_name::memory::InMemory;
            use $crate_name::path::Path;
            use $crate_name::{
                CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
                PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, UploadPart,
            };

            /// The store.
            #[derive(Debug, Clone)]
            pub(in super::super) struct Throttled {
                inner: Arc<InMemory>,
                line: Arc<Line>,
            }

            impl Throttled {
                pub(in super::super) fn new(line: Arc<Line>) -> Self {
                    Self { inner: Arc::default(), line }
                }
            }

            impl std::fmt::Display for Throttled {
                fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    formatter.write_str("throttled store in memory")
                }
            }

            #[async_trait]
            impl ObjectStore for Throttled {
                async fn put_opts(&self, path: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
                    self.line.put(payload.content_length() as u64).await;
                    self.inner.put_opts(path, payload, options).await
                }

                async fn put_multipart_opts(
                    &self,
                    path: &Path,
                    options: PutMultipartOptions,
                ) -> Result<Box<dyn MultipartUpload>> {
                    self.line.put(0).await;
                    let upload = self.inner.put_multipart_opts(path, options).await?;
                    Ok(Box::new(Upload { upload, line: self.line.clone() }))
                }

                async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
                    let _place = self.line.place().await;
                    let head = options.head;
                    let found = self.inner.get_opts(path, options).await;
                    let bytes = match &found {
                        Ok(found) if !head => found.range.end - found.range.start,
                        _ => 0,
                    };
                    self.line.get(bytes).await;
                    found
                }

                fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
                    self.inner.delete_stream(paths)
                }

                fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
                    let (listed, line) = (self.inner.list(prefix), self.line.clone());
                    let all = async move {
                        let all: Vec<Result<ObjectMeta>> = listed.collect().await;
                        line.list(all.len() as u64).await;
                        futures_util::stream::iter(all)
                    };
                    once(all).flatten().boxed()
                }

                async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
                    let listed = self.inner.list_with_delimiter(prefix).await?;
                    self.line.list(listed.objects.len() as u64).await;
                    Ok(listed)
                }

                async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
                    self.line.put(0).await;
                    self.inner.copy_opts(from, to, options).await
                }
            }

            #[derive(Debug)]
            struct Upload {
                upload: Box<dyn MultipartUpload>,
                line: Arc<Line>,
            }

            #[async_trait]
            impl MultipartUpload for Upload {
                fn put_part(&mut self, data: PutPayload) -> UploadPart {
                    let (line, bytes) = (self.line.clone(), data.content_length() as u64);
                    let part = self.upload.put_part(data);
                    async move {
                        line.put(bytes).await;
                        part.await
                    }
                    .boxed()
                }

                async fn complete(&mut self) -> Result<PutResult> {
                    self.line.put(0).await;
                    self.upload.complete().await
                }

                async fn abort(&mut self) -> Result<()> {
                    self.upload.abort().await
                }
            }

            /// Bytes of all objects.
            pub(in super::super) async fn stored_bytes(store: &Throttled) -> Result<u64> {
                store.inner.list(None).try_fold(0, |sum, object| async move { Ok(sum + object.size) }).await
            }
        }
    };
}

throttled!(version_13, object_store);
throttled!(version_14, object_store_14);
