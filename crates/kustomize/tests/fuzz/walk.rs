//! Paths through an existing object: as pointers of JSON patches, and as field paths of
//! replacements and variables.

use super::dice::Dice;
use super::document::Yaml;

#[derive(Clone, Debug)]
pub(super) enum Step {
    Field(String),
    /// An item of a list, and its `name` if it has one.
    Item(usize, Option<String>),
}

/// Returns the path to a node in a tree, most often to a leaf.
pub(super) fn walk(tree: &Yaml, dice: &mut Dice) -> Vec<Step> {
    let mut way = Vec::new();
    let mut at = tree;
    loop {
        if !way.is_empty() && dice.percent(12) {
            return way;
        }
        at = match at {
            Yaml::Map(fields) if !fields.is_empty() => {
                let (name, value) = &fields[dice.below(fields.len())];
                way.push(Step::Field(name.clone()));
                value
            }
            Yaml::List(items) if !items.is_empty() => {
                let number = dice.below(items.len());
                way.push(Step::Item(number, name_of(&items[number])));
                &items[number]
            }
            _ => return way,
        };
    }
}

fn name_of(item: &Yaml) -> Option<String> {
    let Yaml::Map(fields) = item else { return None };
    fields.iter().find_map(|(field, value)| match value {
        Yaml::Raw(text) if field == "name" && !text.starts_with(['"', '\'']) => Some(text.clone()),
        _ => None,
    })
}

/// Formats a pointer of RFC 6901.
pub(super) fn pointer(way: &[Step], dice: &mut Dice) -> String {
    let steps = way.iter().map(|step| match step {
        Step::Field(name) => format!("/{}", name.replace('~', "~0").replace('/', "~1")),
        Step::Item(..) if dice.percent(10) => "/-".to_owned(),
        Step::Item(number, _) => format!("/{number}"),
    });
    let mut pointer: String = steps.collect();
    if dice.percent(10) {
        pointer.push_str(dice.pick(&["/new", "/-", "/0", "/"]));
    }
    pointer
}

/// Formats a field path of a replacement.
pub(super) fn field_path(way: &[Step], dice: &mut Dice) -> String {
    let steps = way.iter().map(|step| match step {
        Step::Field(name) if name.contains('/') => format!("[{name}]"),
        Step::Field(name) => name.replace('.', "\\."),
        Step::Item(..) if dice.percent(20) => "*".to_owned(),
        Step::Item(_, Some(name)) if dice.percent(50) => format!("[name={name}]"),
        Step::Item(number, _) => number.to_string(),
    });
    let mut steps: Vec<String> = steps.collect();
    match dice.below(25) {
        0 => steps.push(dice.pick(&["new", "0", "-", "*", "[name=new]", "[a=b]"]).to_owned()),
        1 => drop(steps.pop()),
        _ => {}
    }
    steps.join(".")
}

/// Formats a field path of a variable.
pub(super) fn var_path(way: &[Step]) -> String {
    let mut path = String::new();
    for step in way {
        match step {
            Step::Field(name) if name.contains('.') => path.push_str(&format!("['{name}']")),
            Step::Field(name) if path.is_empty() => path.push_str(name),
            Step::Field(name) => path.push_str(&format!(".{name}")),
            Step::Item(number, _) => path.push_str(&format!("[{number}]")),
        }
    }
    path
}
