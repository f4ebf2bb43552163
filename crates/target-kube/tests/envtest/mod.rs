//! Everything that needs a real API server.

mod acting;
mod acting_as;
mod adopting;
mod auditing;
mod bad_input;
mod conforming;
mod connecting;
mod definitions;
mod deleting;
mod drifting;
mod false_diffs;
mod faults;
mod flux_failures;
mod paging;
mod remarks;
mod resting;
mod resync;
mod rights;
mod scene;
mod sharing;
mod silence;
mod sizes;
mod two_servers;
mod unlabelled;
mod webhooks;
