//! Case 79: an agent is killed while it changes files of this machine.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::SystemTime;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use setpoint_core::facts::Facts;

use super::super::lab::Lab;
use super::{APP, Dice, Scene, THINGS, World, kills};

/// An idle agent is quiet for this long.
const QUIET: Timespec = Timespec { tv_sec: 0, tv_nsec: 400_000_000 };

#[test]
fn case_79_an_agent_killed_in_the_middle_of_changes_loses_nothing_and_leaves_nothing_half_done() {
    let lengths = BTreeMap::from([(Place::Machine, 4 * THINGS), (Place::Ledger, 50)]);
    let mut scene = Scene::new(Lab::new(), Machine { lengths });
    scene.kill(kills());
    scene.ends_well();
}

#[test]
fn files_touched_between_a_kill_and_the_restart_are_healed_without_a_person() {
    let lengths = BTreeMap::from([(Place::Machine, 4 * THINGS), (Place::Ledger, 50)]);
    let mut scene = Scene::new(Lab::new(), Machine { lengths });
    // The first version creates all files, the second updates them.
    for _ in 0..2 {
        scene.kill_with_open_intents();
        touch_all(&scene.lab);
        scene.heals();
        scene.declare_the_next();
    }
}

/// Changes every file in ways that people and programs do at any time.
fn touch_all(lab: &Lab) {
    for number in 0..THINGS {
        let place = lab.at(&name(number));
        let Ok(mut file) = fs::File::options().append(true).open(&place) else { continue };
        let touched = match number % 3 {
            0 => file.write_all(b"more\n"),
            1 => file.set_modified(SystemTime::UNIX_EPOCH),
            _ => fs::set_permissions(&place, Permissions::from_mode(0o600)),
        };
        touched.expect("the file is ours");
    }
}

struct Machine {
    /// The number of events of a change, as far as it is known.
    lengths: BTreeMap<Place, u64>,
}

impl World for Machine {
    fn declare(&self, lab: &mut Lab, generation: u64) {
        for number in 0..THINGS {
            lab.file(APP, &name(number), &content(generation, number));
        }
    }

    fn generations(&self, lab: &Lab) -> BTreeSet<u64> {
        let generation = |number| {
            let Some(text) = lab.text(&name(number)) else { return 0 };
            let (generation, number) = head_of(&text);
            assert!(text == content(generation, number), "{} is torn: {text}", name(number));
            generation
        };
        (0..THINGS).map(generation).collect()
    }

    /// Waits for an event of the change: mostly one of the machine's files, else of the ledger.
    fn await_moment(&mut self, lab: &Lab, _: u64, dice: &mut Dice, start: &mut dyn FnMut()) {
        let place = if dice.roll(4) == 0 { Place::Ledger } else { Place::Machine };
        let mut left = dice.roll(self.lengths[&place]) + 1;
        let mut watch = Watch::on(lab);
        start();
        let mut counted: BTreeMap<Place, u64> = BTreeMap::new();
        while left > 0 {
            let Some(event) = watch.next() else {
                // The change ended earlier, so its number of events is now known.
                self.lengths.extend(counted);
                break;
            };
            event.check();
            *counted.entry(event.place).or_default() += 1;
            left -= u64::from(event.place == place);
        }
    }

    fn nothing_is_left_over(&self, lab: &Lab, _: &Facts) {
        let left: BTreeSet<_> = fs::read_dir(lab.at("")).expect("it is there").map(entry_name).collect();
        assert_eq!(left, (0..THINGS).map(name).collect(), "something is left over");
    }
}

fn name(number: u64) -> String {
    format!("file-{number:02}")
}

fn entry_name(entry: io::Result<fs::DirEntry>) -> String {
    entry.expect("it can be listed").file_name().to_string_lossy().into_owned()
}

/// Long enough that a torn write would show.
fn content(generation: u64, number: u64) -> String {
    format!("{generation} {number}\n").repeat(300)
}

fn head_of(text: &str) -> (u64, u64) {
    let line = text.lines().next().and_then(|line| line.split_once(' '));
    line.and_then(|(generation, number)| Some((generation.parse().ok()?, number.parse().ok()?)))
        .unwrap_or((u64::MAX, 0))
}

/// The location of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// In the managed directory.
    Machine,
    /// In the data directory.
    Ledger,
}

/// An event of a file.
struct Event {
    place: Place,
    name: String,
    flags: ReadFlags,
}

impl Event {
    /// Checks that only complete files get a declared name.
    fn check(&self) {
        let declared = self.place == Place::Machine && self.name.starts_with("file-");
        assert!(!declared || self.flags == ReadFlags::MOVED_TO, "{} was {:?}", self.name, self.flags);
    }
}

/// Watches the machine and the ledger, one event after the other.
struct Watch {
    events: OwnedFd,
    machine: i32,
    waiting: VecDeque<Event>,
}

impl Watch {
    fn on(lab: &Lab) -> Self {
        let events = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).expect("it starts");
        let flags = WatchFlags::CREATE | WatchFlags::MODIFY | WatchFlags::MOVED_TO | WatchFlags::DELETE;
        let watch = |folder: PathBuf| inotify::add_watch(&events, folder, flags).expect("the folder is there");
        let machine = watch(lab.at(""));
        watch(lab.data());
        Self { events, machine, waiting: VecDeque::new() }
    }

    /// Returns the next event; `None` once there are no more.
    fn next(&mut self) -> Option<Event> {
        if self.waiting.is_empty() {
            poll(&mut [PollFd::new(&self.events, PollFlags::IN)], Some(&QUIET)).expect("it can be waited for");
            self.read();
        }
        self.waiting.pop_front()
    }

    fn read(&mut self) {
        let mut space = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&self.events, &mut space);
        while let Ok(event) = events.next() {
            let name = event.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let place = if event.wd() == self.machine { Place::Machine } else { Place::Ledger };
            self.waiting.push_back(Event { place, name, flags: event.events() });
            if events.is_buffer_empty() {
                return;
            }
        }
    }
}
