//! Where a node came from: a file, a line of it, and whoever put the node there if it was not
//! written so.

use std::collections::BTreeMap;
use std::sync::Arc;

/// A place that a node came from. The files are in [`Sources`]. There are many nodes: these are
/// bytes, so that one has room for its style beside them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    source: [u8; 4],
    line: [u8; 3],
}

/// Further lines are told as this one. No file is large enough to have them.
const LAST_LINE: u32 = 0xff_ffff;

/// A file, and what was done with it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    /// From the root of the tree.
    pub file: Arc<str>,
    /// The field of a kustomization, or the transformer, by which a node was put there; none for
    /// what is written so.
    pub by: Option<Arc<str>>,
}

/// The files that the nodes of a build came from. The first is none.
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
    /// A place in this source from now on: `origin.on(line)` is a line of it.
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

    /// The same, with files called otherwise.
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
    /// Counted from 1; 0 if it is no line's.
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
