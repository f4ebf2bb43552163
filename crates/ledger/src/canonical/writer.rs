//! The serializer behind [`super::to_bytes`]. It writes values straight into bytes, without a tree
//! of values in between. [`super::nested`] writes lists and objects.

use std::fmt::Display;

use serde::ser::{self, Serialize};

use super::nested::{List, Member, Object};
use super::{DEEPEST, LARGEST_EXACT, NotCanonical};

pub(super) type Written = Result<(), NotCanonical>;

/// The bytes written so far, and a buffer for sorting members: one allocation for all objects of a
/// value, not three for each.
#[derive(Default)]
pub(super) struct Output {
    pub(super) bytes: Vec<u8>,
    /// The members of all objects that are open, outermost first.
    pub(super) members: Vec<Member>,
    pub(super) sorted: Vec<u8>,
}

impl Output {
    pub(super) fn text(&mut self, text: &str) {
        // serde_json escapes exactly the characters that RFC 8785 requires: quote, backslash and
        // control characters.
        serde_json::to_writer(&mut self.bytes, text).expect("writing text to memory cannot fail");
    }
}

/// Writes one value.
pub(super) struct Writer<'a> {
    pub(super) out: &'a mut Output,
    depth: usize,
}

impl<'a> Writer<'a> {
    pub(super) fn new(out: &'a mut Output) -> Self {
        Self { out, depth: 0 }
    }

    /// Returns a writer for a value inside this one.
    pub(super) fn inner(&mut self) -> Result<Writer<'_>, NotCanonical> {
        let depth = self.depth + 1;
        if depth > DEEPEST { Err(NotCanonical::TooDeep) } else { Ok(Writer { out: self.out, depth }) }
    }

    pub(super) fn literal(self, text: &str) -> Written {
        self.out.bytes.extend_from_slice(text.as_bytes());
        Ok(())
    }

    /// Writes an integer. Readers that keep numbers as doubles must be able to hold `magnitude`.
    fn integer(self, number: impl Serialize + Display, magnitude: Option<u64>) -> Written {
        if magnitude.is_none_or(|magnitude| magnitude > LARGEST_EXACT) {
            return Err(NotCanonical::Number { number: number.to_string() });
        }
        serde_json::to_writer(&mut self.out.bytes, &number).expect("writing an integer to memory cannot fail");
        Ok(())
    }

    /// Opens the object with one member that represents an enum's variant. The caller closes it
    /// after the content.
    fn variant(self, name: &str) -> Result<Self, NotCanonical> {
        self.out.bytes.push(b'{');
        self.out.text(name);
        self.out.bytes.push(b':');
        let depth = self.depth + 1;
        if depth > DEEPEST { Err(NotCanonical::TooDeep) } else { Ok(Writer { depth, ..self }) }
    }
}

impl<'a> ser::Serializer for Writer<'a> {
    type Ok = ();
    type Error = NotCanonical;
    type SerializeSeq = List<'a>;
    type SerializeTuple = List<'a>;
    type SerializeTupleStruct = List<'a>;
    type SerializeTupleVariant = List<'a>;
    type SerializeMap = Object<'a>;
    type SerializeStruct = Object<'a>;
    type SerializeStructVariant = Object<'a>;

    fn serialize_bool(self, value: bool) -> Written {
        self.literal(if value { "true" } else { "false" })
    }

    fn serialize_i8(self, number: i8) -> Written {
        self.serialize_i64(number.into())
    }

    fn serialize_i16(self, number: i16) -> Written {
        self.serialize_i64(number.into())
    }

    fn serialize_i32(self, number: i32) -> Written {
        self.serialize_i64(number.into())
    }

    fn serialize_i64(self, number: i64) -> Written {
        self.integer(number, Some(number.unsigned_abs()))
    }

    fn serialize_i128(self, number: i128) -> Written {
        self.integer(number, number.unsigned_abs().try_into().ok())
    }

    fn serialize_u8(self, number: u8) -> Written {
        self.serialize_u64(number.into())
    }

    fn serialize_u16(self, number: u16) -> Written {
        self.serialize_u64(number.into())
    }

    fn serialize_u32(self, number: u32) -> Written {
        self.serialize_u64(number.into())
    }

    fn serialize_u64(self, number: u64) -> Written {
        self.integer(number, Some(number))
    }

    fn serialize_u128(self, number: u128) -> Written {
        self.integer(number, number.try_into().ok())
    }

    fn serialize_f32(self, number: f32) -> Written {
        Err(NotCanonical::Number { number: number.to_string() })
    }

    fn serialize_f64(self, number: f64) -> Written {
        Err(NotCanonical::Number { number: number.to_string() })
    }

    fn serialize_char(self, value: char) -> Written {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Written {
        self.out.text(text);
        Ok(())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Written {
        self.collect_seq(bytes)
    }

    fn serialize_none(self) -> Written {
        self.literal("null")
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Written {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Written {
        self.literal("null")
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Written {
        self.literal("null")
    }

    fn serialize_unit_variant(self, _name: &'static str, _index: u32, variant: &'static str) -> Written {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _name: &'static str, value: &T) -> Written {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Written {
        let content = self.variant(variant)?;
        value.serialize(Writer { out: &mut *content.out, depth: content.depth })?;
        content.literal("}")
    }

    fn serialize_seq(self, _length: Option<usize>) -> Result<List<'a>, NotCanonical> {
        Ok(List::open(self, "]"))
    }

    fn serialize_tuple(self, _length: usize) -> Result<List<'a>, NotCanonical> {
        Ok(List::open(self, "]"))
    }

    fn serialize_tuple_struct(self, _name: &'static str, _length: usize) -> Result<List<'a>, NotCanonical> {
        Ok(List::open(self, "]"))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<List<'a>, NotCanonical> {
        Ok(List::open(self.variant(variant)?, "]}"))
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<Object<'a>, NotCanonical> {
        Ok(Object::open(self, "}"))
    }

    fn serialize_struct(self, _name: &'static str, _length: usize) -> Result<Object<'a>, NotCanonical> {
        Ok(Object::open(self, "}"))
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Object<'a>, NotCanonical> {
        Ok(Object::open(self.variant(variant)?, "}}"))
    }
}

impl ser::Error for NotCanonical {
    fn custom<T: Display>(problem: T) -> Self {
        Self::Refused { problem: problem.to_string() }
    }
}
