//! What we hold of an object and no longer declare, where nothing is remembered of the declaration
//! before: it was changed while the memory was lost.

use setpoint_core::resource::Resource;
use setpoint_core::value::Value;
use setpoint_kube::path::FieldPath;
use setpoint_kube::shape;

use crate::cluster::Cluster;
use crate::compared::Difference;
use crate::records::Record;

impl Cluster {
    /// A difference with what has to go as well. The record is then not of this declaration: until
    /// it is applied, every look finds the same.
    pub(crate) fn with_dropped(
        &self,
        resource: &Resource,
        object: &Value,
        difference: Difference,
        dropped: &[FieldPath],
        record: &mut Record,
    ) -> Difference {
        let (shown, mut paths) = match &difference {
            Ok(_) => (&*resource.body, Vec::new()),
            Err((value, paths)) => (value, paths.clone()),
        };
        let value = shape::in_declared_shape(shown, object, &[], dropped, &self.digest_key);
        // What a webhook would take out stands there as declared.
        if dropped.is_empty() || value == *resource.body {
            return difference;
        }
        for path in dropped {
            if !paths.contains(path) {
                paths.push(path.clone());
            }
        }
        record.be_of_an_earlier_declaration(dropped);
        Err((value, paths))
    }
}
