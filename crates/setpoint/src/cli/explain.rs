//! `setpoint explain`: which base, patch, generator or transformer of a kustomization set what of a resource.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use setpoint_kustomize::build::{Built, Options};
use setpoint_kustomize::provenance::{Set, fields, find, is_secret_field};
use setpoint_kustomize::resource::Resource;

use super::asking::write;
use super::disk::{folder, seen_from};
use super::kustomize::built;
use super::{Context, Failure};
use crate::exit::Exit;
use crate::show::{self, Explained, ExplainedField};

/// Says which base, patch or generator set a field of a rendered resource
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint explain Deployment/web  every field of it, in the kustomization of this folder
  setpoint explain Deployment/web spec.replicas -k overlays/prod
  setpoint explain deployment/web 'spec.template.spec.containers[name=web].image' -k overlays/prod
  setpoint explain ConfigMap/web -n shop 'metadata.annotations[\"example.com/owner\"]'

Exit codes:
  0  told
  1  could not run: no such folder
  4  the kustomization is wrong, or has no such resource or field")]
pub(super) struct Explain {
    /// The resource as it is rendered, as `Kind/name`; of a name that has a hash behind it, what is before the hash will do
    #[arg(value_name = "RESOURCE", value_parser = resource)]
    resource: Wanted,
    /// The field; everything below it is told
    #[arg(value_name = "FIELD", default_value = "")]
    field: String,
    /// Its namespace, if there are several of that name
    #[arg(short, long)]
    namespace: Option<String>,
    /// The folder of the kustomization
    #[arg(short = 'k', long, value_name = "DIR", default_value = ".")]
    kustomization: PathBuf,
    /// Allow the kustomization to name files outside of its own folder
    #[arg(long)]
    unrestricted: bool,
}

/// A kind and a name.
#[derive(Clone, Debug)]
struct Wanted {
    kind: String,
    name: String,
}

fn resource(text: &str) -> Result<Wanted, &'static str> {
    match text.split_once('/') {
        Some((kind, name)) if !kind.is_empty() && !name.is_empty() => {
            Ok(Wanted { kind: kind.to_owned(), name: name.to_owned() })
        }
        _ => Err("write it as `Kind/name`, for example `Deployment/web`"),
    }
}

pub(super) fn run(arguments: &Explain, context: &Context, output: &mut impl Write) -> Result<(), Failure> {
    let options = Options { is_restricted: !arguments.unrestricted, ..Options::default() };
    let built = built(&arguments.kustomization, &options)?;
    let resource = chosen(&built, arguments)?;
    let (node, path) = find(&resource.node, &arguments.field).map_err(|problem| {
        Failure::Told(Exit::Failed, format!("{}/{}: {problem}", resource.kind(), resource.name()))
    })?;
    let here = folder(Path::new(".")).ok();
    let told = |set| explained(set, resource.is_secret(), here.as_deref());
    let answer = Explained {
        resource: format!("{}/{}", resource.kind(), resource.name()),
        namespace: resource.namespace().to_owned(),
        fields: fields(node, &path, &built.sources).into_iter().map(told).collect(),
    };
    write(&answer, show::explained, context, output)
}

fn explained(set: Set, is_secret: bool, here: Option<&str>) -> ExplainedField {
    let is_hidden = is_secret && is_secret_field(&set.field);
    ExplainedField {
        value: (!is_hidden).then(|| set.value.to_string()),
        field: set.field,
        file: Some(seen_from(&set.file, here)).filter(|file| !file.is_empty()),
        line: Some(set.line).filter(|line| *line > 0),
        by: set.by.map(|by| by.to_string()),
    }
}

/// The resource that is meant, or what there is instead.
fn chosen<'b>(built: &'b Built, arguments: &Explain) -> Result<&'b Resource, Failure> {
    let Wanted { kind, name } = &arguments.resource;
    let is_kind = |resource: &&Resource| resource.kind().eq_ignore_ascii_case(kind);
    let is_there =
        |resource: &&Resource| arguments.namespace.as_ref().is_none_or(|namespace| resource.namespace() == namespace);
    let named = |is_name: &dyn Fn(&Resource) -> bool| -> Vec<&'b Resource> {
        built.resources.iter().filter(is_kind).filter(is_there).filter(|resource| is_name(resource)).collect()
    };
    let mut found = named(&|resource| resource.name() == name);
    if found.is_empty() {
        found =
            named(&|resource| resource.former_ids().any(|id| &*id.name == name.as_str()) || has_hash(resource, name));
    }
    match found.as_slice() {
        [one] => Ok(one),
        [] => Err(Failure::Told(Exit::Failed, format!("there is no {kind}/{name}; {}", known(&built.resources)))),
        several => {
            let all: Vec<String> = several.iter().map(|one| format!("`-n {}`", one.namespace())).collect();
            let text = format!("there are several of {kind}/{name}: say which, {}", all.join(" or "));
            Err(Failure::Told(Exit::Failed, text))
        }
    }
}

fn has_hash(resource: &Resource, name: &str) -> bool {
    resource.needs_hash && resource.name().rsplit_once('-').is_some_and(|(before, _)| before == name)
}

/// What there is, as far as it helps.
fn known(resources: &[Resource]) -> String {
    const MOST: usize = 20;
    let named = |resource: &Resource| format!("{}/{}", resource.kind(), resource.name());
    let some: Vec<String> = resources.iter().take(MOST).map(named).collect();
    match (resources.len(), resources.len().saturating_sub(MOST)) {
        (0, _) => "the kustomization declares nothing".to_owned(),
        (_, 0) => format!("there are {}", some.join(", ")),
        (_, more) => format!("there are {} and {more} more", some.join(", ")),
    }
}
