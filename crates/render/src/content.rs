//! `contentFrom` of a host's `File`: content in a separate file, inserted into the resource when it
//! is rendered. The accepted bundle contains all of it, so that holding needs no store.

use data_encoding::BASE64;
use setpoint_core::fields::Fields;
use setpoint_core::value::Value;
use setpoint_documents::{FieldProblem, Manifest};
use setpoint_store::{BadPath, Blob, StoreError, StorePath, Tree};

const HOST: &str = "host.setpoint.dev/v1";
const FIELD: &str = "spec.contentFrom";

/// The source of content: files of the app's own input, and no others.
#[derive(Debug)]
pub(crate) struct ContentFiles<'a> {
    pub(crate) tree: &'a dyn Tree,
    pub(crate) folder: &'a StorePath,
    pub(crate) most_bytes: usize,
}

/// The result for a resource that names a file.
#[derive(Debug)]
pub(crate) struct FileContent {
    /// The named file, if the name is a path.
    pub(crate) file: Option<StorePath>,
    pub(crate) problem: Option<FieldProblem>,
}

impl ContentFiles<'_> {
    /// Inserts the content of the file that a resource names. Returns `None` if it names none.
    pub(crate) fn put_into(&self, manifest: &mut Manifest) -> Result<Option<FileContent>, StoreError> {
        let Some(spec) = spec_with_content_from(manifest) else { return Ok(None) };
        let named = spec.remove("contentFrom").unwrap_or_default();
        let given_twice = spec.contains_key("content") || spec.contains_key("contentBase64");
        let (file, read) = self.read(&named)?;
        let problem = match read {
            _ if given_twice => {
                Some(FieldProblem::new(FIELD, "the content is given twice", "keep one of the forms of content"))
            }
            Ok(blob) => {
                let (field, content) = value_of(&blob);
                spec.insert(field.into(), content);
                None
            }
            Err(problem) => {
                // Empty content lets the rest of the resource be checked, so that all problems are
                // reported at once.
                spec.insert("content".into(), Value::str(""));
                Some(problem)
            }
        };
        Ok(Some(FileContent { file, problem }))
    }

    /// Reads the named file. A bad name or file is a problem that the author must correct.
    fn read(&self, named: &Value) -> Result<(Option<StorePath>, Result<Blob, FieldProblem>), StoreError> {
        let wrong = |message: String, help: &str| FieldProblem::new(FIELD, message, help);
        let Some(text) = named.as_str() else {
            return Ok((None, Err(wrong("is not a text".to_owned(), "write the path of a file of the input"))));
        };
        let path = match self.path_of(text) {
            Ok(path) => path,
            Err(bad) => {
                return Ok((
                    None,
                    Err(wrong(bad.to_string(), "write it relative to the input's directory, without `..`")),
                ));
            }
        };
        let read = match self.tree.read(&path) {
            Ok(Some(blob)) if blob.bytes.len() > self.most_bytes => Err(wrong(
                format!("the file `{path}` has {} bytes, the limit is {}", blob.bytes.len(), self.most_bytes),
                "shorten it",
            )),
            Ok(Some(blob)) => Ok(blob),
            Ok(None) => Err(wrong(format!("there is no file `{path}`"), "write it relative to the input's directory")),
            Err(StoreError::Refused { what, fix } | StoreError::Vanished { what, fix }) => Err(wrong(what, &fix)),
            Err(blind) => return Err(blind),
        };
        Ok((Some(path), read))
    }

    fn path_of(&self, text: &str) -> Result<StorePath, BadPath> {
        let relative = StorePath::new(text)?;
        relative.components().try_fold(self.folder.clone(), |folder, name| folder.join(name))
    }
}

fn spec_with_content_from(manifest: &mut Manifest) -> Option<&mut Fields> {
    if &*manifest.api_version != HOST || &*manifest.kind != "File" {
        return None;
    }
    let Value::Map(body) = &mut manifest.body else { return None };
    match body.get_mut("spec") {
        Some(Value::Map(spec)) if spec.contains_key("contentFrom") => Some(spec),
        _ => None,
    }
}

/// Returns the field for a content: `content` for UTF-8, so that people can read differences, else
/// `contentBase64`.
fn value_of(blob: &Blob) -> (&'static str, Value) {
    match std::str::from_utf8(&blob.bytes) {
        Ok(text) => ("content", Value::str(text)),
        Err(_) => ("contentBase64", Value::str(&BASE64.encode(&blob.bytes))),
    }
}
