//! Follows one object by its name: an object without our label is not in the stream of its kind.

use std::sync::Arc;

use futures_util::future::{Either, select};
use setpoint_core::key::Key;
use setpoint_core::time::Span;
use setpoint_kube::object;

use super::events::Kind;
use super::lines::Lines;
use super::streams::{FIRST_WAIT, INITIAL_END, LONGEST_WAIT, SILENCE, event_in, is_no_beginning};
use crate::cluster::Cluster;
use crate::requests::{Beginning, Failure, Form, Selection};
use crate::turns::Signal;

/// The time between a read of an object and the start of its own stream.
const GRACE: Span = Span::seconds(5);

impl Cluster {
    /// Follows one object by its name, until it is watched with its kind.
    pub(super) async fn follow_single(&self, key: Key, over: Arc<Signal>) {
        let following = async {
            // An object that is about to be created needs no stream of its own, and mostly that is
            // why it was read.
            self.api.sender.wire.wait(GRACE).await;
            let mut tries = 0;
            loop {
                let outages = self.watches.outage.ended();
                let ended = self.follow_single_once(&key).await;
                if ended.is_ok() {
                    tries = 0;
                }
                let wait = FIRST_WAIT.doubled(tries, LONGEST_WAIT);
                tries = if self.pause(wait, tries > 0 && ended.is_err(), outages).await { 0 } else { tries + 1 };
            }
        };
        match select(std::pin::pin!(following), std::pin::pin!(over.heard())).await {
            Either::Left((never, _)) => never,
            Either::Right(((), _)) => {}
        }
    }

    async fn follow_single_once(&self, key: &Key) -> Result<(), Failure> {
        let collection = self.collection(key, None).await;
        let collection = collection.map_err(|error| Failure::NotSent { detail: error.to_string() })?;
        let selection = Selection { selector: "fieldSelector", expression: format!("metadata.name={}", key.name()) };
        let mut beginning = Beginning::Everything;
        let body = match self.api.watch(&collection, Some(&selection), Form::Metadata, &beginning).await {
            Err(failure) if is_no_beginning(&failure) => {
                beginning = Beginning::Present;
                self.api.watch(&collection, Some(&selection), Form::Metadata, &beginning).await?
            }
            body => body?,
        };
        let mut there = false;
        let mut lines = Lines::new(body);
        while let Some(line) = lines.next(&*self.api.sender.wire, SILENCE).await? {
            let (kind, object) = event_in(&line)?;
            let version = object::resource_version(&object).and_then(|text| text.parse().ok());
            match kind {
                Kind::Present => {
                    there = true;
                    self.watches.told_unlabelled(key, version.as_ref());
                }
                Kind::Gone => self.watches.told_unlabelled(key, None),
                Kind::Bookmark if !there && object::annotation(&object, INITIAL_END) == Some("true") => {
                    self.watches.told_unlabelled(key, None);
                }
                Kind::Bookmark => {}
                Kind::Error => return Ok(()),
            }
        }
        Ok(())
    }
}
