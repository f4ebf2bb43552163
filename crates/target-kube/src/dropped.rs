//! Finds fields that we hold and no longer declare when the record of the earlier declaration is
//! lost: the declaration changed while the memory was lost.

use setpoint_core::resource::Resource;
use setpoint_core::value::Value;
use setpoint_kube::path::FieldPath;
use setpoint_kube::shape;

use crate::cluster::Cluster;
use crate::compared::Difference;
use crate::records::Record;

impl Cluster {
    /// Adds the fields that have to be removed to a difference. The record then does not belong to
    /// this declaration: until it is applied, every observation finds the same.
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
        // A field that a webhook would remove still has its declared value.
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
