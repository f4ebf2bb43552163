//! Completes every resource, whichever program rendered it: checks its size, inserts content, and
//! calls the check of its kind.

use setpoint_core::canonical;
use setpoint_documents::{FieldProblem, Manifest};
use setpoint_store::{StoreError, StorePath};
use setpoint_yaml::Place;

use crate::content::ContentFiles;
use crate::problem::{Problem, Problems};
use crate::request::{Limits, Request};

/// Completes the resources of one file or input.
pub(crate) struct Completing<'a> {
    request: &'a Request<'a>,
    contents: ContentFiles<'a>,
    totals: &'a mut Totals,
    /// The files that resources take content from, each with the place that names it.
    takes: Vec<(StorePath, Place)>,
    /// The error for a file that could not be read for a reason outside the version.
    blind: Option<StoreError>,
}

impl<'a> Completing<'a> {
    pub(crate) fn new(request: &'a Request<'a>, contents: ContentFiles<'a>, totals: &'a mut Totals) -> Self {
        Self { request, contents, totals, takes: Vec::new(), blind: None }
    }

    pub(crate) fn complete(&mut self, manifest: &mut Manifest) -> Vec<FieldProblem> {
        // The app is refused as a whole: nothing more is read for it.
        if self.totals.is_over() {
            return Vec::new();
        }
        let (size, most) = (canonical::to_bytes(&manifest.body).len(), self.request.limits.object_bytes);
        self.totals.add_object(size);
        if size > most {
            let message = format!("the {} has {size} bytes, the limit for one object is {most}", manifest.kind);
            return vec![FieldProblem::new("", message, "split it, or take large content from a file")];
        }
        let mut problems = Vec::new();
        match self.contents.put_into(manifest) {
            Ok(Some(taken)) => {
                self.totals.grow(canonical::to_bytes(&manifest.body).len().saturating_sub(size));
                self.takes.extend(taken.file.map(|file| (file, manifest.place.clone())));
                problems.extend(taken.problem);
            }
            Ok(None) => {}
            Err(blind) => self.blind = Some(blind),
        }
        problems.extend((self.request.check)(&manifest.api_version, &manifest.kind, &manifest.body));
        problems
    }

    /// Reports whether the app exceeds its limits.
    pub(crate) fn is_over(&self) -> bool {
        self.totals.is_over()
    }

    /// Returns the files that content was taken from, or the error if one could not be read.
    pub(crate) fn finish(self) -> Result<Vec<(StorePath, Place)>, StoreError> {
        self.blind.map_or(Ok(self.takes), Err)
    }
}

/// The totals of all inputs of an app.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Totals {
    limits: Limits,
    objects: usize,
    bytes: usize,
}

impl Totals {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, objects: 0, bytes: 0 }
    }

    fn add_object(&mut self, bytes: usize) {
        self.objects += 1;
        self.grow(bytes);
    }

    fn grow(&mut self, bytes: usize) {
        self.bytes += bytes;
    }

    pub(crate) fn is_over(&self) -> bool {
        self.objects > self.limits.objects || self.bytes > self.limits.rendered_bytes
    }

    pub(crate) fn refuse_what_is_over(&self, problems: &mut Problems) {
        let all = "all inputs of the app";
        if self.objects > self.limits.objects {
            let what = format!("they declare {} objects or more, the limit is {}", self.objects, self.limits.objects);
            problems.add(Problem::found(all, what, "split the app"));
        }
        if self.bytes > self.limits.rendered_bytes {
            let what =
                format!("they render to {} bytes or more, the limit is {}", self.bytes, self.limits.rendered_bytes);
            problems.add(Problem::found(all, what, "split the app"));
        }
    }
}
