//! What of an object others may set, as it stands: by the app's rules, and by autoscalers that aim
//! at it.

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
    /// What of an object is not ours, as it stands.
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

    /// The same by what is remembered, without asking anybody; `None` where that does not hold any
    /// more.
    pub(crate) fn sharing_as_recorded(&self, record: &Record, holding: Holding<'_>) -> Option<Sharing> {
        let Some(resource) = &record.kept else {
            return record.lent.is_empty().then(Sharing::default);
        };
        let scalers = scalers(resource, holding).ok()?;
        // Another one who sets the scale may be a person, and the autoscaler may be gone.
        if scalers.iter().any(|scaler| record.scaler.as_ref() != *scaler) {
            return None;
        }
        let autoscaler = if scalers.is_empty() { Autoscaler::None } else { Autoscaler::Aims };
        let sharing = Sharing::of(resource, holding, &self.api.manager, autoscaler).ok()?;
        (*sharing.lent() == record.lent).then_some(sharing)
    }

    /// Who likely wrote these paths, with what could not be found out about it.
    pub(crate) fn writer_of(&self, entries: &[ManagedFields], paths: &[FieldPath], sharing: &Sharing) -> Writer {
        let writer = attribute::writer(entries, paths, &self.api.manager);
        let of_scale =
            |entry: &ManagedFields| *entry.subresource == *SCALE && paths.iter().any(|path| entry.fields.touches(path));
        match writer {
            Writer::Likely { who } if sharing.autoscaler == Autoscaler::Unknown && entries.iter().any(of_scale) => {
                let doubt = "whether an autoscaler aims at it may not be asked: let the agent list them";
                Writer::Likely { who: format!("{who}; {doubt}") }
            }
            writer => writer,
        }
    }

    /// The same where an object is compared with its declaration as both are written. What only we
    /// hold may be what we wrote ourselves.
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

/// Where an object differs from its declaration as both are written, as far as lists, whose items
/// only the server can tell apart.
fn differing(resource: &Resource, value: &Value) -> Vec<FieldPath> {
    let field = |segment: &Segment| match segment {
        // The server knows the other only.
        Segment::Field(name) if **name == *"stringData" => Some(Element::field("data")),
        Segment::Field(name) => Some(Element::field(name)),
        Segment::Index(_) => None,
    };
    let path = |difference: &Difference| FieldPath(difference.path.0.iter().map_while(field).collect());
    diff(&resource.body, value).iter().map(path).collect()
}

/// Rules are read before they are accepted. One that this version does not understand is no reason
/// to write over what others may set.
pub(crate) fn unreadable(error: &NotShareable) -> UnknownReason {
    UnknownReason::Malformed {
        detail: format!("a field that others may set cannot be read: {error}; {}", error.help()),
    }
}
