//! `setpoint explain`: names the base, patch, generator or transformer of a kustomization that set
//! each field of a resource.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use setpoint_api::answer::Explained;
use setpoint_api::question::{ExplainQuestion, ObjectName};
use setpoint_core::name::AppId;
use setpoint_kustomize::build::Options;
use setpoint_kustomize::explanation::{Wanted, explain};
use setpoint_render::holds_secrets;
use setpoint_yaml::visible_text;

use super::asking::{app, ask, write};
use super::disk::{folder, seen_from};
use super::kustomize::{Restriction, built};
use super::{Context, Failure};
use crate::exit::Exit;
use crate::explaining::told;
use crate::show;

/// Show which base, patch or generator set each field of a rendered resource
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint explain Deployment/web  show all its fields, in the kustomization of this directory
  setpoint explain Deployment/web spec.replicas -k overlays/prod
  setpoint explain deployment/web 'spec.template.spec.containers[name=web].image' -k overlays/prod
  setpoint explain ConfigMap/web -n shop 'metadata.annotations[\"example.com/owner\"]'
  setpoint explain Certificate.cert-manager.io/web
                                   if several groups have the kind; to name the version too: Kind.version.group/name
  setpoint explain Deployment/web spec.replicas --app web/shop
                                   for an app of the agent: its accepted version, with its parameters

Exit codes:
  0  success
  1  could not run: a missing directory; with --app, any request that the agent refuses
  4  the kustomization is invalid, or has no such resource or field")]
pub(super) struct Explain {
    /// Rendered resource, as `Kind/name`, `Kind.group/name` or `Kind.version.group/name`; a hash at
    /// the end of the name can be omitted
    #[arg(value_name = "RESOURCE", value_parser = resource)]
    resource: ObjectName,
    /// Field to explain, with all fields below it; if omitted, all fields
    #[arg(value_name = "FIELD", default_value = "")]
    field: String,
    /// Namespace of the resource, if several resources have that name
    #[arg(short, long)]
    namespace: Option<String>,
    /// Directory of the kustomization
    #[arg(short = 'k', long, value_name = "DIR", default_value = ".", conflicts_with = "app")]
    kustomization: PathBuf,
    /// Files that a kustomization may load: only those in its own directory, or any
    #[arg(long, value_enum, value_name = "RESTRICTION", default_value_t = Restriction::RootOnly, conflicts_with = "app")]
    load_restrictor: Restriction,
    /// Explain a resource of this app of the agent, as `name` or `scope/name`, instead of a
    /// directory
    #[arg(short, long, value_parser = app)]
    app: Option<AppId>,
    /// Version of the app's store, as a full id or an unambiguous prefix [default: the accepted
    /// version]
    #[arg(long, value_name = "VERSION", requires = "app")]
    rev: Option<String>,
}

fn resource(text: &str) -> Result<ObjectName, &'static str> {
    match text.split_once('/') {
        Some((kind, name)) if !kind.is_empty() && !name.is_empty() => {
            Ok(ObjectName { kind: kind.to_owned(), name: name.to_owned() })
        }
        _ => Err("expected `Kind/name`, for example `Deployment/web`"),
    }
}

pub(super) fn run(arguments: &Explain, context: &Context, output: &mut impl Write) -> Result<(), Failure> {
    let answer = match &arguments.app {
        Some(app) => of_app(app, arguments, context)?,
        None => of_folder(arguments)?,
    };
    write(&answer, show::explained, context, output)
}

fn of_app(app: &AppId, arguments: &Explain, context: &Context) -> Result<Explained, Failure> {
    let Explain { resource: object, field, namespace, rev, .. } = arguments;
    let question = ExplainQuestion {
        app: app.clone(),
        object: object.clone(),
        namespace: namespace.clone(),
        field: field.clone(),
        rev: rev.clone(),
    };
    ask(context, async |client| client.explain(&question).await)
}

fn of_folder(arguments: &Explain) -> Result<Explained, Failure> {
    let is_restricted = arguments.load_restrictor == Restriction::RootOnly;
    let options = Options { is_restricted, ..Options::default() };
    let built = built(&arguments.kustomization, &options)?;
    let ObjectName { kind, name } = &arguments.resource;
    let wanted = Wanted { kind, name, namespace: arguments.namespace.as_deref(), field: &arguments.field };
    let explanation = explain(&[(&built.resources, &built.sources)], &wanted, holds_secrets)
        .map_err(|problem| Failure::Told(Exit::Failed, visible_text(&problem.to_string())))?;
    let here = folder(Path::new(".")).ok();
    Ok(told(explanation, None, |file| seen_from(file, here.as_deref())))
}
