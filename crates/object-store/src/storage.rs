//! A folder of an object store as [`Storage`].

use crate::answers::watched;
use crate::cache::{LocalCache, PAGE_BYTES};
use crate::failure::{Failure, FailureKind};
use crate::file::{Identity, ObjectFile, OpenedObject, read_whole};
use crate::options::ObjectOptions;
use crate::ranges::opening_bytes;
use crate::replay;
use crate::retry::{Call, CallLimits};
use crate::runtime::{Job, run};
use crate::upload::{ObjectUpload, copy, put, refuses_put};
use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::path::Path as Location;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, UpdateVersion};
use ogive::io::{
    FileCopy, FileLock, FolderListing, ListedFile, Profile, ReadableFile, Storage, UpdatableFile, WritableFile,
    check_name, copy_file, not_for_objects,
};
use ogive::{Error, Result};
use std::any::Any;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tokio::sync::Semaphore;

/// A connection to a bucket, shared by its folders.
pub(crate) struct Client {
    /// Makes each request once: retries are this crate's, which knows what is ambiguous.
    pub(crate) store: Arc<dyn ObjectStore>,
    /// Uploads parts, which may be sent again.
    pub(crate) parts: Arc<dyn ObjectStore>,
    pub(crate) profile: Profile,
    pub(crate) limits: CallLimits,
    pub(crate) part_bytes: usize,
    /// Size of an opening read in bytes.
    pub(crate) opening_bytes: u64,
    /// Whether the store serves the last bytes of an object of unknown length.
    pub(crate) has_suffix_ranges: AtomicBool,
    pub(crate) is_read_only: bool,
    /// Reads that may be in flight.
    pub(crate) places: Semaphore,
    pub(crate) cache: Option<LocalCache>,
    /// Longest object that the store copies itself, in bytes.
    pub(crate) copied_bytes_max: u64,
}

impl Client {
    /// A connection by two clients: one that makes each request once, and one for parts of uploads. Without an
    /// endpoint, the store is not to be cached.
    pub(crate) fn new(
        store: Arc<dyn ObjectStore>,
        parts: Arc<dyn ObjectStore>,
        options: &ObjectOptions,
        is_read_only: bool,
        endpoint: Option<String>,
    ) -> Result<Self> {
        let cache = options.cache.clone().zip(endpoint);
        // The cache keeps whole pages: the last one, and the one before.
        let least_bytes = if cache.is_some() { 2 * PAGE_BYTES } else { 0 };
        Ok(Self {
            store,
            parts,
            profile: options.profile.clone(),
            limits: options.limits()?,
            part_bytes: options.part_bytes.max(1),
            opening_bytes: opening_bytes(&options.profile).max(least_bytes),
            has_suffix_ranges: AtomicBool::new(true),
            is_read_only,
            copied_bytes_max: options.copied_bytes_max,
            places: Semaphore::new(options.profile.parallel() as usize),
            cache: cache.map(|(cache, endpoint)| LocalCache { cache, endpoint }),
        })
    }
}

/// Says nothing of the client, whose fields include credentials.
impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Client").finish_non_exhaustive()
    }
}

/// The objects below a prefix of a bucket, as files; see [`Storage`] for what objects can do.
///
/// Clones share the connection. Objects further below, after another slash, are not files of it.
#[derive(Clone)]
pub struct ObjectStorage {
    pub(crate) client: Arc<Client>,
    prefix: String,
    /// The URL for messages, without query, user and password.
    shown: String,
}

impl fmt::Debug for ObjectStorage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ObjectStorage").field("url", &self.shown).finish()
    }
}

/// An object by its place in the store and its URL for messages.
#[derive(Clone, Debug)]
pub(crate) struct ObjectName {
    pub(crate) location: Location,
    pub(crate) path: PathBuf,
}

impl ObjectStorage {
    /// The folder `prefix` of any store of the crate `object_store`. `shown` is its URL in messages, without secrets.
    ///
    /// The store should not retry by itself: [`Storage::put_if_absent`] could report as taken what it has written. With
    /// [`ObjectOptions::cache`], `shown` must tell the store from all others that use the cache.
    ///
    /// # Errors
    /// [`Cause::Input`](ogive::Cause::Input) for invalid options.
    pub fn new(store: Arc<dyn ObjectStore>, prefix: &str, shown: &str, options: &ObjectOptions) -> Result<Self> {
        let client = Client::new(store.clone(), store, options, false, Some(String::new()))?;
        Ok(Self::of_client(Arc::new(client), prefix, shown.to_owned()))
    }

    pub(crate) fn of_client(client: Arc<Client>, prefix: &str, shown: String) -> Self {
        Self { client, prefix: prefix.trim_matches('/').to_owned(), shown: shown.trim_end_matches('/').to_owned() }
    }

    /// The URL of the folder, without secrets.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.shown
    }

    pub(crate) fn object(&self, name: &str) -> Result<ObjectName> {
        check_name(name)?;
        let key = if self.prefix.is_empty() { name.to_owned() } else { format!("{}/{name}", self.prefix) };
        let location = Location::parse(&key).map_err(|_| {
            Error::input(format!(
                "{} is no valid name of an object; leave out empty parts, \".\" and control characters",
                self.path(name).display()
            ))
        })?;
        Ok(ObjectName { location, path: self.path(name) })
    }

    /// The place of the folder in its bucket; `None` for all of it.
    fn folder_location(&self) -> Result<Option<Location>> {
        let invalid = |_| Error::input(format!("{} is no valid folder of an object store", self.shown));
        if self.prefix.is_empty() { Ok(None) } else { Location::parse(&self.prefix).map(Some).map_err(invalid) }
    }

    /// Refuses to write where only reading is possible.
    fn writable(&self, action: &'static str, name: &str) -> Result<ObjectName> {
        let object = self.object(name)?;
        if self.client.is_read_only {
            let hint = "files behind http are read only; write to s3://, gs:// or az://, or to a local file".to_owned();
            return Err(Error::unsupported(object.path, action, hint));
        }
        Ok(object)
    }

    /// Another storage, if it is a folder of the same bucket.
    fn within<'t>(&self, target: &'t dyn Storage) -> Option<&'t Self> {
        let target = target.object_store()?.downcast_ref::<Self>()?;
        Arc::ptr_eq(&target.client.store, &self.client.store).then_some(target)
    }

    fn upload(&self, name: &str, mode: PutMode) -> Result<Box<dyn WritableFile>> {
        let object = self.writable("create", name)?;
        Ok(Box::new(ObjectUpload::new(Arc::clone(&self.client), object, mode)))
    }

    /// Length, time and ETag of an object; `None` if there is none.
    fn head(&self, name: &str) -> Result<Option<ObjectMeta>> {
        let ObjectName { location, path } = self.object(name)?;
        let (client, place) = (Arc::clone(&self.client), path.clone());
        replay::ask("look for", &path, async move {
            let (client, location) = (&client, &location);
            let head = |_| async move {
                match client.store.head(location).await.map_err(Failure::from) {
                    Err(failure) if failure.kind == FailureKind::NotFound => Ok(None),
                    found => found.map(Some),
                }
            };
            Call::begin(client.limits).attempts("look for", &place, head).await
        })
    }
}

/// The path of an object of a listing from its folder; `None` for that itself, which may be an object. A listing of
/// another folder is a wrong answer.
fn path_below<'l>(location: &'l Location, folder: Option<&Location>) -> Result<Option<&'l str>, Failure> {
    let path = match folder {
        None => Some(location.as_ref()),
        Some(folder) => location.as_ref().strip_prefix(folder.as_ref()).and_then(|rest| rest.strip_prefix('/')),
    };
    match path {
        None if Some(location) != folder => {
            Err(Failure::new(FailureKind::Wrong, "the listing has objects of another folder"))
        }
        path => Ok(path),
    }
}

/// An object of a listing as a file; `None` if its name is none of a file.
fn listed_file(object: &ObjectMeta, prefix: Option<&Location>) -> Result<Option<ListedFile>, Failure> {
    let file = |name: &str| ListedFile {
        length_bytes: Some(object.size),
        e_tag: object.e_tag.clone(),
        ..ListedFile::named(name)
    };
    let name = path_below(&object.location, prefix)?.filter(|name| check_name(name).is_ok());
    Ok(name.map(file))
}

/// Refuses a listing that shows a name twice. The names are sorted.
fn check_once<'l>(mut names: impl Iterator<Item = &'l str>) -> Result<(), Failure> {
    let mut last = None;
    match names.find(|&name| last.replace(name) == Some(name)) {
        Some(name) => Err(Failure::new(FailureKind::Wrong, format!("the listing shows {name} twice"))),
        None => Ok(()),
    }
}

impl Storage for ObjectStorage {
    fn is_object_store(&self) -> bool {
        true
    }

    fn profile(&self) -> Option<&Profile> {
        Some(&self.client.profile)
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        self.open_listed(&ListedFile::named(name))
    }

    fn open_listed(&self, listed: &ListedFile) -> Result<Arc<dyn ReadableFile>> {
        let object = self.object(&listed.name)?;
        let (client, place, listed) = (Arc::clone(&self.client), object.clone(), listed.clone());
        let open = async move { OpenedObject::open(&client, &place, &listed).await };
        let opened = replay::ask("open", &object.path, open)?;
        Ok(Arc::new(ObjectFile::new(Arc::clone(&self.client), object, opened)))
    }

    fn open_known(&self, known: &ListedFile) -> Result<Arc<dyn ReadableFile>> {
        let Some(length_bytes) = known.length_bytes else { return self.open_listed(known) };
        let object = self.object(&known.name)?;
        Ok(Arc::new(ObjectFile::known(Arc::clone(&self.client), object, known.clone(), length_bytes)))
    }

    fn read_whole(&self, names: &[String]) -> Vec<Result<Vec<u8>>> {
        let files: Vec<ListedFile> = names.iter().map(ListedFile::named).collect();
        self.read_listed(&files)
    }

    fn read_listed(&self, files: &[ListedFile]) -> Vec<Result<Vec<u8>>> {
        let start = |listed: &ListedFile| {
            let (object, listed) = (self.object(&listed.name)?, listed.clone());
            let (client, path) = (Arc::clone(&self.client), object.path.clone());
            replay::start("read", &path, async move { read_whole(&client, &object, &listed).await })
        };
        let started: Vec<_> = files.iter().map(start).collect();
        started.into_iter().map(|started| Ok(started?.wait()?.into())).collect()
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        self.upload(name, PutMode::Create)
    }

    fn create_replacing(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        self.upload(name, PutMode::Overwrite)
    }

    /// The condition is the ETag, and where the store has them the number of the version.
    fn create_in_place_of(&self, found: &ListedFile) -> Result<Box<dyn WritableFile>> {
        let Some(e_tag) = &found.e_tag else { return self.create_replacing(&found.name) };
        let now = self.head(&found.name)?.filter(|now| now.e_tag.as_ref() == Some(e_tag));
        let version = now.and_then(|now| now.version);
        // One that was replaced already is refused at the end, as one that is replaced later.
        self.upload(&found.name, PutMode::Update(UpdateVersion { e_tag: found.e_tag.clone(), version }))
    }

    fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let object = self.writable("create", name)?;
        let (client, place, bytes) = (Arc::clone(&self.client), object.clone(), Bytes::copy_from_slice(bytes));
        run(&object.path, async move { put(&client, &place, bytes, PutMode::Create).await })
    }

    /// An attempt whose outcome is unknown is made again: it left the object as it was, or with the same bytes.
    fn refuses_taken_name(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        let object = self.writable("create", name)?;
        let (client, bytes) = (Arc::clone(&self.client), Bytes::copy_from_slice(bytes));
        run(&object.path.clone(), async move { refuses_put(&client, &object, bytes).await })
    }

    fn open_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        Err(not_for_objects("update", self.path(name)))
    }

    fn create_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        Err(not_for_objects("update", self.path(name)))
    }

    fn rename(&self, from: &str, _to: &str) -> Result<()> {
        Err(not_for_objects("rename", self.path(from)))
    }

    /// Removes an object. Some stores do not say whether there was one.
    fn remove(&self, name: &str) -> Result<()> {
        let ObjectName { location, path } = self.writable("remove", name)?;
        let (client, place) = (Arc::clone(&self.client), path.clone());
        run(&path, async move {
            let (client, location) = (&client, &location);
            let remove = |before| async move {
                match client.store.delete(location).await.map_err(Failure::from) {
                    // An earlier attempt may have removed it.
                    Err(failure) if failure.kind == FailureKind::NotFound && before > 0 => Ok(()),
                    outcome => outcome,
                }
            };
            Call::begin(client.limits).attempts("remove", &place, remove).await
        })
    }

    fn exists(&self, name: &str) -> Result<bool> {
        Ok(self.head(name)?.is_some())
    }

    fn list(&self) -> Result<Vec<String>> {
        Ok(self.list_files()?.files.into_iter().map(|file| file.name).collect())
    }

    fn list_files(&self) -> Result<FolderListing> {
        let prefix = self.folder_location()?;
        let path = PathBuf::from(&self.shown);
        let (client, place) = (Arc::clone(&self.client), path.clone());
        replay::ask("list", &path, async move {
            let (client, prefix) = (&client, prefix.as_ref());
            let list = |_| async move {
                let (listed, answers) = watched(client.store.list_with_delimiter(prefix)).await;
                let listed = listed.map_err(Failure::from)?;
                let files = listed.objects.iter().map(|object| listed_file(object, prefix));
                let mut files = files.filter_map(Result::transpose).collect::<Result<Vec<_>, Failure>>()?;
                files.sort_by(|one, other| one.name.cmp(&other.name));
                check_once(files.iter().map(|file| file.name.as_str()))?;
                let listing = FolderListing::of(files);
                // Of stores without answers that can be looked at, there are none.
                let is_at_once = if answers == 0 { listing.is_at_once } else { answers == 1 };
                Ok(FolderListing { is_at_once, ..listing })
            };
            Call::begin(client.limits).attempts("list", &place, list).await
        })
    }

    fn find_file(&self, name: &str) -> Result<Option<ListedFile>> {
        let listed = |found: ObjectMeta| ListedFile {
            length_bytes: Some(found.size),
            modified_ns: Identity::of(&found).stated_ns(),
            e_tag: found.e_tag,
            ..ListedFile::named(name)
        };
        Ok(self.head(name)?.map(listed))
    }

    fn list_below(&self) -> Result<Vec<String>> {
        let prefix = self.folder_location()?;
        let path = PathBuf::from(&self.shown);
        let (client, place, below) = (Arc::clone(&self.client), path.clone(), prefix);
        replay::ask("list all below", &path, async move {
            let (client, prefix) = (&client, below.as_ref());
            let list = |_| async move {
                let (listed, _) = watched(client.store.list(prefix).try_collect::<Vec<ObjectMeta>>()).await;
                let listed = listed.map_err(Failure::from)?;
                let paths = listed.iter().map(|object| path_below(&object.location, prefix));
                let mut paths = paths.filter_map(Result::transpose).collect::<Result<Vec<_>, Failure>>()?;
                paths.sort_unstable();
                check_once(paths.iter().copied())?;
                Ok(paths.into_iter().map(str::to_owned).collect())
            };
            Call::begin(client.limits).attempts("list", &place, list).await
        })
    }

    /// Objects are durable when they appear.
    fn sync_directory(&self) -> Result<()> {
        Ok(())
    }

    fn lock(&self, name: &str) -> Result<Box<dyn FileLock>> {
        Err(not_for_objects("lock", self.path(name)))
    }

    fn path(&self, name: &str) -> PathBuf {
        Path::new(&self.shown).join(name)
    }

    fn object_store(&self) -> Option<&dyn Any> {
        Some(self)
    }

    /// Copies within the store where that is possible. The name is looked for before, as for long uploads, since some
    /// servers ignore the condition of a copy.
    fn export(&self, name: &str, target: &dyn Storage, new_name: &str) -> Result<()> {
        let within = self.within(target).zip(self.head(name)?);
        let Some((target, meta)) = within.filter(|(_, meta)| meta.size <= self.client.copied_bytes_max) else {
            return copy_file(&*self.open(name)?, target, new_name);
        };
        let (from, to) = (self.object(name)?, target.writable("create", new_name)?);
        if target.head(new_name)?.is_some() {
            return Err(Error::io("create", to.path, ErrorKind::AlreadyExists.into()));
        }
        let client = Arc::clone(&self.client);
        run(&from.path.clone(), async move { copy(&client, &from, &to, meta.size).await })?;
        // Some servers answer before they have copied, and then cannot.
        match target.head(new_name)?.map(|copied| copied.size) {
            Some(copied) if copied == meta.size => Ok(()),
            copied => {
                let detail =
                    format!("it says that it has copied {} bytes, but has {}", meta.size, copied.unwrap_or_default());
                Err(Error::wrong_answer(target.path(new_name), detail))
            }
        }
    }

    fn copy_within(&self, files: &[FileCopy], target: &dyn Storage) -> Vec<Result<bool>> {
        let Some(target) = self.within(target) else { return files.iter().map(|_| Ok(false)).collect() };
        let start = |file: &FileCopy| {
            if file.length_bytes > self.client.copied_bytes_max {
                return Ok(None);
            }
            let (from, to) = (self.object(&file.name)?, target.writable("create", &file.new_name)?);
            let (client, path, length_bytes) = (Arc::clone(&self.client), from.path.clone(), file.length_bytes);
            let job = Job::start(&path, async move { copy(&client, &from, &to, length_bytes).await })?;
            Ok(Some((job, path)))
        };
        let started: Vec<Result<_>> = files.iter().map(start).collect();
        let copied = |(job, path): (Job<Result<()>>, PathBuf)| job.wait(&path)?.map(|()| true);
        started.into_iter().map(|started| started?.map_or(Ok(false), copied)).collect()
    }
}
