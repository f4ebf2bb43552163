//! Lists, page by page and item by item: none is ever held whole.

use futures_util::StreamExt;
use setpoint_core::value::Value;
use setpoint_kube::object;

use super::lines::ListCutter;
use super::streams::{SILENCE, understood};
use crate::cluster::Cluster;
use crate::requests::{Collection, Failure, Form, Selection};
use crate::wire::within;

/// Nothing has so many pages: whoever sends more never ends.
const MOST_PAGES: usize = 2_000;

impl Cluster {
    /// Hands over each item of a list. Answers the state it is of.
    pub(crate) async fn pages(
        &self,
        collection: &Collection,
        selection: Option<&Selection>,
        form: Form,
        mut take: impl FnMut(Value),
    ) -> Result<String, Failure> {
        let malformed = |detail: &str| Failure::Malformed { detail: detail.to_owned() };
        let mut after: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let mut body = self.api.page(collection, selection, form, after.as_deref()).await?;
            let mut cutter = ListCutter::default();
            while let Some(chunk) = within(&*self.api.sender.wire, SILENCE, body.next()).await.flatten() {
                for item in cutter.take(&chunk?)? {
                    take(understood(&item)?);
                }
            }
            let rest = understood(&cutter.rest())?;
            let of_list = |field| object::at(&rest, &["metadata", field]).and_then(Value::as_str).map(str::to_owned);
            match of_list("continue").filter(|token| !token.is_empty()) {
                Some(token) => after = Some(token),
                None => return of_list("resourceVersion").ok_or_else(|| malformed("a list has no resourceVersion")),
            }
        }
        Err(malformed("a list does not end"))
    }

    /// The names of all objects of a kind, as they are now.
    pub(crate) async fn names_in(&self, collection: &Collection) -> Result<Vec<String>, Failure> {
        let mut names = Vec::new();
        let take = |object: Value| names.extend(object::name(&object).map(str::to_owned));
        self.pages(collection, None, Form::Metadata, take).await?;
        Ok(names)
    }
}
