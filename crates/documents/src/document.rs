//! Reading of control documents. A file with an error is refused as a whole, including its valid
//! documents.

use std::collections::BTreeMap;

use setpoint_core::name::Scope;
use setpoint_core::value::Value;
use setpoint_yaml::{Class, Diagnostic, Diagnostics, Findings, Node, Place, Source, parse, visible_text};

use crate::declaration::{Declaration, Field, FieldDeclaration, Object, Presence, Shape, object};
use crate::kinds::{AccessSpec, AppSpec, BootstrapSpec, NotifierSpec, PolicySpec, ScopeSpec, StoreSpec, TargetSpec};
use crate::labels::Labels;
use crate::reader::{DIALECT, Fields, Reader, list_of};
use crate::suggest::nearest;
use crate::target_kind::TargetKinds;
use crate::text::Label;
use crate::value::value_of;

/// The supported `apiVersion`.
pub const API_VERSION: &str = "setpoint.dev/v1";

object! {
    /// The identity of the document.
    pub struct Metadata {
        /// The name of the document, unique within its kind and scope.
        "name" name: Label,
        /// The scope (tenant) that the document belongs to.
        "scope" scope: Scope = Scope::default_scope(),
        /// Labels, for filters and for the rights of people: at most 32, each a name with a value.
        /// Names and values have 1 to 63 letters, digits, `-`, `_` and `.`; a name may have a
        /// prefix: `example.com/team`. They do not change what is deployed.
        "labels" labels: Labels = Labels::none(),
    }
}

impl Metadata {
    /// Returns the declaration for kinds that have no labels.
    fn unlabelled() -> Declaration {
        let mut declaration = <Self as Object>::declaration();
        declaration.fields.retain(|field| field.name != "labels");
        declaration
    }
}

/// A document with its place in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// `None` for a Bootstrap, which has no name because there is only one.
    pub metadata: Option<Metadata>,
    pub spec: Spec,
    /// The whole document as written, which is accepted and recorded.
    pub body: Value,
    pub place: Place,
}

/// The content of a document. The fields of one kind of document depend on the kinds of targets.
pub(crate) trait Content: Sized {
    fn declaration(targets: &TargetKinds) -> Declaration;

    fn read(node: Node<'_>, reader: &mut Reader, targets: &TargetKinds) -> Option<Self>;
}

impl<T: Object> Content for T {
    fn declaration(_: &TargetKinds) -> Declaration {
        <T as Object>::declaration()
    }

    fn read(node: Node<'_>, reader: &mut Reader, _: &TargetKinds) -> Option<Self> {
        <T as Field>::read(node, reader)
    }
}

/// Declares the kinds: the enum, its reader and the list for schema and reference.
macro_rules! kinds {
    ($( $name:literal $variant:ident($spec:ty) ),* $(,)?) => {
        /// The content of a document, by kind.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Spec {
            $( $variant(Box<$spec>) ),*
        }

        impl Spec {
            /// Returns the value of `kind:`.
            pub fn kind(&self) -> &'static str {
                match self {
                    $( Self::$variant(_) => $name ),*
                }
            }

            fn read(kind: &str, node: Node<'_>, reader: &mut Reader, targets: &TargetKinds) -> Option<Self> {
                match kind {
                    $( $name => <$spec as Content>::read(node, reader, targets).map(|spec| Self::$variant(Box::new(spec))), )*
                    _ => None,
                }
            }
        }

        /// All kinds, in the order of the reference.
        pub(crate) const KINDS: &[DocumentKind] =
            &[$( DocumentKind { name: $name, spec: <$spec as Content>::declaration } ),*];
    };
}

kinds! {
    "Bootstrap" Bootstrap(BootstrapSpec),
    "Store" Store(StoreSpec),
    "Target" Target(TargetSpec),
    "App" App(AppSpec),
    "Scope" Scope(ScopeSpec),
    "Policy" Policy(PolicySpec),
    "Notifier" Notifier(NotifierSpec),
    "Access" Access(AccessSpec),
}

/// The kinds whose documents can have labels: those of objects that people list and filter.
const LABELLED: [&str; 3] = ["App", "Store", "Target"];

/// A kind of document: the value of `kind:` and the declaration of `spec:`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DocumentKind {
    pub(crate) name: &'static str,
    pub(crate) spec: fn(&TargetKinds) -> Declaration,
}

impl DocumentKind {
    /// Reports whether documents of this kind have a name, as all but the Bootstrap have.
    fn is_named(self) -> bool {
        self.name != "Bootstrap"
    }

    /// Reports whether documents of this kind can have labels.
    fn has_labels(self) -> bool {
        LABELLED.contains(&self.name)
    }

    fn fields(self) -> &'static [&'static str] {
        if self.is_named() { &["apiVersion", "kind", "metadata", "spec"] } else { &["apiVersion", "kind", "spec"] }
    }

    /// Returns the declaration of the whole document except `apiVersion` and `kind`.
    pub(crate) fn declaration(self, targets: &TargetKinds) -> Declaration {
        let field = |name, doc, shape| FieldDeclaration { name, doc, shape, presence: Presence::Required };
        let identity = if self.has_labels() { Metadata::shape() } else { Shape::Object(Metadata::unlabelled) };
        let metadata = self.is_named().then(|| field("metadata", "The identity of the document.", identity));
        let content = (self.spec)(targets);
        let doc = content.doc;
        let spec = field("spec", "The content of the document.", Shape::Spec(Box::new(content)));
        Declaration { doc, fields: metadata.into_iter().chain([spec]).collect() }
    }
}

/// Reads every document of a file and skips empty ones. All mistakes of the file are reported
/// together. Target documents may be of these kinds.
pub fn read_documents(file: &str, text: &str, targets: &TargetKinds) -> Result<Vec<Document>, Diagnostics> {
    let trees = parse(Source::new(file, text))?;
    let mut documents = Vec::new();
    let mut found = Findings::default();
    for tree in trees.iter().filter(|tree| !is_empty(tree.root())) {
        if found.is_full() {
            break;
        }
        documents.extend(read_document(tree.root(), targets, &mut found));
    }
    found.extend(duplicates(&documents));
    found.or_value(documents)
}

/// Refuses documents of the same kind, scope and name, in one file or in several.
pub fn check_unique<'a>(documents: impl IntoIterator<Item = &'a Document>) -> Result<(), Diagnostics> {
    let mut found = Findings::default();
    found.extend(duplicates(documents));
    found.or_value(())
}

pub(crate) fn is_empty(root: Node<'_>) -> bool {
    matches!(root.resolve(DIALECT), Some(Ok(setpoint_yaml::Scalar::Null)))
}

fn duplicates<'a>(documents: impl IntoIterator<Item = &'a Document>) -> Vec<Diagnostic> {
    let mut first = BTreeMap::new();
    let mut found = Vec::new();
    for document in documents {
        let name = document.metadata.as_ref().map(|metadata| (&metadata.scope, &metadata.name));
        let kind = document.spec.kind();
        let Some(earlier) = first.insert((kind, name), &document.place) else { continue };
        let shown = name.map_or(String::new(), |(scope, name)| format!(" `{name}` of the scope `{scope}`"));
        let diagnostic =
            Diagnostic::new(Class::Duplicate, document.place.clone(), format!("the {kind}{shown} is written twice"));
        found.push(diagnostic.with_other(earlier.clone(), "first here").with_help("keep one of them, or rename one"));
    }
    found
}

fn read_document(root: Node<'_>, targets: &TargetKinds, found: &mut Findings) -> Option<Document> {
    let mut reader = Reader::new(None);
    let document = read_header(root, targets, &mut reader);
    found.extend(reader.found);
    document
}

fn read_header(root: Node<'_>, targets: &TargetKinds, reader: &mut Reader) -> Option<Document> {
    let mut fields = Fields::of(root, reader)?;
    let version = fields.remove("apiVersion").map_or_else(|| fields.missing("apiVersion", reader), Some);
    let kind_node = fields.remove("kind").map_or_else(|| fields.missing("kind", reader), Some);
    let version = version.and_then(|node| read_version(node, reader));
    let kind = kind_node.and_then(|node| read_kind(node, reader))?;
    let mut inner = Reader::new(Some(kind.declaration(targets)));
    let metadata =
        if kind.is_named() { fields.take::<Metadata>("metadata", None, &mut inner).map(Some) } else { Some(None) };
    let metadata = metadata.filter(|_| labels_are_supported(root, kind, &mut inner));
    let node = fields.remove("spec").map_or_else(|| fields.missing("spec", &mut inner), Some);
    let spec = node.and_then(|node| Spec::read(kind.name, node, &mut inner, targets));
    let complete = fields.finish(kind.fields(), &mut inner);
    reader.found.extend(inner.found);
    let place = root.get("metadata").and_then(|metadata| metadata.get("name")).or(kind_node)?.place();
    version.filter(|()| complete)?;
    let (metadata, spec) = (metadata?, spec?);
    let body = value_of(root, DIALECT, &mut reader.found)?;
    Some(Document { metadata, spec, body, place })
}

/// Reports labels of a kind that cannot have any, and returns whether there are none.
fn labels_are_supported(root: Node<'_>, kind: DocumentKind, reader: &mut Reader) -> bool {
    let labels = root.get("metadata").and_then(|metadata| metadata.get("labels"));
    let Some(labels) = labels.filter(|_| kind.is_named() && !kind.has_labels()) else { return true };
    let message = format!("documents of the kind `{}` cannot have labels", kind.name);
    let help = format!("remove `labels`: only {} documents have labels", list_of(LABELLED.into_iter(), "and"));
    reader.report::<()>(Class::Unknown, labels, message, help);
    false
}

fn read_version(node: Node<'_>, reader: &mut Reader) -> Option<()> {
    let text = reader.text(node)?;
    if text == API_VERSION {
        return Some(());
    }
    let message = format!("unknown apiVersion `{}`", visible_text(text));
    reader.report(Class::Unknown, node, message, format!("expected `{API_VERSION}`"))
}

fn read_kind(node: Node<'_>, reader: &mut Reader) -> Option<DocumentKind> {
    let text = reader.text(node)?;
    if let Some(&known) = KINDS.iter().find(|kind| kind.name == text) {
        return Some(known);
    }
    let known = || KINDS.iter().map(|kind| kind.name);
    let help = match nearest(text, known()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("expected {}", list_of(known(), "or")),
    };
    reader.report(Class::Unknown, node, format!("unknown kind `{}`", visible_text(text)), help)
}
