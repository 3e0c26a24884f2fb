//! Tests of messages and of the words of the library.

use super::*;
use std::collections::HashSet;

#[test]
fn errors_of_the_engine_itself_name_files_and_no_entities() {
    for kind in [io::ErrorKind::NotFound, io::ErrorKind::AlreadyExists] {
        let message = Error::io("open", "here", kind.into()).to_string();
        assert!(!message.contains("entity") && message.starts_with("cannot open here: "), "{message}");
    }
}

#[test]
fn every_kind_and_every_advice_is_told_in_the_words_of_the_library() {
    let samples = samples();
    let kinds: HashSet<ErrorKind> = samples.iter().map(Error::kind).collect();
    assert_eq!(kinds.len(), ErrorKind::Bug as usize + 1, "{kinds:?}");
    for error in samples {
        let text = error.to_string();
        let advice = error.advice().map(|advice| Library.advise(advice).expect("all of it is of the library"));
        assert!(advice.is_none_or(|advice| text.ends_with(&advice)), "{text}");
        // Some advice is to use the command.
        let foreign = words_of_others("library", &text.replace("command `ogive", ""));
        assert!(foreign.is_empty(), "{text}: {foreign:?}");
        // What all interfaces share has no words of one.
        let message = error.message();
        assert!(words_of_others("none", &message).is_empty(), "{message}");
    }
}

#[test]
fn an_error_is_small_and_keeps_the_error_of_the_system() {
    assert!(size_of::<Error>() <= 32);
    let error = Error::io("read", "f", io::Error::from_raw_os_error(5));
    assert!(std::error::Error::source(&error).is_some() && error.again().io_error().is_some());
    assert_eq!(error.into_io_error().unwrap().raw_os_error(), Some(5));
    assert!(Error::input("no").into_io_error().is_err());
}
