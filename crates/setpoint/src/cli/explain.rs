//! `setpoint explain`: which base, patch, generator or transformer of a kustomization set what of a
//! resource.

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

/// Says which base, patch or generator set a field of a rendered resource
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint explain Deployment/web  every field of it, in the kustomization of this folder
  setpoint explain Deployment/web spec.replicas -k overlays/prod
  setpoint explain deployment/web 'spec.template.spec.containers[name=web].image' -k overlays/prod
  setpoint explain ConfigMap/web -n shop 'metadata.annotations[\"example.com/owner\"]'
  setpoint explain Certificate.cert-manager.io/web
                                   where several groups have the kind; Kind.version.group/name says the version, too
  setpoint explain Deployment/web spec.replicas --app web/shop
                                   of an app that the agent holds: in the version that it accepted, with its parameters

Exit codes:
  0  told
  1  could not run: no such folder; of an app, whatever the agent does not answer
  4  the kustomization is wrong, or has no such resource or field")]
pub(super) struct Explain {
    /// The resource as it is rendered, as `Kind/name`, `Kind.group/name` or
    /// `Kind.version.group/name`; of a name that has a hash behind it, what is before the hash will
    /// do
    #[arg(value_name = "RESOURCE", value_parser = resource)]
    resource: ObjectName,
    /// The field; everything below it is told
    #[arg(value_name = "FIELD", default_value = "")]
    field: String,
    /// Its namespace, if there are several of that name
    #[arg(short, long)]
    namespace: Option<String>,
    /// The folder of the kustomization
    #[arg(short = 'k', long, value_name = "DIR", default_value = ".", conflicts_with = "app")]
    kustomization: PathBuf,
    /// Whether a kustomization may name files outside of its own folder
    #[arg(long, value_enum, value_name = "RESTRICTION", default_value_t = Restriction::RootOnly, conflicts_with = "app")]
    load_restrictor: Restriction,
    /// An app that the agent holds, as `name` or `scope/name`, instead of a folder
    #[arg(short, long, value_parser = app)]
    app: Option<AppId>,
    /// A version of the app's store instead of the accepted one: an id, or an unambiguous beginning
    /// of it
    #[arg(long, value_name = "VERSION", requires = "app")]
    rev: Option<String>,
}

fn resource(text: &str) -> Result<ObjectName, &'static str> {
    match text.split_once('/') {
        Some((kind, name)) if !kind.is_empty() && !name.is_empty() => {
            Ok(ObjectName { kind: kind.to_owned(), name: name.to_owned() })
        }
        _ => Err("write it as `Kind/name`, for example `Deployment/web`"),
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
