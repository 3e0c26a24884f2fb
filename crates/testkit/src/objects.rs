//! The simulated object store: a server whose clients lose requests and answers, send requests twice, late, or never,
//! and die at any request.
//!
//! Everything happens on the threads of its clients. A request that is late waits until [`SimulatedObjects::deliver`]
//! lets it arrive. Before each request of a client, its *hook* runs, in which a test lets another client
//! act: so a client sleeps as long as the test likes between the decision to send a request and its arrival. A client
//! may be given false listings (old, empty, or of another store) and shortened answers, and a server may ignore
//! conditions.

use crate::Random;
use ogive::io::{
    FileCopy, FileLock, FolderListing, ListedFile, ObjectWriter, PendingReads, RangeRequest, ReadBuffer, ReadRequest,
    ReadableFile, Storage, UpdatableFile, WritableFile, check_name, check_range, not_for_objects,
};
use ogive::{Cause, Error, Result};
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Debug, Formatter};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What happens to a request that changes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mishap {
    /// It never arrives; the client gets an error.
    Lost,
    /// It is done, but the answer is lost; the client gets an error.
    AnswerLost,
    /// The client gets an error, and the request arrives later.
    Late,
    /// It is done, and arrives again later.
    Twice,
}

impl Mishap {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Lost, Self::AnswerLost, Self::Late, Self::Twice];
}

/// An object store in memory, with the requests that are under way.
#[derive(Clone, Debug, Default)]
pub struct SimulatedObjects {
    server: Arc<Mutex<Server>>,
    /// What all folders of a bucket share.
    bucket: Arc<Bucket>,
}

/// A bucket, which is told from others by its place in memory.
#[derive(Debug, Default)]
struct Bucket {
    copies: AtomicU64,
}

#[derive(Debug, Default)]
struct Server {
    objects: BTreeMap<String, Arc<[u8]>>,
    late: Vec<ObjectChange>,
    /// Names that were read, since the last time that was asked.
    read: BTreeSet<String>,
    /// Whether a put if absent replaces an object of its name, as on servers that ignore conditions.
    ignores_conditions: bool,
    /// Most names in one answer to a listing, if it is not the usual number.
    names_per_list: Option<usize>,
}

/// A request that changes something.
#[derive(Clone, Debug)]
enum ObjectChange {
    /// Stores an object, unless there is one of that name.
    PutIfAbsent(String, Arc<[u8]>),
    /// Stores an object in any case.
    Put(String, Arc<[u8]>),
    /// Stores an object in place of the one with this ETag.
    PutInPlace(String, String, Arc<[u8]>),
    Remove(String),
}

impl Server {
    fn change(&mut self, change: &ObjectChange) -> Result<(), ErrorKind> {
        match change {
            ObjectChange::PutIfAbsent(name, _) if self.objects.contains_key(name) && !self.ignores_conditions => {
                return Err(ErrorKind::AlreadyExists);
            }
            ObjectChange::PutInPlace(name, e_tag, _)
                if self.objects.get(name).is_none_or(|bytes| e_tag_of(bytes) != *e_tag) && !self.ignores_conditions =>
            {
                return Err(ErrorKind::AlreadyExists);
            }
            ObjectChange::PutIfAbsent(name, bytes)
            | ObjectChange::PutInPlace(name, _, bytes)
            | ObjectChange::Put(name, bytes) => {
                self.objects.insert(name.clone(), Arc::clone(bytes));
            }
            ObjectChange::Remove(name) => {
                self.objects.remove(name).ok_or(ErrorKind::NotFound)?;
            }
        }
        Ok(())
    }
}

impl SimulatedObjects {
    /// An empty object store.
    pub fn new() -> Self {
        Self::default()
    }

    fn server(&self) -> MutexGuard<'_, Server> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another folder of the same bucket, within which objects are copied by requests.
    #[must_use]
    pub fn beside(&self) -> Self {
        Self { server: Arc::default(), bucket: Arc::clone(&self.bucket) }
    }

    /// A client, whose requests are all answered at once.
    pub fn client(&self) -> ObjectClient {
        ObjectClient { server: self.clone(), plan: Arc::default() }
    }

    /// Lets one late request arrive, chosen at random; returns `false` if there is none.
    pub fn deliver(&self, random: &mut Random) -> bool {
        let mut server = self.server();
        if server.late.is_empty() {
            return false;
        }
        let index = random.below(server.late.len() as u64) as usize;
        let change = server.late.swap_remove(index);
        // No client waits for the answer.
        _ = server.change(&change);
        true
    }

    /// Number of objects that were copied within the bucket.
    pub fn copies(&self) -> u64 {
        self.bucket.copies.load(Ordering::Relaxed)
    }

    /// Number of requests that are late.
    pub fn late(&self) -> usize {
        self.server().late.len()
    }

    /// The names and contents of all objects.
    pub fn objects(&self) -> BTreeMap<String, Arc<[u8]>> {
        self.server().objects.clone()
    }

    /// All objects as a listing shows them now. ETags are digests of the contents.
    pub fn listing(&self) -> Vec<ListedFile> {
        let listed = |(name, bytes): (&String, &Arc<[u8]>)| ListedFile {
            length_bytes: Some(bytes.len() as u64),
            e_tag: Some(e_tag_of(bytes)),
            ..ListedFile::named(&**name)
        };
        self.server().objects.iter().map(listed).collect()
    }

    /// Ignores the condition of puts if absent from now on, as some servers do.
    pub fn ignore_conditions(&self) {
        self.server().ignores_conditions = true;
    }

    /// Gives at most this number of names in one answer to a listing from now on.
    pub fn list_by(&self, names: usize) {
        self.server().names_per_list = Some(names);
    }

    /// The names of the objects that were read since the last call.
    pub fn take_read(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.server().read)
    }
}

fn e_tag_of(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("\"{:016x}\"", hasher.finish())
}

/// Most names in one answer to a listing, as real stores have it.
const NAMES_PER_LIST: usize = 1000;

type Hook = Box<dyn FnMut() + Send>;

/// The fate of a client's requests.
#[derive(Default)]
struct ClientPlan {
    /// Requests so far, of any kind, and of those that change something.
    requests: u64,
    changes: u64,
    /// The change at which the client dies, with what becomes of that request.
    dies_at: Option<(u64, Option<Mishap>)>,
    is_dead: bool,
    /// The mishap of the next change.
    next: Option<Mishap>,
    /// Mishaps of the changes to come: one in this number has one.
    mishaps: Option<(Random, u64)>,
    hook: Option<Hook>,
    /// False listings: one listing in this number is any of these.
    false_listings: Option<(Random, u64, Vec<Vec<ListedFile>>)>,
    /// An object of which answers have this many bytes only, and how many answers.
    shortened: Option<(String, usize, u32)>,
    /// An object of which answers have these bytes instead, whether it is there or not, and how many answers.
    mistaken: Option<(String, Arc<[u8]>, u32)>,
    lacks_e_tags: bool,
    /// An object that is denied, and in how many answers.
    denied: Option<(String, u32)>,
    /// The change of which the object store keeps only some bytes, and their number.
    cut_put: Option<(u64, usize)>,
}

impl Debug for ClientPlan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientPlan")
            .field("requests", &self.requests)
            .field("is_dead", &self.is_dead)
            .finish_non_exhaustive()
    }
}

/// A client of a [`SimulatedObjects`]. Clones are the same client.
#[derive(Clone, Debug)]
pub struct ObjectClient {
    server: SimulatedObjects,
    plan: Arc<Mutex<ClientPlan>>,
}

impl ObjectClient {
    fn plan(&self) -> MutexGuard<'_, ClientPlan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of requests so far that change something.
    pub fn changes(&self) -> u64 {
        self.plan().changes
    }

    /// Number of requests so far.
    pub fn requests(&self) -> u64 {
        self.plan().requests
    }

    /// Lets the client die at its change of number `at`, counted from 0. That request is lost, or has this mishap.
    pub fn die_at(&self, at: u64, mishap: Option<Mishap>) {
        self.plan().dies_at = Some((at, mishap));
    }

    /// Whether it has died.
    pub fn is_dead(&self) -> bool {
        self.plan().is_dead
    }

    /// Gives one in `n` of the changes to come a random mishap; none if `n` is 0.
    pub fn set_mishaps(&self, random: Random, n: u64) {
        self.plan().mishaps = (n > 0).then_some((random, n));
    }

    /// Gives the next change this mishap.
    pub fn fail_next(&self, mishap: Mishap) {
        self.plan().next = Some(mishap);
    }

    /// Runs before each request, but not within itself.
    pub fn set_hook(&self, hook: Option<Hook>) {
        self.plan().hook = hook;
    }

    /// Answers one in `n` of the listings to come with any of these; none if `n` is 0.
    pub fn set_false_listings(&self, random: Random, n: u64, listings: Vec<Vec<ListedFile>>) {
        self.plan().false_listings = (n > 0).then_some((random, n, listings));
    }

    /// Cuts the next answers of this number with an object to these bytes, and states that length.
    pub fn shorten(&self, name: &str, bytes: usize, answers: u32) {
        self.plan().shortened = Some((name.to_owned(), bytes, answers));
    }

    /// Answers the next reads of this number of an object with the bytes of another one, whether it is there or not.
    pub fn mistake(&self, name: &str, bytes: &[u8], answers: u32) {
        self.plan().mistaken = Some((name.to_owned(), bytes.into(), answers));
    }

    /// Whether listings and answers state ETags, which some servers do not have.
    pub fn state_e_tags(&self, is_stated: bool) {
        self.plan().lacks_e_tags = !is_stated;
    }

    /// An ETag, if they are stated.
    fn stated(&self, e_tag: String) -> Option<String> {
        (!self.plan().lacks_e_tags).then_some(e_tag)
    }

    /// Denies an object in the next answers to reads of this number, as if it were not there.
    pub fn deny(&self, name: &str, answers: u32) {
        self.plan().denied = Some((name.to_owned(), answers));
    }

    /// Keeps only the first `bytes` of what the change of number `at` puts, counted from 0, and says that all is
    /// stored.
    pub fn cut_put(&self, at: u64, bytes: usize) {
        self.plan().cut_put = Some((at, bytes));
    }

    /// What of a change is done: that whose bytes are to be cut keeps the first.
    fn cut(&self, change: ObjectChange) -> ObjectChange {
        let plan = self.plan();
        let Some((_, bytes)) = plan.cut_put.filter(|(at, _)| *at == plan.changes) else { return change };
        let cut = |content: Arc<[u8]>| content[..content.len().min(bytes)].into();
        match change {
            ObjectChange::PutIfAbsent(name, content) => ObjectChange::PutIfAbsent(name, cut(content)),
            ObjectChange::Put(name, content) => ObjectChange::Put(name, cut(content)),
            ObjectChange::PutInPlace(name, e_tag, content) => ObjectChange::PutInPlace(name, e_tag, cut(content)),
            ObjectChange::Remove(name) => ObjectChange::Remove(name),
        }
    }

    /// A false listing, if this one is to be.
    fn false_listing(&self) -> Option<Vec<ListedFile>> {
        let mut plan = self.plan();
        let (random, n, listings) = plan.false_listings.as_mut()?;
        let n = *n;
        (random.one_in(n) && !listings.is_empty())
            .then(|| listings[random.below(listings.len() as u64) as usize].clone())
    }

    fn before_request(&self) {
        self.run_hook();
        self.plan().requests += 1;
    }

    fn run_hook(&self) {
        let hook = self.plan().hook.take();
        if let Some(mut hook) = hook {
            hook();
            self.plan().hook.get_or_insert(hook);
        }
    }

    fn check_alive(&self, action: &'static str, name: &str) -> Result<()> {
        if self.plan().is_dead { Err(self.failed(action, name, ErrorKind::ConnectionAborted)) } else { Ok(()) }
    }

    fn failed(&self, action: &'static str, name: &str, kind: ErrorKind) -> Error {
        Error::io(action, self.path(name), kind.into())
    }

    /// The mishap of the next change.
    fn fate(&self) -> Option<Mishap> {
        let mut plan = self.plan();
        let number = plan.changes;
        plan.changes += 1;
        if let Some((at, mishap)) = plan.dies_at
            && number == at
        {
            plan.is_dead = true;
            return Some(mishap.unwrap_or(Mishap::Lost));
        }
        if let Some(mishap) = plan.next.take() {
            return Some(mishap);
        }
        let (random, n) = plan.mishaps.as_mut()?;
        let n = *n;
        random.one_in(n).then(|| Mishap::ALL[random.below(4) as usize])
    }

    fn change(&self, action: &'static str, name: &str, change: ObjectChange) -> Result<()> {
        check_name(name)?;
        self.check_alive(action, name)?;
        self.before_request();
        self.check_alive(action, name)?;
        let change = self.cut(change);
        let fate = self.fate();
        let mut server = self.server.server();
        let outcome = match fate {
            Some(Mishap::Lost) => Err(ErrorKind::TimedOut),
            Some(Mishap::Late) => {
                server.late.push(change);
                Err(ErrorKind::TimedOut)
            }
            Some(Mishap::AnswerLost) => server.change(&change).and(Err(ErrorKind::TimedOut)),
            Some(Mishap::Twice) => {
                server.late.push(change.clone());
                server.change(&change)
            }
            None => server.change(&change),
        };
        drop(server);
        // A client that dies at a request learns nothing of it.
        self.check_alive(action, name)?;
        outcome.map_err(|kind| self.failed(action, name, kind))
    }

    fn read(&self, name: &str) -> Result<Arc<[u8]>> {
        check_name(name)?;
        self.check_alive("read", name)?;
        self.before_request();
        self.check_alive("read", name)?;
        let mut server = self.server.server();
        server.read.insert(name.to_owned());
        let found = server.objects.get(name).cloned();
        drop(server);
        if let Some((mistaken, bytes, answers)) = &mut self.plan().mistaken
            && mistaken == name
            && *answers > 0
        {
            *answers -= 1;
            return Ok(Arc::clone(bytes));
        }
        let found = found.ok_or_else(|| self.failed("read", name, ErrorKind::NotFound))?;
        if let Some((denied, answers)) = &mut self.plan().denied
            && denied == name
            && *answers > 0
        {
            *answers -= 1;
            return Err(self.failed("read", name, ErrorKind::NotFound));
        }
        if let Some((shortened, bytes, answers)) = &mut self.plan().shortened
            && shortened == name
            && *answers > 0
        {
            *answers -= 1;
            return Ok(found[..found.len().min(*bytes)].into());
        }
        Ok(found)
    }

    /// A file that is put when it is synced, by a request of this kind.
    fn upload(
        &self,
        name: &str,
        request: impl Fn(String, Arc<[u8]>) -> ObjectChange + Send + 'static,
    ) -> Result<Box<dyn WritableFile>> {
        check_name(name)?;
        self.check_alive("create", name)?;
        let (client, key) = (self.clone(), name.to_owned());
        Ok(Box::new(ObjectWriter::new(self.path(name), move |content| {
            client.change("create", &key, request(key.clone(), content.into()))
        })))
    }

    /// Reads an object that was listed, once more if the answer is not of what was listed.
    fn read_as_listed(&self, listed: &ListedFile) -> Result<Vec<u8>> {
        let mut difference = None;
        for _ in 0..2 {
            let found = self.read(&listed.name)?;
            difference = listed.difference(found.len() as u64, self.stated(e_tag_of(&found)).as_deref(), None);
            if difference.is_none() {
                return Ok(found.to_vec());
            }
        }
        Err(Error::wrong_answer(self.path(&listed.name), difference.unwrap_or_default()))
    }
}

impl Storage for ObjectClient {
    fn is_object_store(&self) -> bool {
        true
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        let length_bytes = self.read(name)?.len() as u64;
        let (client, path) = (self.clone(), self.path(name));
        Ok(Arc::new(ObjectReader { client, name: name.to_owned(), known: None, length_bytes, path }))
    }

    fn open_known(&self, known: &ListedFile) -> Result<Arc<dyn ReadableFile>> {
        let name = &*known.name;
        check_name(name)?;
        let Some(length_bytes) = known.length_bytes else { return self.open_listed(known) };
        let (client, known, path) = (self.clone(), Some(known.clone()), self.path(name));
        Ok(Arc::new(ObjectReader { client, name: name.to_owned(), known, length_bytes, path }))
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        self.upload(name, ObjectChange::PutIfAbsent)
    }

    fn create_replacing(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        self.upload(name, ObjectChange::Put)
    }

    fn create_in_place_of(&self, found: &ListedFile) -> Result<Box<dyn WritableFile>> {
        let Some(e_tag) = found.e_tag.clone() else { return self.create_replacing(&found.name) };
        self.upload(&found.name, move |name, content| ObjectChange::PutInPlace(name, e_tag.clone(), content))
    }

    fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.change("create", name, ObjectChange::PutIfAbsent(name.to_owned(), bytes.into()))
    }

    fn read_whole(&self, names: &[String]) -> Vec<Result<Vec<u8>>> {
        names.iter().map(|name| self.read(name).map(|bytes| bytes.to_vec())).collect()
    }

    fn read_listed(&self, files: &[ListedFile]) -> Vec<Result<Vec<u8>>> {
        files.iter().map(|file| self.read_as_listed(file)).collect()
    }

    fn open_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        Err(not_for_objects("update", self.path(name)))
    }

    fn create_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        Err(not_for_objects("update", self.path(name)))
    }

    fn rename(&self, from: &str, _: &str) -> Result<()> {
        Err(not_for_objects("rename", self.path(from)))
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.change("remove", name, ObjectChange::Remove(name.to_owned()))
    }

    fn exists(&self, name: &str) -> Result<bool> {
        check_name(name)?;
        self.check_alive("look for", name)?;
        self.before_request();
        Ok(self.server.server().objects.contains_key(name))
    }

    fn list(&self) -> Result<Vec<String>> {
        Ok(self.list_files()?.files.into_iter().map(|file| file.name).collect())
    }

    fn list_files(&self) -> Result<FolderListing> {
        let mut files: Vec<ListedFile> = Vec::new();
        let names_per_list = self.server.server().names_per_list.unwrap_or(NAMES_PER_LIST);
        let mut is_at_once = true;
        loop {
            self.check_alive("list", "x")?;
            self.before_request();
            self.check_alive("list", "x")?;
            if let Some(files) = self.false_listing() {
                return Ok(FolderListing { files, is_at_once: true });
            }
            let all = self.server.listing();
            let after = files.last().map(|file| file.name.clone());
            let listed = all.into_iter().filter(|file| after.as_ref().is_none_or(|after| file.name > *after));
            let listed: Vec<ListedFile> = listed.take(names_per_list).collect();
            let is_last = listed.len() < names_per_list;
            files.extend(listed);
            if is_last {
                return Ok(FolderListing { files, is_at_once });
            }
            is_at_once = false;
        }
    }

    fn find_file(&self, name: &str) -> Result<Option<ListedFile>> {
        check_name(name)?;
        self.check_alive("look for", name)?;
        self.before_request();
        Ok(self.server.listing().into_iter().find(|file| file.name == name))
    }

    fn sync_directory(&self) -> Result<()> {
        Ok(())
    }

    fn lock(&self, name: &str) -> Result<Box<dyn FileLock>> {
        Err(not_for_objects("lock", self.path(name)))
    }

    fn path(&self, name: &str) -> PathBuf {
        Path::new("objects:").join(name)
    }

    fn object_store(&self) -> Option<&dyn Any> {
        Some(self)
    }

    /// The requests are those of the target's client, for its mishaps.
    fn copy_within(&self, files: &[FileCopy], target: &dyn Storage) -> Vec<Result<bool>> {
        let target = target.object_store().and_then(|store| store.downcast_ref::<Self>());
        let target = target.filter(|target| Arc::ptr_eq(&target.server.bucket, &self.server.bucket));
        let copy = |FileCopy { name, new_name, .. }: &FileCopy| {
            let Some(target) = target else { return Ok(false) };
            self.run_hook();
            let found = self.server.server().objects.get(name).cloned();
            let bytes = found.ok_or_else(|| self.failed("copy", name, ErrorKind::NotFound))?;
            target.change("copy", new_name, ObjectChange::PutIfAbsent(new_name.clone(), bytes))?;
            self.server.bucket.copies.fetch_add(1, Ordering::Relaxed);
            Ok(true)
        };
        files.iter().map(copy).collect()
    }
}

#[derive(Clone, Debug)]
struct ObjectReader {
    client: ObjectClient,
    name: String,
    /// What was known of it when it was opened without a request.
    known: Option<ListedFile>,
    length_bytes: u64,
    path: PathBuf,
}

impl ObjectReader {
    /// The bytes of the object; of one that was known, compared with that.
    fn bytes(&self) -> Result<Vec<u8>> {
        let Some(known) = &self.known else { return Ok(self.client.read(&self.name)?.to_vec()) };
        let read = self.client.read_as_listed(known);
        let is_changed = || {
            let now = self.client.server.listing().into_iter().find(|file| file.name == self.name);
            now.is_none_or(|now| {
                known.difference(now.length_bytes.unwrap_or_default(), now.e_tag.as_deref(), None).is_some()
            })
        };
        match read {
            Err(error) if error.cause == Cause::WrongAnswer && is_changed() => {
                Err(Error::object_changed(&self.path, error.detail()))
            }
            read => read,
        }
    }
}

impl ReadableFile for ObjectReader {
    fn len(&self) -> u64 {
        self.length_bytes
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        check_range(&self.path, self.length_bytes, &request)?;
        let bytes = self.bytes()?;
        let start = request.offset as usize;
        let Some(range) = bytes.get(start..start + request.buffer.len()) else {
            return Err(Error::io("read", &self.path, io::Error::from(ErrorKind::UnexpectedEof)));
        };
        request.buffer.copy_from_slice(range);
        Ok(())
    }

    /// The requests are sent when the caller waits for them, and fail then.
    fn start_reads(&self, ranges: &[RangeRequest]) -> Result<Box<dyn PendingReads>> {
        Ok(Box::new(StartedReads { file: self.clone(), ranges: ranges.to_vec() }))
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

#[derive(Debug)]
struct StartedReads {
    file: ObjectReader,
    ranges: Vec<RangeRequest>,
}

impl PendingReads for StartedReads {
    fn wait(self: Box<Self>) -> Result<Vec<ReadBuffer>> {
        let read = |range: &RangeRequest| {
            let mut buffer = vec![0; range.bytes];
            self.file.read(ReadRequest { offset: range.offset, buffer: &mut buffer, purpose: range.purpose })?;
            Ok(ReadBuffer::from(buffer))
        };
        self.ranges.iter().map(read).collect()
    }
}
