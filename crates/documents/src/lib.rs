//! The setpoint.dev/v1 documents a user writes: strict reading, schema, reference
