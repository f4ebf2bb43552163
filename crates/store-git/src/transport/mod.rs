//! The transports. Each is a blocking stream for gix, limited by a [`Pace`](crate::pace::Pace).

pub(crate) mod http;
pub(crate) mod ssh;
