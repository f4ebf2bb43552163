//! Macros that generate the struct, the strict reader, the schema and the reference of a document
//! from one declaration, so that they cannot disagree.

use setpoint_yaml::Node;

use crate::reader::Reader;

/// The type of a field, for readers, schema and reference.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// A scalar, with the name of its type.
    Scalar(String),
    /// One of these strings, each with its meaning.
    Enum(&'static [(&'static str, &'static str)]),
    List(Box<Shape>),
    /// Any mapping, kept unchanged.
    Any,
    Object(fn() -> Declaration),
    /// An object with exactly one of these fields.
    OneOf(fn() -> Declaration),
}

/// The fields of an object, and its documentation.
#[derive(Clone, Debug)]
pub(crate) struct Declaration {
    pub(crate) doc: &'static str,
    pub(crate) fields: Vec<FieldDeclaration>,
}

#[derive(Clone, Debug)]
pub(crate) struct FieldDeclaration {
    pub(crate) name: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) shape: Shape,
    pub(crate) presence: Presence,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Presence {
    Required,
    /// The default as a user would write it; empty if there is none.
    Optional(String),
}

/// A type of fields.
pub(crate) trait Field: Sized {
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

/// Declares an object: `"nameInYaml" name_in_rust: Type`, with `= default` for an optional field.
/// After the name, `=> check` names a function for rules between fields: it reports violations and
/// returns whether there are none.
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

        impl $name {
            pub(crate) fn declaration() -> crate::declaration::Declaration {
                crate::declaration::Declaration {
                    doc: concat!($($doc),*),
                    fields: vec![
                        $( crate::declaration::FieldDeclaration {
                            name: $key,
                            doc: concat!($($field_doc),*),
                            shape: <$type as crate::declaration::Field>::shape(),
                            presence: crate::declaration::presence::<$type>(
                                crate::declaration::default_of!($type $(, $default)?),
                            ),
                        } ),*
                    ],
                }
            }
        }

        impl crate::declaration::Field for $name {
            fn shape() -> crate::declaration::Shape {
                crate::declaration::Shape::Object(Self::declaration)
            }

            fn read(node: setpoint_yaml::Node<'_>, reader: &mut crate::reader::Reader) -> Option<Self> {
                let mut fields = crate::reader::Fields::of(node, reader)?;
                $( let $field = fields.take::<$type>($key, crate::declaration::default_of!($type $(, $default)?), reader); )*
                let complete = fields.finish(&[$($key),*], reader);
                let object = Some(Self { $($field: $field?),* }).filter(|_| complete);
                $( let object = object.filter(|object| $check(object, node, reader)); )?
                object
            }

            fn all_defaults() -> Option<Self> {
                $( let $field: Option<fn() -> $type> = crate::declaration::default_of!($type $(, $default)?); )*
                Some(Self { $($field: $field?()),* })
            }

            fn show(&self) -> String {
                let shown = [$( ($key, crate::declaration::Field::show(&self.$field)) ),*];
                crate::declaration::show_object(&shown)
            }
        }
    };
}

/// Declares an object with exactly one of its fields set: `"nameInYaml" Variant(Type)`.
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

            pub(crate) fn declaration() -> crate::declaration::Declaration {
                crate::declaration::Declaration {
                    doc: concat!($($doc),*),
                    fields: vec![
                        $( crate::declaration::FieldDeclaration {
                            name: $key,
                            doc: concat!($($field_doc),*),
                            shape: <$type as crate::declaration::Field>::shape(),
                            presence: crate::declaration::Presence::Optional(String::new()),
                        } ),*
                    ],
                }
            }
        }

        impl crate::declaration::Field for $name {
            fn shape() -> crate::declaration::Shape {
                crate::declaration::Shape::OneOf(Self::declaration)
            }

            fn read(node: setpoint_yaml::Node<'_>, reader: &mut crate::reader::Reader) -> Option<Self> {
                let mut fields = crate::reader::Fields::of(node, reader)?;
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
                        crate::declaration::show_object(&[($key, crate::declaration::Field::show(value))])
                    } ),*
                }
            }
        }
    };
}

/// Declares a type with a fixed set of strings: `"value" Variant`.
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

        impl crate::declaration::Field for $name {
            fn shape() -> crate::declaration::Shape {
                crate::declaration::Shape::Enum(Self::VALUES)
            }

            fn read(node: setpoint_yaml::Node<'_>, reader: &mut crate::reader::Reader) -> Option<Self> {
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
macro_rules! default_of {
    ($type:ty) => {
        None
    };
    ($type:ty, $default:expr) => {
        Some(|| -> $type { $default })
    };
}

pub(crate) use {default_of, object, one_of, string_enum};

pub(crate) fn presence<T: Field>(default: Option<fn() -> T>) -> Presence {
    default.map_or(Presence::Required, |default| Presence::Optional(default().show()))
}

pub(crate) fn show_object(fields: &[(&str, String)]) -> String {
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
