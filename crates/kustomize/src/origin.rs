//! The origin of a node: a file and a line of it, and the transformer that created the node, if
//! any.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The place that a node came from; the files are in [`Sources`]. There are many nodes, so it is
/// stored as bytes, which leaves room for the style next to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    source: [u8; 4],
    line: [u8; 3],
}

/// The last line number; larger ones are cut to it. No accepted file has as many lines.
const LAST_LINE: u32 = 0xff_ffff;

/// A file, and the transformer applied to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    /// Relative to the root of the tree.
    pub file: Arc<str>,
    /// The field of a kustomization, or the transformer, that created a node; `None` for a node
    /// written in the file itself.
    pub by: Option<Arc<str>>,
}

/// The sources of the nodes of a build. The first is empty.
#[derive(Clone, Debug)]
pub struct Sources {
    all: Vec<Source>,
    places: BTreeMap<Source, u32>,
}

impl Default for Sources {
    fn default() -> Self {
        let none = Source { file: "".into(), by: None };
        Self { all: vec![none.clone()], places: BTreeMap::from([(none, 0)]) }
    }
}

impl Sources {
    /// Adds a source and returns its origin; `origin.on(line)` is a line of it.
    pub fn add(&mut self, file: Arc<str>, by: Option<Arc<str>>) -> Origin {
        let wanted = Source { file, by };
        let source = self.places.get(&wanted).copied().unwrap_or_else(|| {
            let new = u32::try_from(self.all.len()).unwrap_or_default();
            self.places.insert(wanted.clone(), new);
            self.all.push(wanted);
            new
        });
        Origin { source: source.to_be_bytes(), ..Origin::default() }
    }

    /// Renames the files.
    #[must_use]
    pub fn called(self, name: impl Fn(&str) -> String) -> Self {
        let renamed = |source: Source| match &*source.file {
            "" => source,
            file => Source { file: name(file).into(), by: source.by },
        };
        let all: Vec<Source> = self.all.into_iter().map(renamed).collect();
        let places = all.iter().cloned().zip(0..).collect();
        Self { all, places }
    }

    pub fn get(&self, origin: Origin) -> &Source {
        self.all.get(u32::from_be_bytes(origin.source) as usize).unwrap_or(&self.all[0])
    }
}

impl Origin {
    /// Counted from 1; 0 if there is no line.
    pub fn line(self) -> u32 {
        let [high, middle, low] = self.line;
        u32::from_be_bytes([0, high, middle, low])
    }

    #[must_use]
    pub fn on(self, line: u32) -> Self {
        let [_, high, middle, low] = line.min(LAST_LINE).to_be_bytes();
        Self { line: [high, middle, low], ..self }
    }
}
