//! What happens on a Kubernetes cluster: the shipped target between the engine and an API server in memory.

use super::Scenario;
use crate::universe::Universe;
use crate::world::World;

pub(super) fn all() -> Vec<Scenario> {
    vec![life_on_a_cluster()]
}

fn life_on_a_cluster() -> Scenario {
    Scenario::new("what is declared on a cluster is made, changed, healed and deleted once")
        .with(Universe::settle_on_clusters)
        .given(|world| world.declare(0, 0..5, 1))
        .at(6, |world| world.declare(0, 0..5, 2))
        .at(12, |world: &mut World| world.meddle_with(0, 3))
        .at(14, |world| world.declare(0, 1..5, 2))
        .expect(60, "what is declared stands", |world| world.stand(0, 1..5, 2))
        .expect(60, "what is not was deleted, and nothing else", |world| {
            world.deletes() == 1 && world.standing(0, 0..1) == 0
        })
}
