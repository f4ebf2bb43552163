//! Control documents: their effects, the limits of these, and the containment of mistakes in them.

use super::Scenario;
use super::acts::SHARED;
use crate::repository::Flaw;
use crate::universe::Universe;
use crate::world::World;

pub(super) fn all() -> Vec<Scenario> {
    vec![
        cached_render(),
        unknown_field(),
        missing_scopes(),
        no_documents(),
        folder_moved(),
        folders_exchanged(),
        hand_over(),
        renamed(),
        renamed_outright(),
        retired(),
    ]
}

/// Two apps of one store, declared by control documents, on one target; another target belongs to
/// no app.
fn documented(name: &'static str) -> Scenario {
    Scenario::new(name).with(Universe::root).given(|world| {
        world.declare(0, 0..6, 1);
        world.declare(1, 0..4, 1);
    })
}

fn cached_render() -> Scenario {
    documented("a render that lost files which are in the commit prunes none of what they declare")
        .answers(2)
        .at(10, |world| {
            world.lose_resources(1);
            world.declare(0, 0..6, 2);
        })
        .expect(50, "everything exists", |world| world.standing(0, 0..6) == 6 && world.deletes() == 0)
        .expect(50, "the report gives the reason", |world| {
            world.reports(0, "fresh render differs") || world.reports(0, "others not considered")
        })
        .at(50, |world| {
            world.script.render_keeps = None;
            world.declare(0, 0..6, 3);
        })
        .expect(80, "the next whole render is held", |world| world.stand(0, 0..6, 3) && world.deletes() == 0)
}

fn unknown_field() -> Scenario {
    documented("a document with a field that does not exist is refused, and all others with it")
        .answers(8)
        .at(10, |world| {
            let second = world.universe.apps[1].clone();
            world.remove_document(&second);
            world.spoil_documents(Flaw::UnknownField);
        })
        .at(20, |world| world.meddle_with(1, 2))
        .expect(40, "nothing is removed, no app is frozen, and an edit is healed", |world| {
            world.stand(0, 0..6, 1) && world.stand(1, 0..4, 1) && world.deletes() == 0 && !world.is_frozen(1)
        })
        .at(40, |world| world.edit_documents("corrects the field", |documents| documents.flaw = None))
        .at(60, |world| world.meddle_with(1, 2))
        .expect(80, "the rest of the commit is followed then", |world| world.is_frozen(1) && world.stand(1, [2], 90))
}

fn missing_scopes() -> Scenario {
    documented("a scope document that went missing opens no door")
        .answers(15)
        .at(10, |world| world.spoil_documents(Flaw::NoScopes))
        .at(20, |world| world.spoil_documents(Flaw::ForeignTarget))
        .at(30, |world| world.declare(0, 0..6, 2))
        .expect(60, "nothing is written where no scope may", World::vault_is_empty)
        .expect(60, "what was accepted before goes on", |world| world.stand(0, 0..6, 2) && world.deletes() == 0)
}

fn no_documents() -> Scenario {
    documented("an emptied folder of control documents freezes nobody")
        .answers(4)
        .at(10, |world| world.spoil_documents(Flaw::Emptied))
        .at(20, |world| world.meddle_with(0, 1))
        .expect(40, "the apps are held as before", |world| {
            world.stand(0, 0..6, 1) && world.deletes() == 0 && !world.is_frozen(0)
        })
}

fn folder_moved() -> Scenario {
    documented("an app whose folder moves together with its document goes on")
        .at(10, |world| {
            let first = world.universe.apps[0].clone();
            world.move_folder(&first, true);
        })
        .expect(30, "nothing is changed by it", |world| world.stand(0, 0..6, 1) && world.monitor.writes == 10)
        .at(30, |world| world.declare(0, 0..5, 2))
        .expect(60, "what is declared there is held", |world| world.stand(0, 0..5, 2) && world.deletes() == 1)
}

fn folders_exchanged() -> Scenario {
    documented("two apps whose folders change places with their documents notice nothing")
        .at(10, World::swap_folders)
        .expect(50, "nothing is changed by it", |world| {
            world.stand(0, 0..6, 1) && world.stand(1, 0..4, 1) && world.deletes() == 0 && world.monitor.writes == 10
        })
}

fn hand_over() -> Scenario {
    documented("a resource that one commit moves to another app changes hands and is not deleted")
        .given(|world| world.declare(0, (0..6).chain([SHARED + 1]), 1))
        .at(10, World::hand_over)
        .expect(50, "the other app owns the same object", |world| {
            let owner = world.claim(0, SHARED + 1).map(|claim| &claim.app);
            owner == Some(&world.universe.apps[1]) && world.stand(0, [SHARED + 1], 1) && world.deletes() == 0
        })
}

fn renamed() -> Scenario {
    under_another_name("an app under another name takes over what the retired one held", |world| world.rename(true))
}

fn renamed_outright() -> Scenario {
    under_another_name("an app under another name takes over what the old one held", |world| world.rename(false))
}

fn under_another_name(what: &'static str, rename: fn(&mut World)) -> Scenario {
    documented(what)
        .at(10, rename)
        .expect(50, "the new one owns the same objects", |world| {
            let renamed = &world.universe.apps[2];
            let owned = |n| world.claim(0, n).is_some_and(|claim| claim.app == *renamed);
            (0..6).all(owned) && world.stand(0, 0..6, 1) && world.deletes() == 0 && world.monitor.writes == 10
        })
        .expect(50, "the old one is forgotten", |world| !world.is_known(0))
}

fn retired() -> Scenario {
    documented("an app whose document says so is taken down, and no other")
        .at(10, |world| {
            let first = world.universe.apps[0].clone();
            world.retire(&first);
        })
        .expect(50, "nothing of it is left", |world| world.standing(0, 0..6) == 0 && !world.is_known(0))
        .expect(50, "its neighbour exists", |world| world.stand(1, 0..4, 1))
}
