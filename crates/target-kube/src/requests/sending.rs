//! Sends one request, from its turn to the end of its response: in time, bounded, counted.

use std::sync::Arc;

use futures_util::StreamExt;
use setpoint_core::acting::ActingAs;
use setpoint_core::name::AppId;
use setpoint_core::time::{Span, Timestamp};
use setpoint_kube::status::Status;
use setpoint_target::{Asker, Fence};

use super::counts::{Call, Counts};
use super::failure::Failure;
use super::flow::{Flow, RequestOutcome, Urgency};
use crate::options::Clock;
use crate::wire::{Body, Request, Response, Wire, within};

/// An object has at most 1.5 MB; the server's own metadata may have as much again.
pub(crate) const MOST_OF_OBJECT: usize = 3 << 20;
/// The limit of a discovery document, with tens of thousands of definitions.
pub(crate) const MOST_OF_DISCOVERY: usize = 32 << 20;
/// The limit for a read.
const READ_TIME: Span = Span::seconds(10);
/// The number of retries of a read after a temporary failure.
const READS_AGAIN: u32 = 2;
const FIRST_WAIT: Span = Span::millis(200);
const LONGEST_WAIT: Span = Span::seconds(2);

/// The deadlines of a request: the last moment to send it, and the moment from which its response
/// no longer matters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    pub(crate) leave_by: Timestamp,
    pub(crate) land_by: Timestamp,
}

impl From<Fence> for Deadline {
    fn from(fence: Fence) -> Self {
        Self { leave_by: fence.leave_by.min(fence.land_by), land_by: fence.land_by }
    }
}

/// The app and the user for whom a request is made, and its urgency.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Behalf<'a> {
    pub(crate) urgency: Urgency,
    /// The app; `None` if the request serves several.
    pub(crate) app: Option<&'a AppId>,
    /// The impersonated user; the agent's own if `None`.
    pub(crate) acting_as: Option<&'a Arc<ActingAs>>,
}

impl<'a> Behalf<'a> {
    /// Builds the behalf of the agent itself, for any app.
    pub(crate) fn agent(urgency: Urgency) -> Self {
        Self { urgency, app: None, acting_as: None }
    }

    pub(crate) fn of(asker: &'a Asker, urgency: Urgency) -> Self {
        Self { urgency, app: asker.app.as_ref(), acting_as: asker.acting_as.as_ref() }
    }

    /// Returns the same without impersonation: reads are the agent's, whatever an app may read.
    pub(crate) fn looking(self) -> Self {
        Self { acting_as: None, ..self }
    }
}

/// The call of a request, its urgency and its app.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Errand<'a> {
    pub(crate) call: Call,
    pub(crate) urgency: Urgency,
    pub(crate) app: Option<&'a AppId>,
}

/// A complete response that is no error.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) code: u16,
    pub(crate) bytes: Vec<u8>,
}

/// The sender of requests to one cluster.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(crate) wire: Arc<dyn Wire>,
    pub(crate) clock: Clock,
    pub(crate) flow: Flow,
    pub(crate) counts: Counts,
}

impl Sender {
    pub(crate) fn new(wire: Arc<dyn Wire>, clock: Clock) -> Self {
        Self { wire, clock, flow: Flow::default(), counts: Counts::default() }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Reads, with retries after temporary failures.
    pub(crate) async fn read(&self, request: &Request, errand: Errand<'_>, most: usize) -> Result<Reply, Failure> {
        let mut tries = 0;
        loop {
            let now = self.now();
            let deadline = Deadline { leave_by: now + READ_TIME, land_by: now + READ_TIME };
            let failure = match self.exchange(request.clone(), errand, deadline, most).await {
                Err(failure) if failure.is_passing() && tries < READS_AGAIN => failure,
                answered => return answered,
            };
            let asked = if let Failure::Refused { retry_after, .. } = failure { retry_after } else { None };
            let wait = asked.unwrap_or(FIRST_WAIT.doubled(tries, LONGEST_WAIT));
            if wait > LONGEST_WAIT {
                return Err(failure);
            }
            self.wire.wait(wait).await;
            tries += 1;
        }
    }

    /// Sends once, and returns the response if it arrives in time.
    pub(crate) async fn exchange(
        &self,
        request: Request,
        errand: Errand<'_>,
        deadline: Deadline,
        most: usize,
    ) -> Result<Reply, Failure> {
        let turn = self.flow.take(errand.urgency);
        let turn = within(&*self.wire, deadline.leave_by.since(self.now()), turn).await;
        let sent_at = self.now();
        let Some(_turn) = turn.filter(|_| sent_at <= deadline.leave_by) else { return Err(Failure::Late) };
        let pause = self.flow.pause(sent_at);
        if pause > Span::ZERO {
            let status = Status { code: 429, reason: "TooManyRequests".to_owned(), ..busy() };
            return Err(Failure::Refused { status: Box::new(status), retry_after: Some(pause) });
        }
        self.counts.count(errand.call, errand.app);
        let answer = async {
            let response = self.wire.send(request).await?;
            judged(response, most).await
        };
        let answer = within(&*self.wire, deadline.land_by.since(sent_at), answer).await;
        let answer = answer.unwrap_or_else(|| Err(Failure::Unanswered { detail: "timed out".to_owned() }));
        self.flow.learn(taken(&answer, self.now().since(sent_at)), self.now());
        answer
    }

    /// Opens a response that does not end by itself. It holds a slot only until it begins.
    pub(crate) async fn open(&self, request: Request, errand: Errand<'_>) -> Result<Body, Failure> {
        let turn = self.flow.take(errand.urgency).await;
        let sent_at = self.now();
        let pause = self.flow.pause(sent_at);
        if pause > Span::ZERO {
            drop(turn);
            self.wire.wait(pause).await;
        }
        self.counts.count(errand.call, errand.app);
        let opened = within(&*self.wire, READ_TIME, self.wire.send(request)).await;
        let response =
            opened.unwrap_or_else(|| Err(crate::wire::WireError::Unanswered { detail: "timed out".to_owned() }));
        let response = response.map_err(Failure::from);
        let answer = match response {
            Ok(response) if (200..300).contains(&response.status) => return Ok(response.body),
            Ok(response) => judged(response, MOST_OF_OBJECT).await,
            Err(failure) => Err(failure),
        };
        self.flow.learn(taken(&answer, Span::ZERO), self.now());
        match answer {
            Err(failure) => Err(failure),
            Ok(reply) => Err(Failure::Malformed { detail: format!("a stream returned status {}", reply.code) }),
        }
    }
}

/// Builds the status that takes the place of the server's own while the server wants clients to
/// wait.
fn busy() -> Status {
    Status {
        code: 429,
        reason: String::new(),
        message: "the API server asked clients to wait".to_owned(),
        causes: Vec::new(),
        retry_after_seconds: None,
        is_of_secret: false,
    }
}

fn taken(answer: &Result<Reply, Failure>, after: Span) -> RequestOutcome {
    match answer {
        Err(Failure::Refused { status, retry_after }) if status.code == 429 || status.code >= 500 => {
            RequestOutcome::Burdened { retry_after: *retry_after }
        }
        Err(Failure::Unanswered { .. } | Failure::NotSent { .. }) => RequestOutcome::Burdened { retry_after: None },
        _ => RequestOutcome::Answered { after },
    }
}

/// Reads the whole response, or the error that its status describes.
async fn judged(response: Response, most: usize) -> Result<Reply, Failure> {
    let Response { status: code, retry_after, body } = response;
    if (300..400).contains(&code) {
        return Err(Failure::Redirected { code });
    }
    let bytes = whole(body, most).await;
    if (200..300).contains(&code) {
        return Ok(Reply { code, bytes: bytes? });
    }
    // The status code holds, whatever happened to the body.
    let status = Status::read(code, &bytes.unwrap_or_default());
    let said = status.retry_after_seconds.map(|seconds| Span::seconds(seconds.into()));
    Err(Failure::Refused { retry_after: retry_after.or(said), status: Box::new(status) })
}

/// Reads a body to its end, if that comes within the limit.
async fn whole(mut body: Body, most: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    while let Some(chunk) = body.next().await {
        bytes.extend_from_slice(&chunk?);
        if bytes.len() > most {
            return Err(Failure::Malformed { detail: format!("it is longer than {most} bytes") });
        }
    }
    Ok(bytes)
}
