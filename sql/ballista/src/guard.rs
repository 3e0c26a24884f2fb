//! Object stores of the engine that open only allowed paths and URLs.
//!
//! Ogive tables are checked when they are opened; Parquet, CSV and JSON files, and the output of `COPY`, go through the
//! stores of the engine.

use crate::allowed::Allowed;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result as EngineResult;
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::object_store::{DefaultObjectStoreRegistry, ObjectStoreRegistry};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::object_store::path::Path;
use datafusion::object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use datafusion::physical_plan::ExecutionPlan;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt, future, stream};
use std::fmt;
use std::sync::Arc;
use url::Url;

/// The environment of queries that may open what is allowed; spilled rows go to `work_dir`, or a temporary folder.
///
/// # Errors
/// Those of the engine.
pub(crate) fn runtime(allowed: &Allowed, work_dir: Option<&str>) -> EngineResult<Arc<RuntimeEnv>> {
    let mut builder = RuntimeEnvBuilder::new();
    if let Some(work_dir) = work_dir {
        builder = builder.with_temp_file_path(work_dir);
    }
    if !allowed.is_all() {
        let stores = GuardedStores { stores: DefaultObjectStoreRegistry::new(), allowed: allowed.clone() };
        builder = builder.with_object_store_registry(Arc::new(stores));
    }
    builder.build_arc()
}

/// Plans what is allowed. Stores refuse the rest when it is opened, but what `COPY` would write loses their words.
#[derive(Debug)]
pub(crate) struct GuardedPlanner {
    pub(crate) planner: Arc<dyn QueryPlanner + Send + Sync>,
    pub(crate) allowed: Allowed,
}

#[async_trait]
impl QueryPlanner for GuardedPlanner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        plan.apply_with_subqueries(|node| {
            if let LogicalPlan::Copy(copy) = node {
                self.allowed.check(&copy.output_url)?;
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        self.planner.create_physical_plan(plan, session).await
    }
}

#[derive(Debug)]
struct GuardedStores {
    stores: DefaultObjectStoreRegistry,
    allowed: Allowed,
}

impl ObjectStoreRegistry for GuardedStores {
    fn register_store(&self, url: &Url, store: Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        self.stores.register_store(url, store)
    }

    fn deregister_store(&self, url: &Url) -> EngineResult<Arc<dyn ObjectStore>> {
        self.stores.deregister_store(url)
    }

    fn get_store(&self, url: &Url) -> EngineResult<Arc<dyn ObjectStore>> {
        let store = self.stores.get_store(url)?;
        let root = format!("{}://{}", url.scheme(), &url[url::Position::BeforeHost..url::Position::AfterPort]);
        Ok(Arc::new(GuardedStore { store, root, allowed: self.allowed.clone() }))
    }
}

#[derive(Clone, Debug)]
struct GuardedStore {
    store: Arc<dyn ObjectStore>,
    /// Scheme and bucket, without a slash at the end.
    root: String,
    allowed: Allowed,
}

impl GuardedStore {
    fn check(&self, path: &Path) -> Result<()> {
        let denied = |error| Error::PermissionDenied { path: path.to_string(), source: Box::new(error) };
        // The path has the percent-encoding that URLs have.
        self.allowed.check(&format!("{}/{path}", self.root)).map_err(denied)
    }

    fn check_prefix(&self, prefix: Option<&Path>) -> Result<()> {
        self.check(prefix.unwrap_or(&Path::default()))
    }
}

impl fmt::Display for GuardedStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the allowed part of {}", self.store)
    }
}

#[async_trait]
impl ObjectStore for GuardedStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.check(location)?;
        self.store.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.check(location)?;
        self.store.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.check(location)?;
        self.store.get_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let guard = self.clone();
        let checked = locations.and_then(move |path| future::ready(guard.check(&path).map(|()| path)));
        self.store.delete_stream(checked.boxed())
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        match self.check_prefix(prefix) {
            Ok(()) => self.store.list(prefix),
            Err(error) => stream::once(future::ready(Err(error))).boxed(),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.check_prefix(prefix)?;
        self.store.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.check(from)?;
        self.check(to)?;
        self.store.copy_opts(from, to, options).await
    }
}
