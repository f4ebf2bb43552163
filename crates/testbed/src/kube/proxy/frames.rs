//! The body of a response: passed on, made up, or broken.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};

use super::State;
use super::rule::Fault;
use super::seen::Seen;
use crate::kube::client::Cause;

/// The socket of a connection, to reset it. It is a second handle: the first is deep inside TLS and
/// HTTP.
#[derive(Clone, Debug)]
pub(super) struct Socket(Arc<OwnedFd>);

impl Socket {
    pub(super) fn new(handle: OwnedFd) -> Self {
        Self(Arc::new(handle))
    }

    /// Makes the end of the connection a reset; the caller ends it by returning the error.
    pub(super) fn reset(&self) -> Cause {
        // A socket that is already closed needs no reset.
        let _ = rustix::net::sockopt::set_socket_linger(&self.0, Some(Duration::ZERO));
        io::Error::from(io::ErrorKind::ConnectionReset).into()
    }
}

pub(super) enum Frames {
    /// The body as it comes from the server.
    Whole(Incoming),
    /// The whole body, known in advance.
    Fixed(Option<Bytes>),
    /// A part of a body that was announced as longer.
    Cut {
        part: Option<Bytes>,
        flushed: bool,
        socket: Socket,
    },
    /// The same content, repeated without end.
    Endless {
        first: Option<Bytes>,
        next: Bytes,
    },
    Watch(Watch),
}

impl Frames {
    pub(super) fn cut(part: Bytes, socket: Socket) -> Self {
        Self::Cut { part: Some(part), flushed: false, socket }
    }

    /// Returns a list of ConfigMaps without an end.
    pub(super) fn endless() -> Self {
        let first = Bytes::from_static(
            br#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{}"#,
        );
        let item = br#",{"metadata":{"name":"again","namespace":"default"},"data":{"again":"and again"}}"#;
        Self::Endless { first: Some(first), next: item.repeat(100).into() }
    }
}

impl Body for Frames {
    type Data = Bytes;
    type Error = Cause;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cause>>> {
        let bytes = match self.get_mut() {
            Self::Whole(body) => return Pin::new(body).poll_frame(cx).map_err(Cause::from),
            Self::Watch(watch) => return watch.poll_frame(cx),
            Self::Fixed(bytes) => bytes.take(),
            Self::Endless { first, next } => Some(first.take().unwrap_or_else(|| next.clone())),
            Self::Cut { part, flushed, socket } => match part.take() {
                Some(part) => Some(part),
                // Written data is sent only when there is nothing more to write.
                None if !*flushed => {
                    *flushed = true;
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                None => return Poll::Ready(Some(Err(socket.reset()))),
            },
        };
        Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) => body.size_hint(),
            Self::Fixed(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            _ => SizeHint::default(),
        }
    }
}

/// A stream of events, passed on line by line, so that single ones can be lost.
pub(super) struct Watch {
    body: Incoming,
    stream: Seen,
    state: Arc<State>,
    socket: Socket,
    /// The beginning of an incomplete line.
    begun: Vec<u8>,
}

impl Watch {
    pub(super) fn new(body: Incoming, stream: Seen, state: Arc<State>, socket: Socket) -> Self {
        Self { body, stream, state, socket, begun: Vec::new() }
    }

    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cause>>> {
        loop {
            let frame = match std::task::ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                Some(Err(error)) => return Poll::Ready(Some(Err(error.into()))),
                None => return Poll::Ready(None),
            };
            let Ok(data) = frame.into_data() else { continue };
            match self.pass(&data) {
                Ok(passed) if passed.is_empty() => {}
                Ok(passed) => return Poll::Ready(Some(Ok(Frame::data(passed.into())))),
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
    }

    /// Returns the lines that end in this data and are not lost.
    fn pass(&mut self, data: &[u8]) -> Result<Vec<u8>, Cause> {
        let mut passed = Vec::new();
        for piece in data.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(piece);
            if !piece.ends_with(b"\n") {
                break;
            }
            match self.state.strike_line(&self.stream, &self.begun).map(|struck| struck.fault) {
                Some(Fault::SwallowEvent) => self.begun.clear(),
                Some(_) => return Err(self.socket.reset()),
                None => passed.append(&mut self.begun),
            }
        }
        Ok(passed)
    }
}
