//! Macros that generate the struct, the strict reader, the schema and the reference of a document
//! from one declaration, so that they cannot disagree.
//!
//! Public for the kinds of targets, which declare their fields of Target documents in their own
//! crates.

pub use setpoint_yaml::{Class, Node};

pub use crate::reader::{Fields, Reader};

/// The type of a field, for readers, schema and reference.
#[derive(Clone, Debug)]
pub enum Shape {
    /// A scalar, with the name of its type.
    Scalar(String),
    /// One of these strings, each with its meaning.
    Enum(Vec<(&'static str, &'static str)>),
    List(Box<Shape>),
    /// Any mapping, kept unchanged.
    Any,
    Object(fn() -> Declaration),
    /// An object whose fields depend on the kinds of targets.
    Spec(Box<Declaration>),
    /// An object with exactly one of these fields.
    OneOf(fn() -> Declaration),
}

impl Shape {
    /// Returns the fields of an object; `None` for other types.
    pub(crate) fn fields(&self) -> Option<Declaration> {
        match self {
            Self::Object(inner) | Self::OneOf(inner) => Some(inner()),
            Self::Spec(inner) => Some(Declaration::clone(inner)),
            Self::Scalar(_) | Self::Enum(_) | Self::List(_) | Self::Any => None,
        }
    }
}

/// The fields of an object, and its documentation.
#[derive(Clone, Debug)]
pub struct Declaration {
    pub doc: &'static str,
    pub fields: Vec<FieldDeclaration>,
}

#[derive(Clone, Debug)]
pub struct FieldDeclaration {
    pub name: &'static str,
    pub doc: &'static str,
    pub shape: Shape,
    pub presence: Presence,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Presence {
    Required,
    /// The default as a user would write it; empty if there is none.
    Optional(String),
}

/// A type of fields.
pub trait Field: Sized {
    fn shape() -> Shape;

    /// Reads the value. Returns `None` if at least one diagnostic was reported.
    fn read(node: Node<'_>, reader: &mut Reader) -> Option<Self>;

    /// Formats the value as a user would write it; empty if there is no value.
    fn show(&self) -> String;

    /// Returns the object with all defaults; `None` for an object with required fields and for
    /// other types.
    fn all_defaults() -> Option<Self> {
        None
    }
}

/// An object with declared fields.
pub trait Object: Field {
    /// The names of its fields.
    const KEYS: &'static [&'static str];

    fn declaration() -> Declaration;

    /// Reads the declared fields and leaves the others. Returns `None` if at least one diagnostic
    /// was reported.
    fn take(fields: &mut Fields<'_>, reader: &mut Reader) -> Option<Self>;

    /// Checks the rules between fields: reports violations and returns whether there are none.
    fn check(&self, node: Node<'_>, reader: &mut Reader) -> bool;
}

/// Reads an object that has no other fields than the declared ones.
pub fn read_object<T: Object>(node: Node<'_>, reader: &mut Reader) -> Option<T> {
    let mut fields = Fields::of(node, reader)?;
    let object = T::take(&mut fields, reader);
    let complete = fields.finish(T::KEYS, reader);
    object.filter(|_| complete).filter(|object| object.check(node, reader))
}

/// Declares an object: `"nameInYaml" name_in_rust: Type`, with `= default` for an optional field.
/// After the name, `=> check` names a function for rules between fields: it reports violations and
/// returns whether there are none.
#[macro_export]
#[doc(hidden)]
macro_rules! object {
    (
        $(#[doc = $doc:literal])*
        $vis:vis struct $name:ident $(=> $check:path)? {
            $( $(#[doc = $field_doc:literal])* $key:literal $field:ident : $type:ty $(= $default:expr)? ),* $(,)?
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        $vis struct $name {
            $( $(#[doc = $field_doc])* $vis $field: $type ),*
        }

        impl $crate::declaration::Object for $name {
            const KEYS: &'static [&'static str] = &[$($key),*];

            fn declaration() -> $crate::declaration::Declaration {
                $crate::declaration::Declaration {
                    doc: concat!($($doc),*),
                    fields: vec![
                        $( $crate::declaration::FieldDeclaration {
                            name: $key,
                            doc: concat!($($field_doc),*),
                            shape: <$type as $crate::declaration::Field>::shape(),
                            presence: $crate::declaration::presence::<$type>(
                                $crate::declaration::default_of!($type $(, $default)?),
                            ),
                        } ),*
                    ],
                }
            }

            fn take(
                fields: &mut $crate::declaration::Fields<'_>,
                reader: &mut $crate::declaration::Reader,
            ) -> Option<Self> {
                $( let $field = fields.take::<$type>($key, $crate::declaration::default_of!($type $(, $default)?), reader); )*
                Some(Self { $($field: $field?),* })
            }

            fn check(
                &self,
                _node: $crate::declaration::Node<'_>,
                _reader: &mut $crate::declaration::Reader,
            ) -> bool {
                true $( && $check(self, _node, _reader) )?
            }
        }

        impl $crate::declaration::Field for $name {
            fn shape() -> $crate::declaration::Shape {
                $crate::declaration::Shape::Object(<Self as $crate::declaration::Object>::declaration)
            }

            fn read(
                node: $crate::declaration::Node<'_>,
                reader: &mut $crate::declaration::Reader,
            ) -> Option<Self> {
                $crate::declaration::read_object(node, reader)
            }

            fn all_defaults() -> Option<Self> {
                $( let $field: Option<fn() -> $type> = $crate::declaration::default_of!($type $(, $default)?); )*
                Some(Self { $($field: $field?()),* })
            }

            fn show(&self) -> String {
                let shown = [$( ($key, $crate::declaration::Field::show(&self.$field)) ),*];
                $crate::declaration::show_object(&shown)
            }
        }
    };
}

/// Declares an object with exactly one of its fields set: `"nameInYaml" Variant(Type)`.
#[macro_export]
#[doc(hidden)]
macro_rules! one_of {
    (
        $(#[doc = $doc:literal])*
        pub enum $name:ident {
            $( $(#[doc = $field_doc:literal])* $key:literal $variant:ident($type:ty) ),* $(,)?
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $name {
            $( $(#[doc = $field_doc])* $variant($type) ),*
        }

        impl $name {
            const KEYS: &'static [&'static str] = &[$($key),*];

            pub(crate) fn declaration() -> $crate::declaration::Declaration {
                $crate::declaration::Declaration {
                    doc: concat!($($doc),*),
                    fields: vec![
                        $( $crate::declaration::FieldDeclaration {
                            name: $key,
                            doc: concat!($($field_doc),*),
                            shape: <$type as $crate::declaration::Field>::shape(),
                            presence: $crate::declaration::Presence::Optional(String::new()),
                        } ),*
                    ],
                }
            }
        }

        impl $crate::declaration::Field for $name {
            fn shape() -> $crate::declaration::Shape {
                $crate::declaration::Shape::OneOf(Self::declaration)
            }

            fn read(node: $crate::declaration::Node<'_>, reader: &mut $crate::declaration::Reader) -> Option<Self> {
                let mut fields = $crate::declaration::Fields::of(node, reader)?;
                match fields.only_one(Self::KEYS, reader)? {
                    $( $key => {
                        let value = fields.take::<$type>($key, None, reader).map(Self::$variant);
                        value.filter(|_| fields.finish(Self::KEYS, reader))
                    } )*
                    _ => None,
                }
            }

            fn show(&self) -> String {
                match self {
                    $( Self::$variant(value) => {
                        $crate::declaration::show_object(&[($key, $crate::declaration::Field::show(value))])
                    } ),*
                }
            }
        }
    };
}

/// Declares a type with a fixed set of strings: `"value" Variant`.
#[macro_export]
#[doc(hidden)]
macro_rules! string_enum {
    (
        $(#[doc = $doc:literal])*
        pub enum $name:ident {
            $( $(#[doc = $value_doc:literal])* $value:literal $variant:ident ),* $(,)?
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $( $(#[doc = $value_doc])* $variant ),*
        }

        impl $name {
            const VALUES: &'static [(&'static str, &'static str)] = &[$( ($value, concat!($($value_doc),*)) ),*];
        }

        impl $crate::declaration::Field for $name {
            fn shape() -> $crate::declaration::Shape {
                $crate::declaration::Shape::Enum(Self::VALUES.to_vec())
            }

            fn read(node: $crate::declaration::Node<'_>, reader: &mut $crate::declaration::Reader) -> Option<Self> {
                match reader.enum_value(node, Self::VALUES)? {
                    $( $value => Some(Self::$variant), )*
                    _ => None,
                }
            }

            fn show(&self) -> String {
                match self {
                    $( Self::$variant => $value.to_owned() ),*
                }
            }
        }
    };
}

/// Expands to the function that makes the default of a field; to `None` for a required field.
#[macro_export]
#[doc(hidden)]
macro_rules! default_of {
    ($type:ty) => {
        None
    };
    ($type:ty, $default:expr) => {
        Some(|| -> $type { $default })
    };
}

pub use crate::{default_of, object, one_of, string_enum};

/// Returns the presence of a field in documents.
pub fn presence<T: Field>(default: Option<fn() -> T>) -> Presence {
    default.map_or(Presence::Required, |default| Presence::Optional(default().show()))
}

/// Formats an object as a user would write it.
pub fn show_object(fields: &[(&str, String)]) -> String {
    let shown: Vec<String> =
        fields.iter().filter(|(_, value)| !value.is_empty()).map(|(key, value)| format!("{key}: {value}")).collect();
    format!("{{ {} }}", shown.join(", "))
}

impl<T: Field> Field for Option<T> {
    fn shape() -> Shape {
        T::shape()
    }

    fn read(node: Node<'_>, reader: &mut Reader) -> Option<Self> {
        T::read(node, reader).map(Some)
    }

    fn show(&self) -> String {
        self.as_ref().map(T::show).unwrap_or_default()
    }
}

impl<T: Field> Field for Vec<T> {
    fn shape() -> Shape {
        Shape::List(Box::new(T::shape()))
    }

    fn read(node: Node<'_>, reader: &mut Reader) -> Option<Self> {
        let items = reader.list(node)?;
        // Read every item before the first failure counts, so that all mistakes are reported.
        let read: Vec<Option<T>> = items.iter().map(|item| T::read(item, reader)).collect();
        read.into_iter().collect()
    }

    fn show(&self) -> String {
        format!("[{}]", self.iter().map(T::show).collect::<Vec<_>>().join(", "))
    }
}

impl Field for bool {
    fn shape() -> Shape {
        Shape::Scalar("boolean".to_owned())
    }

    fn read(node: Node<'_>, reader: &mut Reader) -> Option<Self> {
        reader.boolean(node)
    }

    fn show(&self) -> String {
        self.to_string()
    }
}
