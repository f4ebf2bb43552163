//! The effects of the conversion to JSON on scalars: each gets the type of its text, and every
//! number becomes a float, whose digits are written again.

use setpoint_yaml::go::written_number;

use crate::folded::refolded;
use crate::limits::Budget;
use crate::node::{Content, NoValue, Node, Scalar, Style, Tag, Value};

/// Converts scalars to JSON. A number is a [`Tag::Float`] with the text of JSON.
pub(super) fn to_json(node: &mut Node) -> Result<(), NoValue> {
    each(node, &mut |scalar, style, is_blank| {
        *scalar = match scalar.value()? {
            _ if is_blank => Scalar::text(""),
            // Kustomize writes the resource as YAML first, which changes some folded strings.
            Value::Text(text) if *style == Style::Folded => Scalar::text(refolded(&text)),
            Value::Null => Scalar { text: "null".into(), tag: Tag::Null },
            Value::Bool(value) => Scalar { text: value.to_string().into(), tag: Tag::Bool },
            Value::Number(json) => Scalar { text: json.into(), tag: Tag::Float },
            Value::Text(text) => Scalar { text, tag: Tag::Text },
        };
        Ok(())
    })
}

/// Reads the numbers of JSON as floats of 64 bits, which are written with an exponent from a
/// million on. Strings are quoted where Go must quote them.
pub(super) fn from_json(node: &mut Node, budget: &Budget) -> Result<(), NoValue> {
    each(node, &mut |scalar, style, _| {
        budget.spend(Style::cost_of_json(&scalar.text));
        *style = if scalar.tag == Tag::Text { Style::of_json(&scalar.text) } else { Style::Plain };
        if scalar.tag != Tag::Float {
            return Ok(());
        }
        let value = scalar.text.parse::<f64>().ok().filter(|value| value.is_finite());
        let value = value.ok_or(NoValue::NonFinite)?;
        // Debug writes a point or an exponent, which marks the number as a float.
        let text = written_number(&format!("{value:?}")).into_owned();
        *scalar = Scalar { tag: Tag::of(&text), text: text.into() };
        Ok(())
    })
}

type Change<'c> = dyn FnMut(&mut Scalar, &mut Style, bool) -> Result<(), NoValue> + 'c;

/// Changes all scalars and their styles; `change` also gets whether the scalar is blank. Flow style
/// is lost.
fn each(node: &mut Node, change: &mut Change<'_>) -> Result<(), NoValue> {
    let is_blank = node.is_blank();
    if node.as_scalar().is_none() {
        node.style = Style::Plain;
    }
    match &mut node.content {
        Content::Scalar(scalar) => change(scalar, &mut node.style, is_blank),
        Content::Seq(items) => items.iter_mut().try_for_each(|item| each(item, change)),
        Content::Map(map) => map.iter_mut().try_for_each(|(_, field)| each(field, change)),
    }
}
