//! The fields of an object that others may set, by its current state: by the app's rules, and by
//! autoscalers that target it.

use setpoint_core::diff::{Difference, diff};
use setpoint_core::live::Writer;
use setpoint_core::observed::UnknownReason;
use setpoint_core::resource::Resource;
use setpoint_core::value::{Segment, Value};
use setpoint_kube::attribute;
use setpoint_kube::managed::{ManagedFields, is_applied_by};
use setpoint_kube::path::{Element, FieldPath};
use setpoint_kube::shared::{Autoscaler, Holding, NotShareable, SCALE, Sharing, scalers};

use crate::cluster::Cluster;
use crate::compared::entries_of;
use crate::records::Record;

impl Cluster {
    /// Returns the fields of an object that are not ours, by its current state.
    pub(crate) async fn sharing(&self, resource: &Resource, object: &Value) -> Result<Sharing, UnknownReason> {
        let entries = entries_of(object)?;
        let holding = Holding { object, entries: &entries };
        let scaled = !scalers(resource, holding).map_err(|error| unreadable(&error))?.is_empty();
        let autoscaler = if scaled { self.autoscaler_of(&resource.key).await? } else { Autoscaler::None };
        let sharing = Sharing::of(resource, holding, &self.api.manager, autoscaler);
        let sharing = sharing.map_err(|error| unreadable(&error))?;
        self.autoscalers.note_unheld(&resource.key, sharing.unheld);
        Ok(match self.records.get(&resource.key) {
            Some(record) => sharing.knowing(&record.ours),
            None => sharing,
        })
    }

    /// Returns the same from the record, without a request; `None` if the record no longer holds.
    pub(crate) fn sharing_as_recorded(&self, record: &Record, holding: Holding<'_>) -> Option<Sharing> {
        let Some(resource) = &record.kept else {
            return record.lent.is_empty().then(Sharing::default);
        };
        let scalers = scalers(resource, holding).ok()?;
        // Another manager that sets the scale may be a person, and the autoscaler may be gone.
        if scalers.iter().any(|scaler| record.scaler.as_ref() != *scaler) {
            return None;
        }
        let autoscaler = if scalers.is_empty() { Autoscaler::None } else { Autoscaler::Aims };
        let sharing = Sharing::of(resource, holding, &self.api.manager, autoscaler).ok()?;
        (*sharing.lent() == record.lent).then_some(sharing)
    }

    /// Returns the likely writer of these paths, with a note if the autoscaler could not be
    /// determined.
    pub(crate) fn writer_of(&self, entries: &[ManagedFields], paths: &[FieldPath], sharing: &Sharing) -> Writer {
        let writer = attribute::writer(entries, paths, &self.api.manager);
        let of_scale =
            |entry: &ManagedFields| *entry.subresource == *SCALE && paths.iter().any(|path| entry.fields.touches(path));
        match writer {
            Writer::Likely { who } if sharing.autoscaler == Autoscaler::Unknown && entries.iter().any(of_scale) => {
                let doubt = "it is unknown whether an autoscaler targets it: let the agent list autoscalers";
                Writer::Likely { who: format!("{who}; {doubt}") }
            }
            writer => writer,
        }
    }

    /// Returns the same for an object that is compared with its declaration as both are written.
    /// Fields that only we hold may be what we wrote ourselves.
    pub(crate) fn writer_as_written(
        &self,
        entries: &[ManagedFields],
        resource: &Resource,
        value: &Value,
        sharing: &Sharing,
    ) -> Writer {
        let others = entries.iter().filter(|entry| !is_applied_by(entry, &self.api.manager));
        let others: Vec<ManagedFields> = others.cloned().collect();
        self.writer_of(&others, &differing(resource, value), sharing)
    }
}

/// Returns the paths at which an object differs from its declaration as both are written. Paths end
/// at lists, whose items only the server can match.
fn differing(resource: &Resource, value: &Value) -> Vec<FieldPath> {
    let field = |segment: &Segment| match segment {
        // The server only knows `data`.
        Segment::Field(name) if **name == *"stringData" => Some(Element::field("data")),
        Segment::Field(name) => Some(Element::field(name)),
        Segment::Index(_) => None,
    };
    let path = |difference: &Difference| FieldPath(difference.path.0.iter().map_while(field).collect());
    diff(&resource.body, value).iter().map(path).collect()
}

/// Reports an invalid rule. Rules are validated before they are accepted; one that this version
/// does not understand is no reason to overwrite fields that others may set.
pub(crate) fn unreadable(error: &NotShareable) -> UnknownReason {
    UnknownReason::Malformed {
        detail: format!("a field that others may set cannot be read: {error}; {}", error.help()),
    }
}
