//! Case 79: an agent is killed again and again in the middle of a change. Nothing is lost, nothing is half done, nothing is left over.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use setpoint::agent::folder::DataFolder;
use setpoint_core::facts::Facts;
use setpoint_ledger::Ledger;
use setpoint_ledger_sql::{Options, SqlLedger};
use tokio::runtime::Runtime;

use super::lab::{Lab, app};
use crate::setpoint::command;

/// So many that writing them takes longer than a signal.
const FILES: u64 = 100;
/// An agent that has nothing left to do is quiet for this long.
const QUIET: Timespec = Timespec { tv_sec: 0, tv_nsec: 400_000_000 };

#[test]
fn case_79_an_agent_killed_in_the_middle_of_changes_loses_nothing_and_leaves_nothing_half_done() {
    let wanted = kills();
    let mut scene = Scene::new();
    let mut seen: BTreeMap<Moment, u64> = BTreeMap::new();
    let mut tries = 0;
    while seen.values().sum::<u64>() < wanted {
        tries += 1;
        assert!(tries <= 4 * wanted, "too few of the kills come in the middle of a change: {seen:?}");
        if scene.is_finished() {
            scene.declare_the_next();
        }
        scene.run_and_kill();
        if let Some(moment) = scene.moment() {
            *seen.entry(moment).or_default() += 1;
        }
    }
    println!("{wanted} kills with a plan in flight, {tries} in all; what they found:");
    for (moment, count) in &seen {
        println!("{count:>6}  {moment}");
    }
    let open: u64 = seen.iter().filter(|(moment, _)| moment.is_open()).map(|(_, count)| count).sum();
    assert!(open * 10 >= wanted * 3, "only {open} of {wanted} kills left an intent open");
    scene.ends_well();
}

/// How often the agent is killed: as CI wants it, or as `cargo xtask kill` says.
#[expect(clippy::disallowed_methods, reason = "the one door through which `cargo xtask kill` says how often")]
fn kills() -> u64 {
    std::env::var("SETPOINT_KILLS").map_or(200, |runs| runs.parse().expect("`cargo xtask kill` gives a number"))
}

/// What a kill found under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    Planned,
    Intended,
    Writing,
    Written,
    BetweenBatches,
}

impl Moment {
    fn is_open(self) -> bool {
        matches!(self, Self::Intended | Self::Writing | Self::Written)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Planned => "version accepted, no intent recorded yet",
            Self::Intended => "intents open, nothing written yet",
            Self::Writing => "intents open, some files written",
            Self::Written => "intents open, all files written, their end not recorded",
            Self::BetweenBatches => "some files written and recorded, others to come",
        })
    }
}

/// An agent's surroundings, and what is known of it from the outside.
struct Scene {
    lab: Lab,
    /// Counts the versions, and stands in every file.
    generation: u64,
    head: String,
    /// How many events a change takes, as far as it is known.
    lengths: BTreeMap<Place, u64>,
    random: u64,
}

impl Scene {
    fn new() -> Self {
        let mut lab = Lab::new();
        lab.app("many");
        fs::create_dir(lab.data()).expect("the folder is ours");
        let lengths = BTreeMap::from([(Place::Machine, 4 * FILES), (Place::Ledger, 50)]);
        let mut seed = [0; 8];
        getrandom::fill(&mut seed).expect("the system has random numbers");
        let mut scene = Self { lab, generation: 0, head: String::new(), lengths, random: u64::from_le_bytes(seed) };
        scene.declare_the_next();
        scene
    }

    /// A new version changes every file.
    fn declare_the_next(&mut self) {
        self.generation += 1;
        for number in 0..FILES {
            self.lab.file("many", &name(number), &content(self.generation, number));
        }
        self.head = self.lab.commit();
    }

    /// Starts the agent and kills it at some event of the change that follows: mostly one of the machine's files, else of the ledger.
    fn run_and_kill(&mut self) {
        let place = if self.dice(4) == 0 { Place::Ledger } else { Place::Machine };
        let mut left = self.dice(self.lengths[&place]) + 1;
        let mut watch = Watch::on(&self.lab);
        let mut child = self.spawn();
        let mut counted: BTreeMap<Place, u64> = BTreeMap::new();
        while left > 0 {
            let Some(event) = watch.next() else {
                // It was over before: now it is known how long it takes.
                self.lengths.extend(counted);
                break;
            };
            event.check();
            *counted.entry(event.place).or_default() += 1;
            left -= u64::from(event.place == place);
        }
        child.kill().expect("it is ours");
        child.wait().expect("it is ours");
        for number in 0..FILES {
            self.check_whole(&name(number));
        }
    }

    fn spawn(&self) -> Child {
        let (config, data) = (self.lab.bootstrap().display().to_string(), self.lab.data().display().to_string());
        let mut agent = command(&["run", "--config", &config, "--data", &data]);
        agent.stdout(Stdio::null()).spawn().expect("the binary was built with these tests")
    }

    fn check_whole(&self, name: &str) {
        let Some(text) = self.lab.text(name) else { return };
        let (generation, number) = head_of(&text);
        assert!(generation <= self.generation && text == content(generation, number), "{name} is torn: {text}");
    }

    /// The generation of each file; 0 for one that is not there.
    fn generations(&self) -> BTreeSet<u64> {
        (0..FILES).map(|number| self.lab.text(&name(number)).map_or(0, |text| head_of(&text).0)).collect()
    }

    /// What the ledger says between two runs.
    fn facts(&self) -> Option<Facts> {
        let folder = DataFolder::open(&self.lab.data()).expect("it is ours");
        if !folder.is_installed() {
            return None;
        }
        let installation = folder.installation().expect("an installation is whole or not there");
        // What holds the folder's lock ends with the runtime.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let options = Options::new(folder.path(), installation.signer);
            let ledger = SqlLedger::open(options).await.expect("a kill damages no ledger");
            let loaded = ledger.load(&installation.origin).await.expect("a kill damages no ledger");
            ledger.close().await.expect("it closes");
            Some(loaded.facts)
        })
    }

    fn is_accepted(&self, facts: &Facts) -> bool {
        let accepted = facts.apps.get(&app("many")).and_then(|facts| facts.accepted.as_ref());
        accepted.is_some_and(|accepted| accepted.revision.0.values().any(|version| version.as_str() == self.head))
    }

    /// What the kill found under way; `None` if the change had not begun or was over.
    fn moment(&self) -> Option<Moment> {
        let facts = self.facts()?;
        let generations = self.generations();
        let (some, all) = (generations.contains(&self.generation), generations == [self.generation].into());
        match (facts.intents.is_empty(), some, all) {
            _ if !self.is_accepted(&facts) => None,
            (true, false, _) => Some(Moment::Planned),
            (true, true, false) => Some(Moment::BetweenBatches),
            (true, true, true) => None,
            (false, false, _) => Some(Moment::Intended),
            (false, true, false) => Some(Moment::Writing),
            (false, true, true) => Some(Moment::Written),
        }
    }

    fn is_finished(&self) -> bool {
        self.generations() == [self.generation].into() && self.facts().is_some_and(|facts| facts.intents.is_empty())
    }

    fn ends_well(&mut self) {
        self.declare_the_next();
        let runtime = Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let mut agent = self.lab.start().await;
            let detail = agent.until_converged("many", &self.head).await;
            assert_eq!((detail.unsettled, detail.report), (Vec::new(), Vec::new()));
            agent.stop().await;
        });
        assert_eq!(self.generations(), [self.generation].into());
        let left: BTreeSet<_> = fs::read_dir(self.lab.at("")).expect("it is there").map(entry_name).collect();
        assert_eq!(left, (0..FILES).map(name).collect(), "something is left over");
        let data = self.lab.data().display().to_string();
        let key = crate::setpoint::run(&["ledger", "key", &data]).output;
        let verified =
            crate::setpoint::run(&["ledger", "verify", &format!("{data}/ledger.db"), "--key", key.trim_end()]);
        assert_eq!(verified.code, Some(0), "{}{}", verified.output, verified.complaints);
    }

    /// A number below `sides`, by Marsaglia's xorshift.
    fn dice(&mut self, sides: u64) -> u64 {
        self.random |= 1;
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % sides
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

/// Where something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// In the folder that is held.
    Machine,
    /// In the data folder.
    Ledger,
}

/// Something that happened to a file.
struct Event {
    place: Place,
    name: String,
    flags: ReadFlags,
}

impl Event {
    /// A declared name is given to files that are whole, and to nothing else.
    fn check(&self) {
        let declared = self.place == Place::Machine && self.name.starts_with("file-");
        assert!(!declared || self.flags == ReadFlags::MOVED_TO, "{} was {:?}", self.name, self.flags);
    }
}

/// Sees what happens to the machine and the ledger, one event after the other.
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

    /// The next event; `None` once nothing happens any more.
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
