//! Errors of jobs as Ballista passes them on: the names of all layers around an error in the form of Rust's `Debug`,
//! which is for developers. Users need the innermost message, once.

use datafusion::error::DataFusionError;

/// What stands before an error: how it begins, and behind which words the error follows.
const LAYERS: [(&str, &str); 9] = [
    ("Job failed due to stage ", " failed: "),
    ("Error planning job ", ": "),
    ("Task failed due to ", " error: "),
    ("failed to serialize ", " plan: "),
    ("failed to encode ", " plan: "),
    ("Stage ", "most recent failure reason: "),
    ("Task ", "most recent failure reason: "),
    ("Tasks ", "most recent failure reason: "),
    ("Partition", "most recent failure reason: "),
];
/// How texts of DataFusion, Arrow and Ballista begin.
const PREFIXES: [&str; 16] = [
    "Could not parse plan: ",
    "Internal error: ",
    "DataFusion error: ",
    "Execution error: ",
    "Error during planning: ",
    "External error: ",
    "Arrow error: ",
    "Parquet error: ",
    "Object Store error: ",
    "IO error: ",
    "General error: ",
    "Schema error: ",
    "Invalid argument error: ",
    "Compute error: ",
    "Cast error: ",
    "Parser error: ",
];
/// Variants whose text is an error of this kind.
const KINDS: [(&str, Kind); 3] = [
    ("NotImplemented", DataFusionError::NotImplemented),
    ("ResourcesExhausted", DataFusionError::ResourcesExhausted),
    ("Internal", DataFusionError::Internal),
];

/// Stands between a context and its error.
const CAUSED_BY: &str = "\ncaused by\n";
/// The answer of a server, whose first text is its message; headers follow.
const STATUS: &str = "Status";

type Kind = fn(String) -> DataFusionError;

/// The error of a task or of the planner that is within the error of a job; `None` for other errors.
#[must_use]
pub fn error_of_job(error: &DataFusionError) -> Option<DataFusionError> {
    let DataFusionError::Execution(text) = error.find_root() else { return None };
    let (job, said) = text.strip_prefix("Job ")?.split_once(" failed: ")?;
    if job.contains(' ') {
        return None;
    }
    let mut kind: Kind = DataFusionError::Execution;
    let text = plain(said, &mut kind);
    Some(kind(text))
}

/// A message without what layers print around it: `Task failed due to runtime execution error: Plan("...")`.
#[must_use]
pub fn plain_message(text: &str) -> String {
    plain(text, &mut (DataFusionError::Execution as Kind))
}

/// How errors of a connection begin: those of the protocol, and of what it goes through.
const OF_CONNECTIONS: [&str; 4] = ["code: '", "Status {", "tonic::transport::Error", "GrpcConnectionError"];
/// What they have in them if the other side is gone, or does not answer.
const LOST: [&str; 6] =
    ["h2 protocol error", "transport error", "Timeout expired", "TimeoutExpired", "tcp connect error", "ConnectError"];

/// Whether an error says that a process of a cluster does not answer any more.
#[must_use]
pub fn is_lost_connection(error: &DataFusionError) -> bool {
    let text = match error.find_root() {
        DataFusionError::Execution(text) => text.clone(),
        root => root.to_string(),
    };
    let text = without_layers(text.trim());
    text == "Timeout expired"
        || OF_CONNECTIONS.iter().any(|begin| text.starts_with(begin)) && LOST.iter().any(|it| text.contains(it))
}

/// Whether a context of an error names a part of DataFusion, which says nothing to a person, or a statement that the
/// message names, too.
#[must_use]
pub fn is_layer(context: &str) -> bool {
    let is_name = |context: &str| context.contains('_') || context.starts_with(|first: char| first.is_uppercase());
    context.starts_with("Optimizer rule")
        || context.contains(" operation on table '")
        || context.contains(".rs:")
        || !context.contains(' ') && is_name(context)
}

/// The innermost message of a text; `kind` becomes that of the variant around it.
fn plain(text: &str, kind: &mut Kind) -> String {
    let text = without_layers(text.trim());
    if let Some((context, inner)) = text.split_once(CAUSED_BY) {
        return within(context, plain(inner, kind));
    }
    if let Some((said, "")) = string(text) {
        return plain(&said, kind);
    }
    let Some((name, inner)) = variant(text) else { return of_fields(text).unwrap_or_else(|| text.to_owned()) };
    if let Some((_, found)) = KINDS.iter().find(|(known, _)| *known == name) {
        *kind = *found;
    }
    match string(inner).map(|(said, rest)| (said, rest.strip_prefix(", "))) {
        Some((context, Some(rest))) if name == "Context" => within(&context, plain(rest, kind)),
        Some((said, _)) => plain(&said, kind),
        None => plain(without_backtrace(inner), kind),
    }
}

fn within(context: &str, inner: String) -> String {
    if is_layer(context) { inner } else { format!("{context}: {inner}") }
}

fn without_layers(mut text: &str) -> &str {
    let rest = |text: &'_ str| {
        let layer = LAYERS.iter().filter(|(begin, _)| text.starts_with(begin));
        let layer = layer.filter_map(|(begin, end)| Some(begin.len() + text[begin.len()..].find(end)? + end.len()));
        let prefix = PREFIXES.iter().filter(|prefix| text.starts_with(**prefix)).map(|prefix| prefix.len());
        layer.chain(prefix).next()
    };
    while let Some(at) = rest(text) {
        text = text[at..].trim_start();
    }
    text
}

/// Name and content of `Name(content)`.
fn variant(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once('(')?;
    Some((name, rest.strip_suffix(')')?)).filter(|(name, _)| is_name(name))
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_uppercase())
        && text.chars().all(|letter| letter.is_ascii_alphanumeric())
}

/// The value of the literal with which a text begins, and what follows it.
fn string(text: &str) -> Option<(String, &str)> {
    let quoted = text.strip_prefix('"')?;
    let (mut said, mut letters) = (String::new(), quoted.char_indices());
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((said, &quoted[at + 1..])),
            '\\' => match letters.next()?.1 {
                'n' => said.push('\n'),
                't' => said.push('\t'),
                'r' => said.push('\r'),
                'u' => {
                    let code: String =
                        letters.by_ref().map(|(_, digit)| digit).skip(1).take_while(|&digit| digit != '}').collect();
                    said.extend(u32::from_str_radix(&code, 16).ok().and_then(char::from_u32));
                }
                other => said.push(other),
            },
            other => said.push(other),
        }
    }
    None
}

/// The content of `ArrowError(content, Some(backtrace))`, and that of other variants as it is.
fn without_backtrace(content: &str) -> &str {
    let content = content.strip_suffix(", None").unwrap_or(content);
    let backtrace = content.rfind(", Some(\"").filter(|_| content.ends_with("\")"));
    backtrace.map_or(content, |at| &content[..at])
}

/// The texts among `Name { field: "text", other: 7 }`, or the words of a bare `NameOfVariant`.
fn of_fields(text: &str) -> Option<String> {
    let (name, fields) = text.split_once(" {").unwrap_or((text, ""));
    let is_whole = fields.is_empty() || fields.ends_with('}');
    if !is_name(name) || !is_whole || name.len() < 2 {
        return None;
    }
    let (mut texts, mut rest) = (Vec::new(), fields);
    while let Some(at) = rest.find('"') {
        let Some((said, behind)) = string(&rest[at..]) else { break };
        texts.push(said);
        rest = behind;
        if name == STATUS {
            return texts.pop().map(|message| plain_message(&message));
        }
    }
    if !texts.is_empty() {
        return Some(texts.join(": "));
    }
    let words = name.char_indices().map(|(at, letter)| match letter.is_ascii_uppercase() && at > 0 {
        true => format!(" {}", letter.to_ascii_lowercase()),
        false => letter.to_ascii_lowercase().to_string(),
    });
    Some(words.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::PlanError;
    use datafusion::arrow::error::ArrowError;
    use std::sync::Arc;

    fn of_task(error: &DataFusionError) -> String {
        format!(
            "Job 8x3 failed: Job failed due to stage 2 failed: Task failed due to runtime execution error: \
             DataFusionError({error:?})\n"
        )
    }

    fn shown(error: DataFusionError) -> DataFusionError {
        error_of_job(&DataFusionError::Execution(of_task(&error))).unwrap()
    }

    #[test]
    fn the_message_of_a_task_is_found_within_its_layers() {
        let zero = || DataFusionError::ArrowError(Box::new(ArrowError::DivideByZero), Some(String::new()));
        assert_eq!(shown(zero()).message(), "divide by zero");
        let cast = ArrowError::CastError("Cannot cast string '\"a\"\\n' to \u{7} value".to_owned());
        let cast = || DataFusionError::ArrowError(Box::new(ArrowError::CastError(cast.to_string())), None);
        let wanted = "Cannot cast string '\"a\"\\n' to \u{7} value";
        assert_eq!(shown(cast()).message(), wanted);
        assert_eq!(shown(DataFusionError::Shared(Arc::new(cast())).context("type_coercion")).message(), wanted);
        assert_eq!(shown(zero().context("reading t")).message(), "reading t: divide by zero");
        let io = std::io::Error::new(std::io::ErrorKind::NotFound, "no t.parquet");
        assert_eq!(shown(DataFusionError::IoError(io)).message(), "no t.parquet");
        let changed = PlanError::Changed { location: "/a (1)/t.ogive".to_owned() };
        let wanted = changed.to_string();
        assert_eq!(shown(changed.into()).message(), wanted);
    }

    #[test]
    fn the_kind_of_an_error_is_kept() {
        let memory = DataFusionError::ResourcesExhausted("no memory (for a sort)".to_owned());
        assert!(matches!(shown(memory), DataFusionError::ResourcesExhausted(text) if text == "no memory (for a sort)"));
        let planned = "Job 1 failed: Error planning job 1: DataFusionError(NotImplemented(\"that: (this)\"))";
        let planned = error_of_job(&DataFusionError::Execution(planned.to_owned()));
        assert!(matches!(planned, Some(DataFusionError::NotImplemented(text)) if text == "that: (this)"));
    }

    #[test]
    fn the_reason_of_repeated_failures_is_unpacked() {
        let text = "Job 7 failed: Job failed due to stage 1 failed: Task 3 in Stage 1 failed 4 times, fail the stage, \
                    most recent failure reason: \"Task failed due to IO error: DataFusionError(IoError(Os { code: 2, \
                    kind: NotFound, message: \\\"No such file\\\" }))\"\n";
        let error = error_of_job(&DataFusionError::Execution(text.to_owned())).unwrap();
        assert_eq!(error.message(), "No such file");
    }

    #[test]
    fn answers_of_servers_and_plans_that_do_not_travel_have_their_message() {
        let answer = "Status { code: Internal, message: \"Could not parse plan: DataFusion error: type_coercion\\n\
                      caused by\\nSchema error: No field named k.\", metadata: MetadataMap { headers: \
                      {\"date\": \"Thu\"} } }";
        assert_eq!(plain_message(answer), "No field named k.");
        let sent = "failed to serialize logical plan: Context(\"Error serializing custom table at /a/mod.rs:1\", \
                    External(the table f() is known here; name it))";
        assert_eq!(plain_message(sent), "the table f() is known here; name it");
        let rule = "DataFusionError(Context(\"Optimizer rule 'a' failed\", Context(\"DELETE operation on table 't'\", \
                    Plan(\"t takes no DELETE\"))))";
        assert_eq!(plain_message(rule), "t takes no DELETE");
        assert_eq!(plain_message("reading the table\ncaused by\nArrow error: no"), "reading the table: no");
    }

    #[test]
    fn a_process_that_is_gone_is_told_from_what_it_says() {
        let is_lost = |text: &str| is_lost_connection(&DataFusionError::Execution(text.to_owned()));
        assert!(is_lost("code: 'Unknown error', message: \"h2 protocol error: error reading a body\", source: x"));
        assert!(is_lost("tonic::transport::Error(Transport, TimeoutExpired(()))"));
        assert!(is_lost("Timeout expired"));
        assert!(!is_lost("code: 'Internal error', message: \"Could not parse plan: no field\""));
        assert!(!is_lost("Generic S3 error: h2 protocol error"));
    }

    #[test]
    fn other_errors_and_other_texts_stay() {
        assert!(error_of_job(&DataFusionError::Execution("no jobs".to_owned())).is_none());
        assert!(error_of_job(&DataFusionError::Plan("Job 1 failed: x".to_owned())).is_none());
        for text in ["a (b) { \"c\" }", "Stage 1", "t.ogive is damaged at byte 7: (x); do (y)", "", "(", "X(\"", "\"a"]
        {
            assert_eq!(plain_message(text), text, "{text}");
        }
    }
}
