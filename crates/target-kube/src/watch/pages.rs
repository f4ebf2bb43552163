//! Reads lists page by page and item by item: none is ever held whole.

use std::collections::BTreeSet;

use futures_util::StreamExt;
use setpoint_core::value::Value;
use setpoint_kube::object;

use super::lines::ListCutter;
use super::streams::{SILENCE, understood};
use crate::cluster::Cluster;
use crate::requests::{Collection, Failure, Form, Selection, Urgency};
use crate::wire::within;

/// The limit for the pages of a list. No list has so many; a server that sends more never ends.
const MOST_PAGES: usize = 2_000;

/// The wanted part of a list, and its urgency.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listing<'a> {
    pub(crate) selection: Option<&'a Selection>,
    pub(crate) form: Form,
    pub(crate) urgency: Urgency,
    /// The most pages to request.
    pub(crate) pages: usize,
}

impl Cluster {
    /// Passes each item of a list to `take`. Returns the version of the list.
    pub(crate) async fn pages(
        &self,
        collection: &Collection,
        selection: Option<&Selection>,
        form: Form,
        take: impl FnMut(Value),
    ) -> Result<String, Failure> {
        let listing = Listing { selection, form, urgency: Urgency::Sweep, pages: MOST_PAGES };
        let state = self.some_pages(collection, listing, take).await?;
        state.ok_or_else(endless)
    }

    /// Passes each item of the first pages of a list to `take`. Returns the version of the list;
    /// `None` if it has more pages.
    pub(crate) async fn some_pages(
        &self,
        collection: &Collection,
        listing: Listing<'_>,
        mut take: impl FnMut(Value),
    ) -> Result<Option<String>, Failure> {
        let malformed = |detail: &str| Failure::Malformed { detail: detail.to_owned() };
        let Listing { selection, form, urgency, pages } = listing;
        let mut after: Option<String> = None;
        for _ in 0..pages {
            let mut body = self.api.page(collection, selection, form, after.as_deref(), urgency).await?;
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
                None => {
                    let state = of_list("resourceVersion");
                    return state.map(Some).ok_or_else(|| malformed("a list has no resourceVersion"));
                }
            }
        }
        Ok(None)
    }

    /// Returns the names of all objects of a kind in their current state.
    pub(crate) async fn names_in(&self, collection: &Collection) -> Result<BTreeSet<String>, Failure> {
        let listing = Listing { selection: None, form: Form::Metadata, urgency: Urgency::Sweep, pages: MOST_PAGES };
        let names = self.some_names_in(collection, listing).await?;
        names.ok_or_else(endless)
    }

    /// Returns the names of all objects in the first pages of a list; `None` if it has more pages.
    /// An object without a name could be any object, so such a list fails.
    pub(crate) async fn some_names_in(
        &self,
        collection: &Collection,
        listing: Listing<'_>,
    ) -> Result<Option<BTreeSet<String>>, Failure> {
        let (mut names, mut nameless) = (BTreeSet::new(), false);
        let take = |object: Value| match object::name(&object) {
            Some(name) => drop(names.insert(name.to_owned())),
            None => nameless = true,
        };
        let state = self.some_pages(collection, listing, take).await?;
        if nameless {
            return Err(Failure::Malformed { detail: "an object in a list has no name".to_owned() });
        }
        Ok(state.map(|_| names))
    }
}

fn endless() -> Failure {
    Failure::Malformed { detail: "a list does not end".to_owned() }
}
