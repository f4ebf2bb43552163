//! Kustomizations: inputs whose directory holds a `kustomization.yaml`. They read any file of the
//! tree that they name, including bases outside the input. The files that were read decide which
//! commits touch the app.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::value::Value;
use setpoint_documents::{FieldProblem, Manifest};
use setpoint_kustomize::build::{BadBuild, Built, Options, build};
use setpoint_kustomize::files::{FileError, Files, RemoteFolder};
use setpoint_kustomize::kustomization::FILE_NAMES;
use setpoint_kustomize::limits::Limits as BuildLimits;
use setpoint_kustomize::load::NoResources;
use setpoint_kustomize::node::{Content, NoValue, Node, Scalar, Tag, Value as Written};
use setpoint_kustomize::origin::{Origin, Sources};
use setpoint_kustomize::resource::Resource;
use setpoint_kustomize::substitution::{Undeclared, Variables, substitute};
use setpoint_store::{StoreError, StorePath, Tree};
use setpoint_yaml::{Class, Diagnostic, Place};

use crate::bases;
use crate::completing::{Completing, Totals};
use crate::content::ContentFiles;
use crate::external::{self, NotGiven, Wanted};
use crate::problem::{Problem, Problems};
use crate::rendering::Recordings;
use crate::request::{Input, Limits, NotRendered, RemoteBase, Request};
use crate::walk::Naming;

/// Reports whether a directory holds a kustomization.
pub(crate) fn is_meant_for(tree: &dyn Tree, folder: &StorePath) -> Result<bool, StoreError> {
    for name in FILE_NAMES {
        let Ok(path) = folder.join(name) else { continue };
        match tree.id_at(&path) {
            Ok(Some(entry)) if entry.kind.is_file() => return Ok(true),
            // A reader of a link without a target reports it.
            Ok(_) | Err(StoreError::Refused { .. } | StoreError::Vanished { .. }) => {}
            Err(blind) => return Err(blind),
        }
    }
    Ok(false)
}

/// An input that is a kustomization.
pub(crate) struct Kustomized<'a> {
    pub(crate) request: &'a Request<'a>,
    pub(crate) input: &'a Input,
    pub(crate) tree: &'a dyn Tree,
    /// The trees of all stores that the app reads.
    pub(crate) trees: &'a Recordings<'a>,
    pub(crate) naming: &'a Naming,
}

impl Kustomized<'_> {
    /// Returns the declared resources. Adds any mistakes to the problems.
    pub(crate) fn read(
        &self,
        totals: &mut Totals,
        problems: &mut Problems,
        show: &mut dyn FnMut(&Self, Made),
    ) -> Result<Vec<Manifest>, NotRendered> {
        let Some(made) = self.made(problems)? else { return Ok(Vec::new()) };
        let manifests = self.manifests(&made, totals, problems)?;
        show(self, made);
        Ok(manifests)
    }

    /// Renders its files with the app's parameters, here or by another program. Returns nothing if
    /// that fails, and adds the reason to the problems.
    fn made(&self, problems: &mut Problems) -> Result<Option<Made>, NotRendered> {
        let made = match &self.request.kustomize.external {
            Some(digest) => self.made_elsewhere(digest)?,
            None => self.made_here()?,
        };
        match made {
            Ok(mut made) => Ok(self.substitute(&mut made, problems).then_some(made)),
            Err(problem) => {
                problems.add(problem);
                Ok(None)
            }
        }
    }

    /// Renames the files to the names that problems use.
    pub(crate) fn called(&self, made: Made) -> Made {
        Made { sources: made.sources.called(|file| self.place(file, 1).file), ..made }
    }

    fn made_here(&self) -> Result<Result<Made, Problem>, NotRendered> {
        match self.built()? {
            Ok(Built { resources, sources, warnings, .. }) => Ok(Ok(Made { resources, sources, warnings })),
            Err(bad) if bad.is_stopped() => Err(NotRendered::Stopped),
            Err(bad) => Ok(Err(self.problem(bad))),
        }
    }

    pub(crate) fn built(&self) -> Result<Result<Built, BadBuild>, StoreError> {
        let files = TreeFiles {
            tree: self.tree,
            bases: &self.request.kustomize.bases,
            trees: self.trees,
            most_bytes: self.request.limits.file_bytes,
            blind: RefCell::default(),
        };
        let limits = limits_of(self.request.limits);
        let (is_restricted, stop) = (self.request.kustomize.is_restricted, self.request.stop.cloned());
        let options = Options { is_restricted, limits, stop, ..Options::default() };
        let built = build(&files, self.input.path.as_str(), &options);
        files.blind.into_inner().map_or(Ok(built), Err)
    }

    fn made_elsewhere(&self, digest: &str) -> Result<Result<Made, Problem>, NotRendered> {
        let name = self.naming.name(&self.input.path);
        let refused = |what: String| Ok(Err(Problem::found(name, what, "the accepted version stays in force")));
        let text = match self.written_elsewhere(digest)? {
            Ok(text) => text,
            Err(what) => return refused(what),
        };
        let mut sources = Sources::default();
        match external::read(self.input.path.as_str(), &text, &mut sources) {
            Ok(resources) => Ok(Ok(Made { resources, sources, warnings: Vec::new() })),
            Err(bad) => refused(format!("the output of the other program cannot be read: {}", told(&bad))),
        }
    }

    /// Returns the output of another program, or its reason for refusing. Fails if the program
    /// could not be run.
    pub(crate) fn written_elsewhere(&self, digest: &str) -> Result<Result<String, String>, NotRendered> {
        let Input { store, path: folder } = self.input;
        let (Some(external), Some(tree)) = (self.request.external, self.trees.whole(store)?) else {
            let name = self.naming.name(folder);
            let what = format!("{name} is rendered by another program, but this process cannot run one");
            return Err(NotRendered::Unavailable { what });
        };
        let is_restricted = self.request.kustomize.is_restricted;
        match external.render(&Wanted { digest, store, tree, folder, is_restricted }) {
            Ok(text) => Ok(Ok(text)),
            Err(NotGiven::Refused { what }) => Ok(Err(what)),
            Err(NotGiven::Unavailable { what }) => Err(NotRendered::Unavailable { what }),
            Err(NotGiven::Store(blind)) => Err(blind.into()),
        }
    }

    /// Inserts the app's parameters. Reports whether that succeeded.
    fn substitute(&self, built: &mut Made, problems: &mut Problems) -> bool {
        let Value::Map(parameters) = self.request.parameters else { return true };
        if parameters.is_empty() {
            return true;
        }
        let pairs: Result<Vec<_>, _> = parameters.iter().map(|(name, value)| variable(name, value)).collect();
        let variables = pairs.and_then(|pairs| Variables::new(pairs).map_err(|bad| bad.to_string()));
        let variables = match variables {
            Ok(variables) => variables,
            Err(problem) => {
                problems.add(Problem::found(
                    "spec.parameters of the App",
                    problem,
                    "the accepted version stays in force",
                ));
                return false;
            }
        };
        let undeclared = if self.request.kustomize.keeps_undeclared { Undeclared::Keep } else { Undeclared::Refuse };
        let origin = built.sources.add("".into(), Some("parameters".into()));
        let Err(found) = substitute(&mut built.resources, &variables, undeclared, origin) else { return true };
        for bad in found {
            let place = self.place_of(bad.origin, &built.sources);
            problems.add(Diagnostic::new(Class::Value, place, bad.to_string()));
        }
        false
    }

    fn problem(&self, bad: BadBuild) -> Problem {
        let class = if bad.limit().is_some() { Class::Limit } else { Class::Value };
        let Some((file, line)) = bad.place else {
            return Problem::found(
                self.naming.name(&self.input.path),
                bad.message,
                "the accepted version stays in force",
            );
        };
        Diagnostic::new(class, self.place(&file, line), bad.message).into()
    }

    fn manifests(
        &self,
        built: &Made,
        totals: &mut Totals,
        problems: &mut Problems,
    ) -> Result<Vec<Manifest>, StoreError> {
        let most_bytes = self.request.limits.file_bytes;
        let contents = ContentFiles { tree: self.tree, folder: &self.input.path, most_bytes };
        let mut completing = Completing::new(self.request, contents, totals);
        let mut manifests = Vec::with_capacity(built.resources.len());
        for resource in &built.resources {
            if problems.is_full() || completing.is_over() {
                break;
            }
            let place = self.place_of(name_of(&resource.node).origin, &built.sources);
            let body = value_of(&resource.node).map_err(|bad| vec![of_resource(resource, bad)]);
            let manifest = body.and_then(|body| Manifest::of_value(body, place)).and_then(|mut manifest| {
                let found = completing.complete(&mut manifest);
                if found.is_empty() { Ok(manifest) } else { Err(found) }
            });
            match manifest {
                Ok(manifest) => manifests.push(manifest),
                Err(found) => found.into_iter().for_each(|field| {
                    let origin = nearest_node(&resource.node, &field.path).origin;
                    problems.add(field.placed(self.place_of(origin, &built.sources)));
                }),
            }
        }
        completing.finish()?;
        Ok(manifests)
    }

    fn place_of(&self, origin: Origin, sources: &Sources) -> Place {
        self.place(&sources.get(origin).file, origin.line())
    }

    fn place(&self, file: &str, line: u32) -> Place {
        let file = match file.split_once('/') {
            // A file of a remote base already has the name of its store.
            Some((store, path)) if store.ends_with(OF_STORE) => format!("{store}{path}"),
            _ if file.is_empty() => self.naming.name(&self.input.path),
            _ => StorePath::new(file).map_or_else(|_| file.to_owned(), |path| self.naming.name(&path)),
        };
        Place { file, line: line.max(1), column: 1, width: 1, text: String::new(), left_out: 0 }
    }
}

/// The output of a kustomization, from any renderer.
#[derive(Default)]
pub(crate) struct Made {
    pub(crate) resources: Vec<Resource>,
    /// The files of origin of their nodes.
    pub(crate) sources: Sources,
    pub(crate) warnings: Vec<String>,
}

/// Describes the mistake in a text without quoting a line of it, which may hold a secret.
fn told(bad: &NoResources) -> String {
    match bad {
        NoResources::Malformed(found) => {
            let first = found.iter().next().map(|first| format!(": line {}: {}", first.place.line, first.message));
            format!("{bad}{}", first.unwrap_or_default())
        }
        NoResources::Incomplete { .. } | NoResources::NoItems { .. } | NoResources::NoValue { .. } => bad.to_string(),
    }
}

/// Converts a parameter to a variable.
fn variable(name: &Arc<str>, value: &Value) -> Result<(Arc<str>, Scalar), String> {
    let (text, tag) = match value {
        Value::Null => ("null".into(), Tag::Null),
        Value::Bool(value) => (value.to_string().into(), Tag::Bool),
        Value::Num(number) => (number.to_string().into(), Tag::Any),
        Value::Str(text) => (Arc::clone(text), Tag::Text),
        Value::Seq(_) | Value::Map(_) | Value::Secret(_) | Value::Deferred(_) => {
            return Err(format!(
                "`{name}` is not a scalar: a parameter of a kustomization is a text, a number, a boolean or null"
            ));
        }
    };
    Ok((Arc::clone(name), Scalar { text, tag }))
}

/// Adds the resource to a problem with a value, because the line of the value may not show it.
fn of_resource(resource: &Resource, bad: FieldProblem) -> FieldProblem {
    let message = format!("{} (of the {} `{}`)", bad.message, resource.kind(), resource.name());
    FieldProblem { message, ..bad }
}

/// Returns the node with the resource's name, or the resource itself if it has none.
fn name_of(node: &Node) -> &Node {
    node.at(&["metadata", "name"]).unwrap_or(node)
}

/// Returns the node at a path such as `spec.ports[0].name`, or its innermost existing ancestor.
fn nearest_node<'n>(root: &'n Node, path: &str) -> &'n Node {
    let mut node = root;
    for segment in path.split(['.', '[']).filter(|segment| !segment.is_empty()) {
        let next = match (segment.strip_suffix(']').map(str::parse::<usize>), &node.content) {
            (Some(Ok(index)), Content::Seq(items)) => items.get(index),
            _ => node.at(&[segment]),
        };
        match next {
            Some(next) => node = next,
            None => return node,
        }
    }
    node
}

/// Converts a node to a value. The depth is bounded by the limits of the parsed texts.
pub(crate) fn value_of(node: &Node) -> Result<Value, FieldProblem> {
    Ok(match &node.content {
        Content::Scalar(scalar) => scalar_of(scalar)?,
        Content::Seq(items) => {
            let items = items.iter().enumerate();
            Value::Seq(
                items
                    .map(|(at, item)| value_of(item).map_err(|bad| below(&format!("[{at}]"), bad)))
                    .collect::<Result<_, _>>()?,
            )
        }
        Content::Map(map) => {
            let fields = map.iter().map(|(name, node)| {
                let value = value_of(node).map_err(|bad| below(name, bad))?;
                Ok((Arc::clone(name), value))
            });
            let fields: BTreeMap<Arc<str>, Value> = fields.collect::<Result<_, FieldProblem>>()?;
            Value::Map(fields.into())
        }
    })
}

/// Converts a scalar. Its text is not part of the error: it may come from a Secret.
fn scalar_of(scalar: &Scalar) -> Result<Value, FieldProblem> {
    let no_number = || FieldProblem::new("", "it is not a number", "put it in quotes if it is a text");
    let value = scalar.value().map_err(|bad| match bad {
        NoValue::Other { wanted } => FieldProblem::new(
            "",
            format!("expected {wanted}, but got a value of another type"),
            format!("put {wanted} there"),
        ),
        NoValue::NonFinite => no_number(),
        NoValue::FarZone => FieldProblem::new("", bad.to_string(), "put it in quotes if it is a text"),
    })?;
    Ok(match value {
        Written::Null => Value::Null,
        Written::Bool(value) => Value::Bool(value),
        Written::Text(text) => Value::Str(text),
        Written::Number(json) => Value::Num(json.parse().map_err(|_| no_number())?),
    })
}

fn below(name: &str, bad: FieldProblem) -> FieldProblem {
    let joint = if bad.path.is_empty() || bad.path.starts_with('[') { "" } else { "." };
    FieldProblem { path: format!("{name}{joint}{}", bad.path), ..bad }
}

/// The factor between the memory held for a resource during a build and the size of its output.
const HELD: u64 = 10;

/// Returns the limits of a build, which stops where the app's limits would refuse its output.
fn limits_of(app: Limits) -> BuildLimits {
    let rendered = app.rendered_bytes as u64;
    BuildLimits {
        resources: app.objects as u64,
        held_bytes: rendered.saturating_mul(HELD),
        output_bytes: rendered,
        ..BuildLimits::DEFAULT
    }
}

/// The files of a version and of the versions of its remote bases.
struct TreeFiles<'a> {
    tree: &'a dyn Tree,
    bases: &'a [RemoteBase],
    trees: &'a Recordings<'a>,
    most_bytes: usize,
    /// The error for a file that could not be read for a reason outside the version.
    blind: RefCell<Option<StoreError>>,
}

/// The separator between the name of a store and a path in it.
const OF_STORE: &str = ":";

impl<'a> TreeFiles<'a> {
    /// Returns the tree of a path, and the path within it.
    fn tree_of<'p>(&self, path: &'p str) -> (&'a dyn Tree, &'p str) {
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        let store = first.strip_suffix(OF_STORE);
        let base = self.bases.iter().find(|base| store == Some(base.store.as_str()));
        match base.and_then(|base| self.trees.get(&base.store)) {
            Some(tree) => (tree, rest),
            None => (self.tree, path),
        }
    }

    /// Queries the tree about a path. Mistakes in the version become unreadable files.
    fn ask<T>(
        &self,
        path: &str,
        question: impl FnOnce(&'a dyn Tree, &StorePath) -> Result<T, StoreError>,
    ) -> Result<T, FileError> {
        let unreadable = |reason: String| FileError::Unreadable { path: path.to_owned(), reason };
        let (tree, within) = self.tree_of(path);
        let at = StorePath::new(within).map_err(|bad| unreadable(bad.to_string()))?;
        question(tree, &at).map_err(|error| match error {
            StoreError::Refused { what, fix } | StoreError::Vanished { what, fix } => {
                unreadable(format!("{what}; {fix}"))
            }
            blind => {
                let reason = blind.to_string();
                self.blind.replace(Some(blind));
                unreadable(reason)
            }
        })
    }

    /// Returns the path without links. A missing path is returned unchanged: its reader reports it.
    fn real(&self, path: &str) -> Result<String, FileError> {
        let (_, within) = self.tree_of(path);
        let before = &path[..path.len() - within.len()];
        Ok(match self.ask(path, Tree::real_path)? {
            None => path.to_owned(),
            Some(root) if root.is_root() => before.trim_end_matches('/').to_owned(),
            Some(real) => format!("{before}{real}"),
        })
    }
}

impl Files for TreeFiles<'_> {
    fn read(&self, path: &str) -> Result<Arc<[u8]>, FileError> {
        match self.ask(path, Tree::read)? {
            Some(blob) if blob.bytes.len() > self.most_bytes => {
                let (size, most) = (blob.bytes.len(), self.most_bytes);
                let reason = format!("it has {size} bytes, the limit is {most}; split it into several files");
                Err(FileError::Unreadable { path: path.to_owned(), reason })
            }
            Some(blob) => Ok(blob.bytes),
            None => Err(FileError::Missing { path: path.to_owned() }),
        }
    }

    fn real_folder(&self, path: &str) -> Result<String, FileError> {
        self.real(path)
    }

    fn real_file(&self, path: &str) -> Result<String, FileError> {
        self.real(path)
    }

    fn remote_folder(&self, url: &str) -> Result<RemoteFolder, FileError> {
        let led = bases::find(self.bases, url).map_err(FileError::Undeclared)?;
        Ok(RemoteFolder { tree: format!("{}{OF_STORE}", led.base.store), path: led.folder })
    }
}
