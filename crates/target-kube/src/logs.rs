//! Logs of an app's pods: found through its tree, read from the server container by container, and
//! passed on as they arrive.
//!
//! Only an incomplete line is kept. A slow reader slows the server down, not the agent.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use setpoint_core::time::Span;
use setpoint_kube::key::group_and_kind;
use setpoint_target::{Answer, LogPart, LogQuestion, LogReader, Refusal, RefusalClass, Wanted};

use crate::cluster::Cluster;
use crate::following::{Following, can_own_pods};
use crate::requests::{Failure, Place, escaped};
use crate::tree::{Container, Containers, Grown, Specimen};
use crate::wire::{Body, within};

/// The most containers that are read one after the other.
const MOST_READ: usize = 1_000;
/// A longer line is returned in pieces.
const LONGEST_LINE: usize = 64 << 10;
/// The longest silence of a log that is not followed.
const SILENCE: Span = Span::seconds(30);

/// One container whose log is read.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// `pod/container`.
    pub(crate) name: String,
    pub(crate) run: Run,
    pod: Place,
    query: String,
    follow: bool,
}

/// One run of a container: after a restart it is another run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Run {
    pod: String,
    container: String,
    restarts: i128,
}

/// Logs as a stream of parts.
struct Streamed(BoxStream<'static, LogPart>);

impl LogReader for Streamed {
    fn next(&mut self) -> Answer<'_, Option<LogPart>> {
        Box::pin(self.0.next())
    }
}

impl Cluster {
    pub(crate) async fn logs(
        self: Arc<Self>,
        wanted: Wanted,
        question: LogQuestion,
    ) -> Result<Box<dyn LogReader>, Refusal> {
        let grown = self.grown(wanted.clone()).await;
        let mut sources = self.sources(&grown, &question).await?;
        if question.follow && (!sources.is_empty() || awaits_pods(&grown, &question)) {
            return Ok(Box::new(Following::new(self, wanted, question, &grown, sources)));
        }
        if sources.is_empty() {
            return Err(no_container(&grown, &question));
        }
        let unseen = grown.not_looked_at();
        let mut notes: Vec<LogPart> = unseen.iter().map(|line| unseen_note(line)).collect();
        if sources.len() > MOST_READ {
            notes.push(note(format!(
                "only {MOST_READ} of {} containers are read: name one object of the app",
                sources.len()
            )));
            sources.truncate(MOST_READ);
        }
        let names = sources.iter().map(|source| source.name.clone()).collect();
        notes.insert(0, LogPart::Sources { names });
        let read = sources.into_iter().map(move |source| Arc::clone(&self).log_of(source));
        Ok(Box::new(Streamed(stream::iter(notes).chain(stream::iter(read).flatten()).boxed())))
    }

    /// Returns the requested containers.
    pub(crate) async fn sources(&self, grown: &Grown, question: &LogQuestion) -> Result<Vec<Source>, Refusal> {
        let mut sources = Vec::new();
        for pod in pods_of(grown, question)? {
            let place = self.place(&pod.key, None).await.map_err(|error| refusal(error.to_string()))?;
            sources.extend(containers_of(pod, question).map(|container| Source {
                name: format!("{}/{}", pod.key.name(), container.name),
                run: Run { pod: pod.uid.clone(), container: container.name.clone(), restarts: container.restarts },
                pod: place.clone(),
                query: query(&container.name, question),
                follow: question.follow,
            }));
        }
        Ok(sources)
    }

    /// Reads the log of one container. An error becomes a part of it, and the others continue.
    fn log_of(self: Arc<Self>, source: Source) -> BoxStream<'static, LogPart> {
        let name = source.name.clone();
        let opened = async move {
            match self.opened(source).await {
                Ok(lines) => lines,
                Err(failure) => stream::iter([unreadable(&name, &failure)]).boxed(),
            }
        };
        stream::once(opened).flatten().boxed()
    }

    /// Opens the log of a container, including its future lines if it is followed.
    pub(crate) async fn opened(self: Arc<Self>, source: Source) -> Result<BoxStream<'static, LogPart>, Failure> {
        let body = self.api.log(&source.pod, &source.query, source.follow).await?;
        Ok(lines_of(self, source, body))
    }
}

pub(crate) fn unreadable(name: &str, failure: &Failure) -> LogPart {
    note(format!("{name}: its log cannot be read: {failure}"))
}

pub(crate) fn unseen_note(line: &str) -> LogPart {
    note(format!("not read: {line}"))
}

/// Reports whether everything was read, and objects that could have pods have none.
fn awaits_pods(grown: &Grown, question: &LogQuestion) -> bool {
    let mut asked_for = grown.specimens.iter().filter(|specimen| is_asked_for(specimen, question));
    let some_may_come = asked_for.any(|specimen| can_own_pods(specimen.key.class()));
    some_may_come && grown.pods().next().is_none() && grown.not_looked_at().is_empty()
}

/// Reports whether this is the named object, or no object is named.
fn is_asked_for(specimen: &Specimen, question: &LogQuestion) -> bool {
    let Some((kind, name)) = &question.object else { return true };
    let (_, of) = group_and_kind(specimen.key.class());
    of.eq_ignore_ascii_case(kind) && specimen.key.name() == name
}

/// A log that is being read.
struct Reading {
    cluster: Arc<Cluster>,
    source: Source,
    body: Body,
    lines: LineCutter,
    end: End,
}

/// The end of a log.
enum End {
    NotYet,
    Over,
    /// It broke off, which is reported after the last line.
    Broken(String),
}

fn lines_of(cluster: Arc<Cluster>, source: Source, body: Body) -> BoxStream<'static, LogPart> {
    let reading = Reading { cluster, source, body, lines: LineCutter::default(), end: End::NotYet };
    stream::unfold(reading, async |mut reading| reading.next().await.map(|part| (part, reading))).boxed()
}

impl Reading {
    async fn next(&mut self) -> Option<LogPart> {
        loop {
            if let Some(text) = self.lines.next(!matches!(self.end, End::NotYet)) {
                return Some(LogPart::Line { source: self.source.name.clone(), text });
            }
            match std::mem::replace(&mut self.end, End::Over) {
                End::NotYet => self.end = self.read_on().await,
                End::Over => return None,
                End::Broken(problem) => {
                    return Some(note(format!("{}: its log broke off: {problem}", self.source.name)));
                }
            }
        }
    }

    async fn read_on(&mut self) -> End {
        let chunk = if self.source.follow {
            self.body.next().await
        } else {
            match within(&*self.cluster.api.sender.wire, SILENCE, self.body.next()).await {
                Some(chunk) => chunk,
                None => return End::Broken(format!("no data for {SILENCE}")),
            }
        };
        match chunk {
            Some(Ok(bytes)) => {
                self.lines.take(&bytes);
                End::NotYet
            }
            Some(Err(error)) => End::Broken(error.to_string()),
            None => End::Over,
        }
    }
}

/// Splits bytes into lines.
#[derive(Debug, Default)]
struct LineCutter {
    held: Vec<u8>,
    /// The number of held bytes that were returned already.
    told: usize,
}

impl LineCutter {
    fn take(&mut self, bytes: &[u8]) {
        self.held.drain(..self.told);
        self.told = 0;
        self.held.extend_from_slice(bytes);
    }

    /// Returns the next line; the last one may lack its newline.
    fn next(&mut self, ended: bool) -> Option<String> {
        let rest = &self.held[self.told..];
        let end = rest.iter().take(LONGEST_LINE).position(|byte| *byte == b'\n');
        let (line, length) = match end {
            Some(end) => (&rest[..end], end + 1),
            None if rest.len() >= LONGEST_LINE => (&rest[..LONGEST_LINE], LONGEST_LINE),
            None if ended && !rest.is_empty() => (rest, rest.len()),
            None => return None,
        };
        let line = String::from_utf8_lossy(line).into_owned();
        self.told += length;
        Some(line)
    }
}

/// Returns the requested pods: of all objects, or below one of them.
fn pods_of<'g>(grown: &'g Grown, question: &LogQuestion) -> Result<Vec<&'g Specimen>, Refusal> {
    let Some((kind, name)) = &question.object else { return Ok(grown.pods().collect()) };
    let mut pods = Vec::new();
    let mut found = false;
    // The positions are in depth-first order: what an object owns follows it, with a greater depth.
    let mut within = None;
    for (index, depth, _) in &grown.positions {
        let specimen = &grown.specimens[*index];
        if within.is_some_and(|above| *depth <= above) {
            within = None;
        }
        if within.is_none() && is_asked_for(specimen, question) {
            found = true;
            within = Some(*depth);
        }
        if within.is_some() && specimen.key.class() == "Pod" {
            pods.push(specimen);
        }
    }
    if found {
        Ok(pods)
    } else {
        Err(refusal(format!("the app has no {kind} `{name}`, and owns none: see `setpoint tree`")))
    }
}

/// Returns the requested containers of a pod; init and ephemeral containers only if they are named.
fn containers_of<'p>(pod: &'p Specimen, question: &'p LogQuestion) -> impl Iterator<Item = &'p Container> {
    let Containers { main, others } = &pod.containers;
    let named = question.container.as_ref();
    let others = others.iter().filter(move |_| named.is_some());
    main.iter().chain(others).filter(move |container| named.is_none_or(|named| *named == container.name))
}

/// Explains why there is nothing to read.
fn no_container(grown: &Grown, question: &LogQuestion) -> Refusal {
    let pods: Vec<_> = grown.pods().collect();
    match &question.container {
        Some(named) if !pods.is_empty() => {
            let known = pods.iter().flat_map(|pod| pod.containers.main.iter().chain(&pod.containers.others));
            let known: BTreeSet<&str> = known.map(|container| container.name.as_str()).collect();
            let known = known.into_iter().take(20).collect::<Vec<_>>().join("`, `");
            refusal(format!("no pod has a container `{named}`; there are `{known}`"))
        }
        _ if !grown.not_looked_at().is_empty() => {
            let unseen = grown.not_looked_at().into_iter().take(5).collect::<Vec<_>>().join("; ");
            refusal(format!("no pod was found, but not everything could be read: {unseen}"))
        }
        _ => refusal("there is no pod to read the log of: see `setpoint tree`".to_owned()),
    }
}

fn query(container: &str, question: &LogQuestion) -> String {
    let LogQuestion { follow, since, tail, previous, .. } = question;
    let mut query = format!("container={}", escaped(container));
    let mut add = |name: &str, value: String| query.push_str(&format!("&{name}={value}"));
    if *follow {
        add("follow", "true".to_owned());
    }
    if let Some(since) = since {
        add("sinceSeconds", since.as_millis().div_ceil(1_000).max(1).to_string());
    }
    if let Some(tail) = tail {
        add("tailLines", tail.to_string());
    }
    if *previous {
        add("previous", "true".to_owned());
    }
    query
}

pub(crate) fn note(text: String) -> LogPart {
    LogPart::Note { text }
}

fn refusal(detail: String) -> Refusal {
    Refusal { class: RefusalClass::Invalid, detail, retry_after: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_lines_wherever_their_pieces_end() {
        for size in [1, 2, 5, 100] {
            let mut cutter = LineCutter::default();
            let mut lines = Vec::new();
            for piece in b"one\n\ntwo and three\nfour".chunks(size) {
                cutter.take(piece);
                lines.extend(std::iter::from_fn(|| cutter.next(false)));
            }
            lines.extend(std::iter::from_fn(|| cutter.next(true)));
            assert_eq!(lines, ["one", "", "two and three", "four"], "{size}");
        }
    }

    #[test]
    fn a_line_that_never_ends_comes_in_pieces() {
        let mut cutter = LineCutter::default();
        cutter.take(&vec![b'x'; LONGEST_LINE + 1]);
        assert_eq!(cutter.next(false).map(|line| line.len()), Some(LONGEST_LINE));
        assert_eq!(cutter.next(false), None);
        assert_eq!(cutter.next(true).as_deref(), Some("x"));
        assert_eq!(cutter.next(true), None);
    }

    #[test]
    fn a_question_is_a_query_that_no_name_can_leave() {
        let question = LogQuestion {
            follow: true,
            since: Some(Span::millis(1_500)),
            tail: Some(7),
            previous: true,
            ..LogQuestion::default()
        };
        let expected = "container=a%26b&follow=true&sinceSeconds=2&tailLines=7&previous=true";
        assert_eq!(query("a&b", &question), expected);
        assert_eq!(query("web", &LogQuestion::default()), "container=web");
    }
}
