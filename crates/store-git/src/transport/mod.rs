//! Ways to a server. Each is a blocking stream for gix, and under all of them lies a
//! [`Pace`](crate::pace::Pace).

pub(crate) mod http;
pub(crate) mod ssh;
