//! Lists and objects while they are written. The members of an object are sorted when the last of
//! them is written.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde::ser::{self, Serialize};
use serde_json::Value;

use super::NotCanonical;
use super::writer::{Output, Writer, Written};

/// A list whose items are being written.
pub(super) struct List<'a> {
    writer: Writer<'a>,
    is_first: bool,
    closing: &'static str,
}

impl<'a> List<'a> {
    pub(super) fn open(writer: Writer<'a>, closing: &'static str) -> Self {
        writer.out.bytes.push(b'[');
        Self { writer, is_first: true, closing }
    }

    fn item<T: Serialize + ?Sized>(&mut self, item: &T) -> Written {
        if !std::mem::take(&mut self.is_first) {
            self.writer.out.bytes.push(b',');
        }
        item.serialize(self.writer.inner()?)
    }

    fn close(self) -> Written {
        self.writer.literal(self.closing)
    }
}

/// An object whose members are being written, each as `"name":value,` in the order of the calls.
pub(super) struct Object<'a> {
    writer: Writer<'a>,
    /// The position of the first member in the bytes, and its index among all open members.
    start: usize,
    first: usize,
    /// The name of the next value: a map passes the name first.
    name: Option<Cow<'static, str>>,
    closing: &'static str,
}

/// A written member and its position.
pub(super) struct Member {
    name: Cow<'static, str>,
    begin: usize,
    end: usize,
}

impl<'a> Object<'a> {
    pub(super) fn open(writer: Writer<'a>, closing: &'static str) -> Self {
        writer.out.bytes.push(b'{');
        let (start, first) = (writer.out.bytes.len(), writer.out.members.len());
        Self { writer, start, first, name: None, closing }
    }

    fn member<T: Serialize + ?Sized>(&mut self, name: Cow<'static, str>, value: &T) -> Written {
        let begin = self.writer.out.bytes.len();
        self.writer.out.text(&name);
        self.writer.out.bytes.push(b':');
        value.serialize(self.writer.inner()?)?;
        self.writer.out.bytes.push(b',');
        let end = self.writer.out.bytes.len();
        self.writer.out.members.push(Member { name, begin, end });
        Ok(())
    }

    fn close(self) -> Written {
        let members = &self.writer.out.members[self.first..];
        if !members.is_sorted_by(|a, b| order(&a.name, &b.name).is_lt()) {
            put_in_order(self.writer.out, self.start, self.first)?;
        }
        if self.writer.out.members.len() > self.first {
            self.writer.out.bytes.pop();
        }
        self.writer.out.members.truncate(self.first);
        self.writer.literal(self.closing)
    }
}

/// Sorts the members from `first` on, whose bytes begin at `start`, by name.
fn put_in_order(out: &mut Output, start: usize, first: usize) -> Written {
    let members = &mut out.members[first..];
    members.sort_unstable_by(|a, b| order(&a.name, &b.name));
    if let Some(pair) = members.windows(2).find(|pair| pair[0].name == pair[1].name) {
        return Err(NotCanonical::Twice { name: pair[0].name.clone().into_owned() });
    }
    out.sorted.clear();
    for Member { begin, end, .. } in members {
        out.sorted.extend_from_slice(&out.bytes[*begin..*end]);
    }
    out.bytes[start..].copy_from_slice(&out.sorted);
    Ok(())
}

/// Compares names by UTF-16 code units, as RFC 8785 §3.2.3 requires.
fn order(a: &str, b: &str) -> Ordering {
    // Most names are ASCII, where every code unit is a byte.
    if a.is_ascii() && b.is_ascii() { a.cmp(b) } else { a.encode_utf16().cmp(b.encode_utf16()) }
}

/// Returns the text of a map's key. Readers in other languages know only text as a name.
fn name_of<T: Serialize + ?Sized>(key: &T) -> Result<String, NotCanonical> {
    match serde_json::to_value(key) {
        Ok(Value::String(name)) => Ok(name),
        Ok(other) => Err(NotCanonical::Name { name: other.to_string() }),
        Err(error) => Err(ser::Error::custom(error)),
    }
}

impl ser::SerializeSeq for List<'_> {
    type Ok = ();
    type Error = NotCanonical;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, item: &T) -> Written {
        self.item(item)
    }

    fn end(self) -> Written {
        self.close()
    }
}

impl ser::SerializeTuple for List<'_> {
    type Ok = ();
    type Error = NotCanonical;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, item: &T) -> Written {
        self.item(item)
    }

    fn end(self) -> Written {
        self.close()
    }
}

impl ser::SerializeTupleStruct for List<'_> {
    type Ok = ();
    type Error = NotCanonical;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, item: &T) -> Written {
        self.item(item)
    }

    fn end(self) -> Written {
        self.close()
    }
}

impl ser::SerializeTupleVariant for List<'_> {
    type Ok = ();
    type Error = NotCanonical;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, item: &T) -> Written {
        self.item(item)
    }

    fn end(self) -> Written {
        self.close()
    }
}

impl ser::SerializeMap for Object<'_> {
    type Ok = ();
    type Error = NotCanonical;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Written {
        self.name = Some(Cow::Owned(name_of(key)?));
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        let name = self.name.take().expect("serde gives a key before each value");
        self.member(name, value)
    }

    fn end(self) -> Written {
        self.close()
    }
}

impl ser::SerializeStruct for Object<'_> {
    type Ok = ();
    type Error = NotCanonical;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Written {
        self.member(Cow::Borrowed(name), value)
    }

    fn end(self) -> Written {
        self.close()
    }
}

impl ser::SerializeStructVariant for Object<'_> {
    type Ok = ();
    type Error = NotCanonical;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Written {
        self.member(Cow::Borrowed(name), value)
    }

    fn end(self) -> Written {
        self.close()
    }
}
