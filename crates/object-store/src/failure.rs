//! Failed requests: their kind, and words that show no secret.
//!
//! Errors of the crate `object_store` contain the URL of the request with its query, and the answer, which may repeat
//! the key id and the text that was signed. So only the status, the code of the answer and our own words are shown.

use crate::answers::{OtherRegion, WrongListing};
use object_store::client::{HttpError, HttpErrorKind};
use ogive::{Advice, Call, Error};
use std::error::Error as StdError;
use std::io;
use std::path::PathBuf;

/// The reason of a failure that nothing is known of.
const UNKNOWN_REASON: &str = "the request failed";

/// The kind of a failed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    NotFound,
    /// The object is the one that the condition of the request names.
    NotModified,
    NoBucket,
    Exists,
    /// The object is not the one that was opened.
    Changed,
    Denied,
    Unauthenticated,
    /// The server refuses for now, and has done nothing.
    Busy,
    /// The connection broke, the server failed or was silent: the request may have been executed.
    Broken,
    TimedOut,
    /// The store does not have this operation or option.
    NotSupported,
    /// The range lies outside the object.
    Range,
    /// The answer cannot be right: it contradicts a listing, or is none to what was asked.
    Wrong,
    /// Two answers contradict each other, and nothing tells which one is of the object.
    Unclear,
    Other,
}

/// A failed request.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    /// Status, code and reason, without secrets.
    detail: String,
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }

    /// An answer with fewer bytes than it announced.
    pub(crate) fn short_body(got: usize, announced: u64) -> Self {
        Self::new(FailureKind::Broken, format!("the answer ended after {got} of {announced} bytes"))
    }

    /// What happened, without secrets.
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    /// Whether the same request may succeed later.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(self.kind, FailureKind::Busy | FailureKind::Broken | FailureKind::TimedOut | FailureKind::Wrong)
    }

    /// Whether the request may have been executed all the same.
    pub(crate) fn is_ambiguous(&self) -> bool {
        matches!(self.kind, FailureKind::Broken | FailureKind::TimedOut)
    }

    /// The error of an action on an object, after this number of attempts.
    pub(crate) fn into_error(self, action: &'static str, path: PathBuf, attempts: u32) -> Error {
        let detail = match attempts {
            0 | 1 => self.detail,
            _ => format!("{}, after {attempts} attempts", self.detail),
        };
        if self.kind == FailureKind::Changed {
            return Error::object_changed(path, detail);
        }
        if matches!(self.kind, FailureKind::Wrong | FailureKind::Unclear) {
            return Error::wrong_answer(path, detail);
        }
        if self.kind == FailureKind::NotSupported {
            let hint = format!("{detail}; use another store, or copy the file to a file system");
            return Error::unsupported(path, action, hint);
        }
        if let Some((kind, call)) = self.kind.call() {
            return Error::io(action, path, io::Error::new(kind, detail)).advise(Advice::Use(call));
        }
        let (kind, advice) = self.kind.advice();
        Error::io(action, path, io::Error::new(kind, format!("{detail}; {advice}")))
    }
}

impl FailureKind {
    /// The kind of the system's errors that comes nearest, and what to do, for what each interface does in its own way.
    fn call(self) -> Option<(io::ErrorKind, Call)> {
        Some(match self {
            Self::Denied => (io::ErrorKind::PermissionDenied, Call::CheckCredentials),
            Self::Unauthenticated => (io::ErrorKind::PermissionDenied, Call::GiveCredentials),
            Self::TimedOut => (io::ErrorKind::TimedOut, Call::AllowMoreTime),
            _ => return None,
        })
    }

    /// The kind of the system's errors that comes nearest, and what to do, for the others.
    fn advice(self) -> (io::ErrorKind, &'static str) {
        match self {
            Self::NotFound => (io::ErrorKind::NotFound, "check the URL"),
            Self::NoBucket => (io::ErrorKind::NotFound, "check the name of the bucket, its region and the endpoint"),
            Self::Exists => (io::ErrorKind::AlreadyExists, "choose another name, or remove it first"),
            Self::Busy => (io::ErrorKind::ResourceBusy, "try again later, or with fewer requests at once"),
            Self::Broken => (io::ErrorKind::ConnectionAborted, "check the network and the endpoint, and try again"),
            Self::Range => (io::ErrorKind::UnexpectedEof, "the object is shorter; open it again"),
            _ => (io::ErrorKind::Other, "check the URL and the options"),
        }
    }
}

impl From<object_store::Error> for Failure {
    fn from(error: object_store::Error) -> Self {
        use object_store::Error as E;
        let answer = Answer::of(&error);
        if let Some(region) = &answer.region {
            return Self::new(FailureKind::Other, answer.describe(&of_region(region)));
        }
        if let Some(wrong) = answer.wrong_listing {
            return Self::new(FailureKind::Wrong, wrong);
        }
        if let Some(reason) = answer.wrong_range {
            return Self::new(FailureKind::Wrong, reason);
        }
        let no_bucket = answer.code.as_deref().is_some_and(|code| {
            matches!(code, "NoSuchBucket" | "ContainerNotFound" | "InvalidBucketName" | "PermanentRedirect")
        });
        let kind = match &error {
            _ if no_bucket => FailureKind::NoBucket,
            E::NotFound { .. } => FailureKind::NotFound,
            E::AlreadyExists { .. } | E::Precondition { .. } => FailureKind::Exists,
            E::NotModified { .. } => FailureKind::NotModified,
            E::PermissionDenied { .. } => FailureKind::Denied,
            E::Unauthenticated { .. } => FailureKind::Unauthenticated,
            E::NotSupported { .. } | E::NotImplemented { .. } => FailureKind::NotSupported,
            _ => answer.kind(),
        };
        let reason = match kind {
            FailureKind::NotFound => "no such object",
            FailureKind::NotModified => "the object is the one that is known",
            FailureKind::NoBucket => "no such bucket",
            FailureKind::Exists => "the name is taken",
            FailureKind::Denied => "access denied",
            FailureKind::Unauthenticated => "no valid credentials",
            FailureKind::NotSupported if answer.reason == UNKNOWN_REASON => "the store does not support this",
            FailureKind::Busy => "the store is busy",
            FailureKind::Range => "no such range",
            FailureKind::TimedOut => "no answer in time",
            FailureKind::NotSupported | FailureKind::Broken | FailureKind::Changed | FailureKind::Other => {
                answer.reason
            }
            FailureKind::Wrong | FailureKind::Unclear => answer.reason,
        };
        Self::new(kind, answer.describe(reason))
    }
}

/// Facts about the answer of a server, from the texts of an error and its causes.
struct Answer {
    status: Option<u16>,
    /// The code in the body, such as `NoSuchKey`.
    code: Option<String>,
    http: Option<HttpErrorKind>,
    /// Whether the object ends before the range.
    is_past_end: bool,
    /// The region of the bucket, if it is another one than that of the request.
    region: Option<String>,
    /// What is wrong with the range of an answer.
    wrong_range: Option<&'static str>,
    /// What is wrong with a listing.
    wrong_listing: Option<&'static str>,
    reason: &'static str,
}

impl Answer {
    fn of(error: &object_store::Error) -> Self {
        let mut answer = Self {
            status: None,
            code: None,
            http: None,
            is_past_end: false,
            region: None,
            wrong_range: None,
            wrong_listing: None,
            reason: UNKNOWN_REASON,
        };
        let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
        while let Some(error) = cause {
            let text = error.to_string();
            answer.status = answer.status.or_else(|| status_in(&text));
            answer.code = answer.code.take().or_else(|| code_in(&text));
            answer.http = answer.http.or_else(|| error.downcast_ref::<HttpError>().map(HttpError::kind));
            answer.is_past_end |= text.contains("but object was only");
            answer.wrong_range = answer.wrong_range.or_else(|| wrong_range_in(&text));
            answer.wrong_listing =
                answer.wrong_listing.or_else(|| error.downcast_ref::<WrongListing>().map(|wrong| wrong.0));
            if let Some(other) = error.downcast_ref::<OtherRegion>() {
                answer.status = Some(other.status);
                answer.region = Some(other.region.clone());
            }
            answer.region = answer.region.take().or_else(|| region_in(&text));
            answer.note_reason(&text);
            cause = error.source();
        }
        answer
    }

    fn note_reason(&mut self, text: &str) {
        const REASONS: [(&str, &str); 8] = [
            ("non-partial response", "the server does not serve parts of files"),
            ("Range request not supported", "the server does not serve parts of files"),
            ("redirect", "the bucket is in another region, or the endpoint is wrong"),
            ("169.254.", "no credentials were found in the environment, and the machine has none"),
            ("metadata.google.internal", "no credentials were found in the environment, and the machine has none"),
            ("builder error", "the address is invalid"),
            ("URL scheme is not allowed", "the endpoint is http://; allow it (`allow_http=true`)"),
            ("dns error", "the host is unknown"),
        ];
        if let Some((_, reason)) = REASONS.iter().find(|(mark, _)| text.contains(mark)) {
            self.reason = reason;
        }
    }

    fn kind(&self) -> FailureKind {
        match (self.status, self.http) {
            _ if self.is_past_end => FailureKind::Range,
            (Some(416), _) => FailureKind::Range,
            (Some(429 | 503), _) => FailureKind::Busy,
            (Some(401), _) => FailureKind::Unauthenticated,
            (Some(403), _) => FailureKind::Denied,
            (Some(404), _) => FailureKind::NotFound,
            (Some(501), _) => FailureKind::NotSupported,
            (Some(408 | 500..), _) => FailureKind::Broken,
            (Some(_), _) => FailureKind::Other,
            (None, Some(HttpErrorKind::Timeout)) => FailureKind::TimedOut,
            (None, Some(HttpErrorKind::Connect | HttpErrorKind::Request | HttpErrorKind::Interrupted)) => {
                FailureKind::Broken
            }
            (None, Some(HttpErrorKind::Decode)) => FailureKind::Broken,
            (None, _) => FailureKind::Other,
        }
    }

    fn describe(&self, reason: &str) -> String {
        let reason = match self.http {
            Some(HttpErrorKind::Connect) if self.reason == UNKNOWN_REASON => "no connection",
            Some(HttpErrorKind::Interrupted | HttpErrorKind::Decode) => "the connection broke",
            _ => reason,
        };
        match (self.status, &self.code) {
            (Some(status), Some(code)) => format!("{reason} ({status} {code})"),
            (Some(status), None) => format!("{reason} ({status})"),
            (None, _) => reason.to_owned(),
        }
    }
}

fn of_region(region: &str) -> String {
    format!("the bucket is in the region {region}; set the option region={region} (or AWS_REGION)")
}

/// The region in an answer of S3 to a request that was signed for another one.
pub(crate) fn region_in(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("<Region>")?;
    let (region, _) = rest.split_once("</Region>")?;
    is_region(region).then(|| region.to_owned())
}

/// Whether a text may be the name of a region, so no secret: such as `eu-west-1`.
pub(crate) fn is_region(text: &str) -> bool {
    let is_word = text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    is_word && (1..=32).contains(&text.len())
}

/// What is wrong with the range of an answer, by the words of the crate `object_store`.
fn wrong_range_in(text: &str) -> Option<&'static str> {
    if text.starts_with("Requested ") && text.contains(", got ") {
        return Some("the answer has another range than was asked for");
    }
    text.contains("CONTENT_RANGE header").then_some("the answer does not say which range it has")
}

/// The status in the words of the crate `object_store`.
fn status_in(text: &str) -> Option<u16> {
    let (_, rest) = text.split_once("status code: ")?;
    rest.get(..3)?.parse().ok()
}

/// The code in an answer of S3, Azure or Google Cloud Storage: letters only, so no secret.
fn code_in(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    let is_word = code.len() <= 64 && code.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_word.then(|| code.to_owned())
}
