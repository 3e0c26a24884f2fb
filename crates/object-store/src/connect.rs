//! Connections: from a URL and options to a storage. Connections to one bucket with the same options, and the same
//! variables of the store in the environment, are shared.

use crate::answers::CheckingConnector;
use crate::options::ObjectOptions;
use crate::storage::{Client, ObjectStorage};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, S3CopyIfNotExists};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::memory::InMemory;
use object_store::{ClientConfigKey, ObjectStore, RetryConfig};
use ogive::io::{FolderUrl, Storage, percent_decoded, register_scheme};
use ogive::{Error, Result};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::str::FromStr;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

/// The schemes of this crate.
pub const SCHEMES: [&str; 11] = ["s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "adl", "http", "https", "memory"];

/// The kinds of stores behind the schemes.
const KINDS: [(&str, StoreKind); 11] = [
    ("s3", StoreKind::S3),
    ("s3a", StoreKind::S3),
    ("gs", StoreKind::Google),
    ("az", StoreKind::Azure),
    ("azure", StoreKind::Azure),
    ("abfs", StoreKind::Azure),
    ("abfss", StoreKind::Azure),
    ("adl", StoreKind::Azure),
    ("http", StoreKind::Http),
    ("https", StoreKind::Http),
    ("memory", StoreKind::Memory),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StoreKind {
    S3,
    Google,
    Azure,
    Http,
    Memory,
}

/// Registers the schemes of this crate with default options: `s3`, `s3a`, `gs`, `az`, `azure`, `abfs`, `abfss`, `adl`,
/// `http`, `https` (read only) and `memory`.
pub fn register() {
    register_with(&ObjectOptions::default());
}

/// Registers the schemes of this crate with these options for all URLs. The query of a URL, such as
/// `?region=eu-west-1`, overrides them; that of `http` and `https` belongs to the address.
pub fn register_with(options: &ObjectOptions) {
    for (scheme, kind) in KINDS {
        let options = options.clone();
        register_scheme(scheme, move |url| Ok(Arc::new(connect(url, kind, &options)?) as Arc<dyn Storage>));
    }
}

impl ObjectStorage {
    /// The folder of a URL, such as `s3://bucket/prefix`.
    ///
    /// # Errors
    /// `Cause::UnknownScheme`; `Cause::Input` for invalid options.
    pub fn connect(url: &FolderUrl, options: &ObjectOptions) -> Result<Self> {
        match KINDS.iter().find(|(scheme, _)| *scheme == url.scheme()) {
            Some(&(_, kind)) => connect(url, kind, options),
            None => Err(Error::unknown_scheme(
                url.to_string(),
                format!("there is no object store for the scheme '{}'", url.scheme()),
            )),
        }
    }
}

/// Scheme, bucket or host, query of http, options, and those of the use.
type ClientKey = (String, BTreeMap<String, String>, String);

/// A connection that is shared, and the variables that it was made from.
struct KnownClient {
    key: ClientKey,
    variables: Vec<(OsString, OsString)>,
    client: Arc<Client>,
}

fn connect(url: &FolderUrl, kind: StoreKind, options: &ObjectOptions) -> Result<ObjectStorage> {
    static CLIENTS: LazyLock<Mutex<Vec<KnownClient>>> = LazyLock::new(Mutex::default);
    let mut options = options.clone();
    if kind != StoreKind::Http {
        options.values.extend(query_values(url)?);
    }
    options.take_own()?;
    let (host, prefix) = url.address().split_once('/').unwrap_or((url.address(), ""));
    let base = match (kind, url.query()) {
        (StoreKind::Http, Some(query)) => format!("{}://{host}/?{query}", url.scheme()),
        _ => format!("{}://{host}", url.scheme()),
    };
    let prefix = match kind {
        StoreKind::Http => percent_decoded(prefix)
            .ok_or_else(|| Error::input(format!("{} is not a valid URL", shown(url, host, prefix))))?,
        _ => prefix.to_owned(),
    };
    let cache = options.cache.as_ref().map(|cache| cache.folder().to_owned());
    let used = (&options.profile, options.deadline_s.to_bits(), options.backoff_ms, options.part_bytes, cache);
    let key = (base.clone(), options.values.clone(), format!("{used:?}"));
    let variables = variables(kind);
    let mut clients = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
    // A program that sets another endpoint or other credentials means them from then on.
    clients.retain(|known| known.key != key || known.variables == variables);
    let client = match clients.iter().find(|known| known.key == key) {
        Some(known) => Arc::clone(&known.client),
        None => {
            let store = |retry| open(kind, host, &base, &options.values, retry);
            let ((once, endpoint), (parts, _)) = (store(once())?, store(with_retries(options.limits()?.deadline))?);
            let client = Arc::new(Client::new(once, parts, &options, kind == StoreKind::Http, endpoint)?);
            clients.push(KnownClient { key, variables, client: Arc::clone(&client) });
            client
        }
    };
    Ok(ObjectStorage::of_client(client, &prefix, shown(url, host, prefix.as_str())))
}

/// The variables of the environment that a store of this kind takes its options from.
fn variables(kind: StoreKind) -> Vec<(OsString, OsString)> {
    let prefixes: &[&str] = match kind {
        StoreKind::S3 => &["AWS_"],
        StoreKind::Google => &["GOOGLE_", "SERVICE_ACCOUNT"],
        StoreKind::Azure => &["AZURE_"],
        StoreKind::Http | StoreKind::Memory => &[],
    };
    let is_of_kind =
        |name: &OsStr| prefixes.iter().any(|&prefix| name.as_encoded_bytes().starts_with(prefix.as_bytes()));
    let mut variables: Vec<_> = std::env::vars_os().filter(|(name, _)| is_of_kind(name)).collect();
    variables.sort_unstable();
    variables
}

/// The URL for messages: without query, user and password. The user part of Azure's URLs is the container.
fn shown(url: &FolderUrl, host: &str, prefix: &str) -> String {
    let host = match host.rsplit_once('@') {
        Some((_, host)) if url.scheme().starts_with("http") => host,
        _ => host,
    };
    format!("{}://{host}/{prefix}", url.scheme())
}

fn query_values(url: &FolderUrl) -> Result<BTreeMap<String, String>> {
    let pairs = url.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    let value = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        Some((percent_decoded(name)?, percent_decoded(value)?))
    };
    let values: Option<_> = pairs.map(value).collect();
    // The query may contain secrets, so it is not repeated.
    values.ok_or_else(|| {
        Error::input(format!("the options of {url} are not of the form ?key=value&key=value, percent-encoded"))
    })
}

/// No retries: this crate makes them.
fn once() -> RetryConfig {
    RetryConfig { max_retries: 0, ..RetryConfig::default() }
}

fn with_retries(deadline: Duration) -> RetryConfig {
    let retry_timeout = deadline.clamp(Duration::from_millis(1), Duration::from_secs(180));
    RetryConfig { retry_timeout, ..RetryConfig::default() }
}

/// A store, and its endpoint, which tells it from others with the same URLs. Those in memory have none.
fn open(
    kind: StoreKind,
    host: &str,
    base: &str,
    values: &BTreeMap<String, String>,
    retry: RetryConfig,
) -> Result<(Arc<dyn ObjectStore>, Option<String>)> {
    let invalid = |error: object_store::Error| invalid_option(base, &error);
    let endpoint = |parts: Vec<Option<String>>| Some(parts.into_iter().flatten().collect::<Vec<_>>().join(" "));
    Ok(match kind {
        StoreKind::S3 => {
            let mut builder = AmazonS3Builder::from_env()
                .with_bucket_name(host)
                .with_retry(retry)
                .with_http_connector(CheckingConnector);
            for (key, value) in keys::<AmazonS3ConfigKey>(values, base)? {
                builder = builder.with_config(key, value);
            }
            builder = with_copy_condition(builder);
            let keys = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint, AmazonS3ConfigKey::Region];
            let places = keys.map(|key| builder.get_config_value(&key));
            if places[..2].iter().flatten().any(|endpoint| !endpoint.contains("://")) {
                return Err(Error::input(format!(
                    "{base} cannot be used: its endpoint begins with neither http:// nor https://; check the option \
                     endpoint, and AWS_ENDPOINT in the environment"
                )));
            }
            if places.iter().flatten().any(|place| place.starts_with("http://")) {
                builder = builder.with_allow_http(true);
            }
            (Arc::new(builder.build().map_err(invalid)?), endpoint(places.into()))
        }
        StoreKind::Google => {
            let mut builder = GoogleCloudStorageBuilder::from_env()
                .with_bucket_name(host)
                .with_retry(retry)
                .with_http_connector(CheckingConnector);
            for (key, value) in keys::<GoogleConfigKey>(values, base)? {
                builder = builder.with_config(key, value);
            }
            let place = builder.get_config_value(&GoogleConfigKey::BaseUrl);
            (Arc::new(builder.build().map_err(invalid)?), endpoint(vec![place]))
        }
        StoreKind::Azure => {
            let mut builder = MicrosoftAzureBuilder::from_env()
                .with_url(base)
                .with_retry(retry)
                .with_http_connector(CheckingConnector);
            for (key, value) in keys::<AzureConfigKey>(values, base)? {
                builder = builder.with_config(key, value);
            }
            let keys = [AzureConfigKey::Endpoint, AzureConfigKey::AccountName];
            let places = keys.map(|key| builder.get_config_value(&key));
            (Arc::new(builder.build().map_err(invalid)?), endpoint(places.into()))
        }
        StoreKind::Http => {
            let mut builder =
                HttpBuilder::new().with_url(base).with_retry(retry).with_http_connector(CheckingConnector);
            builder = builder.with_config(ClientConfigKey::AllowHttp, "true");
            for (key, value) in keys::<ClientConfigKey>(values, base)? {
                builder = builder.with_config(key, value);
            }
            // The URL names the endpoint.
            (Arc::new(builder.build().map_err(invalid)?), endpoint(Vec::new()))
        }
        StoreKind::Memory => (memory_bucket(host), None),
    })
}

/// Copies replace no object. Servers without the condition ignore it, or say so; some have another one, as an option.
fn with_copy_condition(builder: AmazonS3Builder) -> AmazonS3Builder {
    match builder.get_config_value(&AmazonS3ConfigKey::CopyIfNotExists) {
        Some(_) => builder,
        None => builder.with_copy_if_not_exists(S3CopyIfNotExists::Header("if-none-match".into(), "*".into())),
    }
}

/// The options as keys of a store.
fn keys<K: FromStr>(values: &BTreeMap<String, String>, base: &str) -> Result<Vec<(K, String)>> {
    let key = |(name, value): (&String, &String)| match name.to_ascii_lowercase().parse() {
        Ok(key) => Ok((key, value.clone())),
        Err(_) => Err(Error::input(format!(
            "{} has no option {name:?}; the options are those of the crate object_store, such as region, endpoint, \
             access_key_id, and deadline",
            base.split('?').next().unwrap_or_default()
        ))),
    };
    values.iter().map(key).collect()
}

/// An option that the store refuses. The words of the crate may repeat its value, so only ours are shown.
fn invalid_option(base: &str, error: &object_store::Error) -> Error {
    let detail = match error {
        object_store::Error::UnknownConfigurationKey { key, .. } => format!("it has no option {key:?}"),
        error => reason(&error.to_string()).to_owned(),
    };
    let base = base.split('?').next().unwrap_or_default();
    let base = base.rsplit_once('@').filter(|_| base.starts_with("http")).map_or(base, |(_, host)| host);
    Error::input(format!(
        "{base} cannot be used: {detail}; check the options and the environment of the store (AWS_..., GOOGLE_..., \
         AZURE_...)"
    ))
}

fn reason(text: &str) -> &'static str {
    const REASONS: [(&str, &str); 6] = [
        (
            "issing account",
            "the name of the account is missing (account_name, or AZURE_STORAGE_ACCOUNT_NAME in the environment)",
        ),
        ("issing access key", "the access key id is missing (access_key_id, or AWS_ACCESS_KEY_ID in the environment)"),
        (
            "issing secret",
            "the secret access key is missing (secret_access_key, or AWS_SECRET_ACCESS_KEY in the environment)",
        ),
        ("service account", "the service account cannot be read"),
        ("parse", "an option has an invalid value"),
        ("redential", "the credentials are not complete"),
    ];
    REASONS.iter().find(|(mark, _)| text.contains(mark)).map_or("an option is missing or invalid", |(_, reason)| reason)
}

/// A bucket in the memory of this process.
fn memory_bucket(name: &str) -> Arc<dyn ObjectStore> {
    static BUCKETS: LazyLock<Mutex<BTreeMap<String, Arc<InMemory>>>> = LazyLock::new(Mutex::default);
    let mut buckets = BUCKETS.lock().unwrap_or_else(PoisonError::into_inner);
    let bucket = buckets.entry(name.to_owned()).or_default();
    Arc::clone(bucket) as Arc<dyn ObjectStore>
}

#[cfg(test)]
mod tests {
    use super::*;
    use ogive::Cause;
    use ogive::io::locate;

    /// Held by tests that register schemes, which belong to the process.
    static REGISTERED: Mutex<()> = Mutex::new(());

    #[test]
    fn options_of_a_url_are_checked_and_shown_nowhere() {
        let _registered = REGISTERED.lock();
        register_with(&ObjectOptions::default().value("secret_access_key", "SECRET-2"));
        let storage = locate("s3://bucket/a/b?access_key_id=SECRET-1&region=eu-west-1&deadline=5").unwrap().storage;
        let shown = format!("{storage:?} {}", storage.path("b").display());
        assert_eq!(shown, "ObjectStorage { url: \"s3://bucket/a\" } s3://bucket/a/b");
        for deadline in ["nan", "inf", "-1", "0"] {
            let error = locate(format!("s3://bucket/a?deadline={deadline}")).unwrap_err();
            assert!(matches!(error, Error { cause: Cause::Input, .. }), "{deadline}: {error}");
        }
        for url in ["s3://bucket/a?no_such_key=SECRET-1", "s3://bucket/a?SECRET-1", "s3://b/a?deadline=SECRET-1"] {
            let error = locate(url).unwrap_err();
            assert!(matches!(error, Error { cause: Cause::Input, .. }), "{error:?}");
            assert!(!format!("{error} {error:?}").contains("SECRET"), "{error}");
        }
        let options = format!("{:?}", ObjectOptions::default().value("secret_access_key", "SECRET-2"));
        assert!(options.contains("secret_access_key") && !options.contains("SECRET-2"), "{options}");
    }

    #[test]
    fn the_address_of_http_keeps_its_query_and_shows_no_secret() {
        let _registered = REGISTERED.lock();
        register();
        let storage = locate("https://user:SECRET@host/a%20b/c?signature=SECRET").unwrap().storage;
        assert_eq!(storage.path("c").display().to_string(), "https://host/a b/c");
        assert!(!format!("{storage:?}").contains("SECRET"));
        let place = locate("https://host/a%20b/c%25%20d?signature=SECRET").unwrap();
        assert_eq!(place.storage.path(&place.name).display().to_string(), "https://host/a b/c% d");
        assert!(matches!(locate("https://host/a/c%2"), Err(Error { cause: Cause::Input, .. })));
        assert!(matches!(storage.create("c"), Err(Error { cause: Cause::Unsupported, .. })));
        assert!(matches!(storage.remove("c"), Err(Error { cause: Cause::Unsupported, .. })));
    }
}
