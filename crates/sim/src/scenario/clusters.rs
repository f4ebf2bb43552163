//! Scenarios on a Kubernetes cluster: the shipped target between the engine and an API server in
//! memory.

use super::Scenario;
use crate::universe::Universe;
use crate::world::World;

pub(super) fn all() -> Vec<Scenario> {
    vec![life_on_a_cluster(), held_by_a_finalizer(), restored_from_a_backup()]
}

fn life_on_a_cluster() -> Scenario {
    Scenario::new("what is declared on a cluster is made, changed, healed and deleted once")
        .with(Universe::settle_on_clusters)
        .given(|world| world.declare(0, 0..5, 1))
        .at(6, |world| world.declare(0, 0..5, 2))
        .at(12, |world: &mut World| world.meddle_with(0, 3))
        .at(14, |world| world.declare(0, 1..5, 2))
        .expect(60, "everything declared exists", |world| world.stand(0, 1..5, 2))
        .expect(60, "what is not was deleted, and nothing else", |world| {
            world.deletes() == 1 && world.standing(0, 0..1) == 0
        })
}

fn held_by_a_finalizer() -> Scenario {
    Scenario::new("what a finalizer holds is deleted once and awaited")
        .with(Universe::settle_on_clusters)
        .given(|world| world.declare(0, 0..5, 1))
        .at(6, |world| world.hold_with_finalizer(0, 0, true))
        .at(8, |world| world.declare(0, 1..5, 1))
        .expect(20, "it is being deleted and still there", |world| {
            world.standing(0, 0..1) == 1 && world.claim(0, 0).is_some()
        })
        .at(30, |world| world.hold_with_finalizer(0, 0, false))
        .expect(60, "it is gone, and nothing else", |world| world.deletes() == 1 && world.standing(0, 0..5) == 4)
}

fn restored_from_a_backup() -> Scenario {
    Scenario::new("a cluster that is restored from a backup comes to what is declared")
        .with(Universe::settle_on_clusters)
        .given(|world| world.declare(0, 0..5, 1))
        .at(6, |world| world.back_up_cluster(0))
        .at(7, |world| world.declare(0, 0..5, 2))
        .at(12, |world| world.restore_from_backup(0))
        .expect(60, "everything declared exists", |world| world.stand(0, 0..5, 2))
}
