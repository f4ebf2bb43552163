//! Lists and objects while they are written. The members of an object are put in order once the last of them is there.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde::ser::{self, Serialize};
use serde_json::Value;

use super::NotCanonical;
use super::writer::{Writer, Written, write_text};

/// A list whose items are being written.
pub(super) struct List<'a> {
    writer: Writer<'a>,
    is_first: bool,
    closing: &'static str,
}

impl<'a> List<'a> {
    pub(super) fn open(writer: Writer<'a>, closing: &'static str) -> Self {
        writer.out.push(b'[');
        Self { writer, is_first: true, closing }
    }

    fn item<T: Serialize + ?Sized>(&mut self, item: &T) -> Written {
        if !std::mem::take(&mut self.is_first) {
            self.writer.out.push(b',');
        }
        item.serialize(self.writer.inner()?)
    }

    fn close(self) -> Written {
        self.writer.literal(self.closing)
    }
}

/// As many members as a record has.
const MOST_OFTEN: usize = 12;

/// An object whose members are being written, each as `"name":value,` in the order in which they come.
pub(super) struct Object<'a> {
    writer: Writer<'a>,
    /// Where the first member begins.
    start: usize,
    members: Vec<Member>,
    /// A map gives the name before the value.
    name: Option<Cow<'static, str>>,
    closing: &'static str,
}

struct Member {
    name: Cow<'static, str>,
    /// Where it ends, counted from the first member's beginning.
    end: usize,
}

impl<'a> Object<'a> {
    pub(super) fn open(writer: Writer<'a>, closing: &'static str) -> Self {
        writer.out.push(b'{');
        let start = writer.out.len();
        Self { writer, start, members: Vec::with_capacity(MOST_OFTEN), name: None, closing }
    }

    fn member<T: Serialize + ?Sized>(&mut self, name: Cow<'static, str>, value: &T) -> Written {
        write_text(self.writer.out, &name);
        self.writer.out.push(b':');
        value.serialize(self.writer.inner()?)?;
        self.writer.out.push(b',');
        self.members.push(Member { name, end: self.writer.out.len() - self.start });
        Ok(())
    }

    fn close(mut self) -> Written {
        if !self.members.is_sorted_by(|a, b| order(&a.name, &b.name).is_lt()) {
            self.put_in_order()?;
        }
        if !self.members.is_empty() {
            self.writer.out.pop();
        }
        self.writer.literal(self.closing)
    }

    fn put_in_order(&mut self) -> Written {
        let written = self.writer.out.split_off(self.start);
        let mut begin = 0;
        let mut sorted = Vec::with_capacity(self.members.len());
        for Member { name, end } in &self.members {
            sorted.push((&**name, &written[begin..*end]));
            begin = *end;
        }
        sorted.sort_unstable_by(|(a, _), (b, _)| order(a, b));
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(NotCanonical::Twice { name: pair[0].0.to_owned() });
        }
        sorted.into_iter().for_each(|(_, member)| self.writer.out.extend_from_slice(member));
        Ok(())
    }
}

/// RFC 8785 §3.2.3: by UTF-16 code units, and never twice.
fn order(a: &str, b: &str) -> Ordering {
    // Most names are ASCII, of which every code unit is a byte.
    if a.is_ascii() && b.is_ascii() { a.cmp(b) } else { a.encode_utf16().cmp(b.encode_utf16()) }
}

/// The text of a map's key. Readers in other languages know names of no other type.
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
