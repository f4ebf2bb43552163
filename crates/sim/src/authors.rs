//! Authors of control documents: careful, careless and malicious ones. They act only in worlds with
//! documents.

use setpoint_core::name::AppId;

use crate::repository::{AppDocument, Documents, Flaw};
use crate::store::{Contents, Folder};
use crate::world::World;

impl World {
    /// Adds a commit to the store of the control documents.
    pub(crate) fn commit_documents(&mut self, what: &str, change: impl FnOnce(&mut Contents)) {
        if self.timeline.is_some() {
            self.remark(&format!("author: {what}"));
        }
        self.stores[0].change(self.now, change);
    }

    /// Changes control documents; often they are corrected first.
    pub(crate) fn change_documents(&mut self, app: usize) {
        if self.tape.happens("mended before", 600) {
            self.mend_documents();
        }
        let id = self.universe.apps[app].clone();
        match self.tape.pick("documents", 17) {
            0..=2 => self.move_folder(&id, true),
            3 => self.move_folder(&id, false),
            4 | 5 => self.swap_folders(),
            6 | 7 => self.remove_document(&id),
            8 => self.rename(false),
            9 => self.rename(true),
            10 => self.retire(&id),
            11..=13 => self.hand_over(),
            14 => self.commit_documents("a remark that no app reads", |contents| contents.remark += 1),
            15 => {
                let flaw = Flaw::ALL[self.tape.pick("flaw", Flaw::ALL.len() as u32) as usize];
                self.spoil_documents(flaw);
            }
            _ => self.retire_all(),
        }
    }

    /// Restores the documents of honest authors. The app that the first one was renamed to is
    /// retired, so its resources change hands.
    pub(crate) fn mend_documents(&mut self) {
        if !self.universe.rooted {
            return;
        }
        let mut documents = self.universe.documents(self.stores[0].head_contents());
        for store in &self.stores[1..] {
            for (app, place) in &store.head_contents().places {
                documents.apps.entry(app.clone()).and_modify(|document| document.place = *place);
            }
        }
        let (first, renamed) = (&self.universe.apps[0], &self.universe.apps[self.universe.folders()]);
        let retired = AppDocument { retire: true, ..documents.apps[first].clone() };
        documents.apps.insert(renamed.clone(), retired);
        documents.windows = !self.calm;
        self.commit_documents("corrects the documents", |contents| contents.documents = Some(documents));
    }

    /// Changes the documents in one commit.
    pub(crate) fn edit_documents(&mut self, what: &str, change: impl FnOnce(&mut Documents)) {
        self.commit_documents(what, |contents| {
            if let Some(documents) = &mut contents.documents {
                change(documents);
            }
        });
    }

    pub(crate) fn spoil_documents(&mut self, flaw: Flaw) {
        self.edit_documents(&format!("{flaw:?}"), |documents| documents.flaw = Some(flaw));
    }

    /// Moves a directory, with its document or without. Without it, the directory vanishes from the
    /// path in the document.
    pub(crate) fn move_folder(&mut self, app: &AppId, with_document: bool) {
        let what = format!("moves the directory of {app}, its document with it: {with_document}");
        let n = self.app_index(app);
        let store = self.universe.store_of(n);
        let home = self.stores[store].head_contents().home_of(app).clone();
        let place = self.stores[store].head_contents().place_of(&home) + 1;
        let follow = |contents: &mut Contents| {
            let documents = contents.documents.iter_mut().flat_map(|documents| documents.apps.values_mut());
            documents.filter(|document| document.folder == home).for_each(|document| document.place = place);
        };
        if store == 0 {
            return self.commit_documents(&what, |contents| {
                contents.places.insert(home.clone(), place);
                if with_document {
                    follow(contents);
                }
            });
        }
        self.stores[store].change(self.now, |contents| contents.places.extend([(home.clone(), place)]));
        if with_document {
            self.commit_documents(&what, follow);
        }
    }

    /// Exchanges the directories of two apps of the first store, with their documents, in one
    /// commit.
    pub(crate) fn swap_folders(&mut self) {
        let other = (1..self.universe.folders()).find(|n| self.universe.store_of(*n) == 0);
        let Some(other) = other else { return };
        let (first, second) = (self.universe.apps[0].clone(), self.universe.apps[other].clone());
        self.mend_documents();
        let universe = self.universe.clone();
        self.commit_documents(&format!("{first} and {second} exchange directories"), |contents| {
            let homes = (contents.home_of(&first).clone(), contents.home_of(&second).clone());
            let folders = (contents.folders.remove(&homes.0), contents.folders.remove(&homes.1));
            contents.folders.extend(folders.0.map(|folder| (homes.1.clone(), folder)));
            contents.folders.extend(folders.1.map(|folder| (homes.0.clone(), folder)));
            contents.homes.extend([(first, homes.1), (second, homes.0)]);
            contents.documents = Some(universe.documents(contents));
        });
    }

    pub(crate) fn remove_document(&mut self, app: &AppId) {
        let what = format!("removes the document of {app}");
        self.edit_documents(&what, |documents| drop(documents.apps.remove(app)));
    }

    /// Renames the first app; its old document is removed, or retires the app.
    pub(crate) fn rename(&mut self, retire: bool) {
        let (first, renamed) = (self.universe.apps[0].clone(), self.universe.apps[self.universe.folders()].clone());
        self.edit_documents(&format!("renames {first}, the old one retires: {retire}"), |documents| {
            let Some(document) = documents.apps.remove(&first) else { return };
            if retire {
                documents.apps.insert(first, AppDocument { retire: true, ..document.clone() });
            }
            documents.apps.insert(renamed, AppDocument { retire: false, ..document });
        });
    }

    pub(crate) fn retire(&mut self, app: &AppId) {
        let what = format!("retires {app}");
        self.edit_documents(&what, |documents| {
            documents.apps.entry(app.clone()).and_modify(|document| document.retire = true);
        });
    }

    /// Retires every app in one commit: then only the fleet's budget slows the deletes down.
    fn retire_all(&mut self) {
        self.edit_documents("retires all apps", |documents| {
            documents.apps.values_mut().for_each(|document| document.retire = true);
        });
    }

    /// Moves a key that two apps share from one to the other in one commit.
    pub(crate) fn hand_over(&mut self) {
        let others: Vec<usize> = (0..self.universe.folders())
            .filter(|n| self.universe.store_of(*n) == 0 && self.universe.target_of(*n) == self.universe.target_of(0))
            .collect();
        let [first, second, ..] = others[..] else { return };
        let keys = &self.universe.keys[first];
        let key = keys[keys.len() - 1].clone();
        let pair = [self.universe.apps[first].clone(), self.universe.apps[second].clone()];
        self.commit_documents(&format!("{key} changes hands"), |contents| {
            let declares =
                |app| matches!(contents.folder_of(app), Some(Folder::Declares(all)) if all.contains_key(&key));
            let gives = if declares(&pair[0]) { 0 } else { 1 };
            let homes = pair.map(|app| contents.home_of(&app).clone());
            if let Some(Folder::Declares(all)) = contents.folders.get_mut(&homes[gives]) {
                all.remove(&key);
            }
            if let Some(Folder::Declares(all)) = contents.folders.get_mut(&homes[1 - gives]) {
                all.insert(key.clone(), 1);
            }
        });
    }
}
