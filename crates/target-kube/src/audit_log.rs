//! Follows the file to which an API server writes its audit events. The kernel notifies us of new
//! data; a check every few seconds covers lost notifications. A renamed file is read to its end
//! before the new one is opened. After a truncation, everything behind the cut is read.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek, SeekFrom};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use setpoint_core::time::Span;
use setpoint_kube::audit::Read;
use setpoint_kube::audit::event::{answered, read_event};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::audit::{Audit, Source};
use crate::cluster::Cluster;
use crate::wire::{Wire, within};

/// Reports a problem of an audit trail to people.
pub type Complaint = Arc<dyn Fn(&str) + Send + Sync>;

/// How much of the existing file is read at the start, so that changes found right after a restart
/// can be explained.
const READ_BACK: u64 = 16 << 20;
const CHUNK: usize = 1 << 20;
/// An object has at most 1.5 MB, and an event may contain it twice.
const LONGEST_LINE: usize = 8 << 20;
const LOOK_AGAIN: Span = Span::seconds(5);

impl Cluster {
    /// Follows the file. The source is registered at once: until the file is opened, nothing is
    /// complete.
    pub(crate) fn follow_audit_log(
        self: Arc<Self>,
        path: PathBuf,
        complain: Complaint,
    ) -> impl Future<Output = ()> + Send + 'static {
        let source = self.audit.as_ref().map(|audit| (Arc::clone(audit), audit.add_source()));
        async move {
            if let Some((audit, source)) = source {
                Follower::new(path, source, complain).follow(&audit, &*self.api.sender.wire).await;
            }
        }
    }
}

#[expect(unsafe_code, reason = "the runtime trusts its caller that the descriptor stays open")]
fn wait_for(events: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open and names the same description until it is dropped, which the
    // `AsyncFd` does last.
    Ok(unsafe { AsyncFd::register_with_interest(events, Interest::READABLE) }?)
}

/// A watch of the kernel on a directory.
struct Watch(AsyncFd<OwnedFd>);

impl Watch {
    fn on(folder: &Path) -> io::Result<Self> {
        let events = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let flags = WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::MOVED_FROM;
        inotify::add_watch(&events, folder, flags | WatchFlags::ONLYDIR)?;
        Ok(Self(wait_for(events)?))
    }

    /// Waits for a change in the directory.
    async fn changed(&self) {
        let Ok(mut ready) = self.0.readable().await else { return };
        let mut buffer = [MaybeUninit::uninit(); 4 << 10];
        let mut reader = inotify::Reader::new(self.0.get_ref(), &mut buffer);
        // The kind of change does not matter: the file itself is checked.
        while reader.next().is_ok() {}
        ready.clear_ready();
    }
}

/// The file, and the position up to which it was read.
struct Follower {
    path: PathBuf,
    source: Source,
    open: Option<Open>,
    /// No file was opened yet.
    first: bool,
    /// The next file follows what was read, without a gap.
    begun: bool,
    complain: Complaint,
    /// The last reported problem.
    problem: Option<String>,
    malformed: u64,
}

struct Open {
    file: File,
    identity: (u64, u64),
    position: u64,
    /// The beginning of a line whose end is not written yet.
    rest: Vec<u8>,
    /// The next bytes are the end of a line whose beginning is lost.
    skipping: bool,
    /// The instant from which on everything is known was reported to the trail.
    begun: bool,
}

impl Follower {
    fn new(path: PathBuf, source: Source, complain: Complaint) -> Self {
        Self { path, source, open: None, first: true, begun: false, complain, problem: None, malformed: 0 }
    }

    async fn follow(mut self, audit: &Audit, wire: &dyn Wire) {
        let folder = self.path.parent().map(Path::to_path_buf).unwrap_or_default();
        let mut watch = None;
        loop {
            // The watch begins before the read, so that no write in between is missed.
            watch = watch.or_else(|| Watch::on(&folder).ok());
            while self.go_on(audit) {
                // Other tasks run between two chunks.
                wire.wait(Span::ZERO).await;
            }
            match &watch {
                Some(there) => drop(within(wire, LOOK_AGAIN, there.changed()).await),
                None => wire.wait(LOOK_AGAIN).await,
            }
        }
    }

    /// Reads on. Returns whether there may be more right away.
    fn go_on(&mut self, audit: &Audit) -> bool {
        match self.try_go_on(audit) {
            Ok(more) => more,
            Err(error) => {
                (self.open, self.begun) = (None, false);
                audit.falls_silent(self.source);
                let path = self.path.display();
                let remedy = "let the agent read it, or correct `audit.logs` of the Target";
                self.tell(format!(
                    "the audit log {path} cannot be read ({error}): {remedy}; until then no writer is proven"
                ));
                false
            }
        }
    }

    fn try_go_on(&mut self, audit: &Audit) -> io::Result<bool> {
        let open = match &mut self.open {
            Some(open) => open,
            None => {
                let mut open = Open::at(&self.path, if self.first { READ_BACK } else { u64::MAX })?;
                // After a rename the new file continues the old one; after an error it may not.
                open.begun = self.begun;
                (self.first, self.problem) = (false, None);
                self.open.insert(open)
            }
        };
        let mut chunk = Vec::new();
        open.file.by_ref().take(CHUNK as u64).read_to_end(&mut chunk)?;
        if chunk.is_empty() {
            return self.at_the_end();
        }
        open.position += chunk.len() as u64;
        let read = open.feed(&chunk, |since| audit.begins(self.source, since));
        self.count(read.malformed as u64);
        audit.hear(read);
        Ok(true)
    }

    /// Handles the end of the file: checks whether the server still writes to this file.
    fn at_the_end(&mut self) -> io::Result<bool> {
        let Some(open) = &mut self.open else { return Ok(false) };
        let there = fs::metadata(&self.path)?;
        if (there.dev(), there.ino()) != open.identity {
            // The file is read to its end: the process that renamed it writes no more to it.
            let left = open.file.metadata()?.len() > open.position;
            if !left {
                self.begun = open.begun && open.rest.is_empty() && !open.skipping;
                self.open = None;
            }
            return Ok(true);
        }
        if there.len() < open.position {
            open.cut()?;
            return Ok(true);
        }
        Ok(false)
    }

    fn count(&mut self, malformed: u64) {
        let before = self.malformed;
        self.malformed += malformed;
        // Reports each time the number has grown tenfold.
        if self.malformed.checked_ilog10() > before.checked_ilog10() {
            let (count, path) = (self.malformed, self.path.display());
            let remedy = "let the API server write audit.k8s.io/v1 as JSON (--audit-log-format=json)";
            (self.complain)(&format!("{count} lines of the audit log {path} cannot be read: {remedy}"));
        }
    }

    fn tell(&mut self, problem: String) {
        if self.problem.as_ref() != Some(&problem) {
            (self.complain)(&problem);
            self.problem = Some(problem);
        }
    }
}

impl Open {
    /// Opens the file at most this many bytes before its end.
    fn at(path: &Path, back: u64) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let data = file.metadata()?;
        let position = data.len().saturating_sub(back);
        file.seek(SeekFrom::Start(position))?;
        let (identity, skipping) = ((data.dev(), data.ino()), position > 0);
        Ok(Self { file, identity, position, rest: Vec::new(), skipping, begun: false })
    }

    /// Handles a truncation: unread lines from before the cut are lost.
    fn cut(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        (self.position, self.skipping, self.begun) = (0, false, false);
        self.rest.clear();
        Ok(())
    }

    /// Takes the complete lines.
    fn feed(&mut self, chunk: &[u8], begins: impl Fn(u64)) -> Read {
        let mut read = Read::default();
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            let ends = piece.ends_with(b"\n");
            if self.skipping {
                self.skipping = !ends;
                continue;
            }
            self.rest.extend_from_slice(piece);
            if self.rest.len() > LONGEST_LINE {
                read.malformed += 1;
                (self.skipping, self.begun) = (!ends, false);
                self.rest.clear();
            } else if ends {
                let line = std::mem::take(&mut self.rest);
                self.take(&line, &begins, &mut read);
            }
        }
        read
    }

    fn take(&mut self, line: &[u8], begins: impl Fn(u64), read: &mut Read) {
        if line.trim_ascii().is_empty() {
            return;
        }
        if !self.begun
            && let Some(since) = answered(line)
        {
            begins(since);
            self.begun = true;
        }
        match read_event(line) {
            Ok(event) => read.events.extend(event),
            Err(_) => {
                // The unreadable line may have been the one event that matters.
                self.begun = false;
                read.malformed += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::sync::Mutex;

    use setpoint_core::digest::DigestKey;
    use setpoint_kube::audit::Signature;
    use setpoint_kube::audit::event::micros;

    use super::*;

    struct Scene {
        _folder: tempfile::TempDir,
        path: PathBuf,
        follower: Follower,
        audit: Audit,
        told: Arc<Mutex<Vec<String>>>,
    }

    impl Scene {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("audit.log");
            let told = Arc::new(Mutex::new(Vec::new()));
            let heard = Arc::clone(&told);
            let complain: Complaint = Arc::new(move |problem| heard.lock().unwrap().push(problem.to_owned()));
            let audit = Audit::new(Signature::derived(&DigestKey::new([1; 32])), Span::ZERO);
            let follower = Follower::new(path.clone(), audit.add_source(), complain);
            Self { _folder: folder, path, follower, audit, told }
        }

        fn write(&self, text: &str) {
            let mut file = File::options().append(true).create(true).open(&self.path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }

        /// Reads everything. Returns the number of known events and of unreadable lines.
        fn read(&mut self) -> (u64, u64) {
            while self.follower.go_on(&self.audit) {}
            let trail = self.audit.trail();
            (trail.events, trail.malformed)
        }
    }

    fn line(id: &str) -> String {
        format!(
            r#"{{"apiVersion":"audit.k8s.io/v1","auditID":"{id}","stage":"ResponseComplete","verb":"patch","requestURI":"/x","user":{{"username":"jane"}},"objectRef":{{"resource":"configmaps","name":"a"}},"responseStatus":{{"code":200}},"requestReceivedTimestamp":"2026-11-16T10:00:01.1Z","stageTimestamp":"2026-11-16T10:00:01.2Z"}}"#
        ) + "\n"
    }

    #[test]
    fn lines_count_once_they_are_whole() {
        let mut scene = Scene::new();
        let second = line("2");
        scene.write(&line("1"));
        scene.write(&second[..40]);
        assert_eq!(scene.read(), (1, 0));
        scene.write(&second[40..]);
        assert_eq!(scene.read(), (2, 0));
        assert_eq!(scene.read(), (2, 0));
    }

    #[test]
    fn a_file_that_is_renamed_is_read_to_its_end_and_then_the_new_one() {
        let mut scene = Scene::new();
        scene.write(&line("1"));
        assert_eq!(scene.read(), (1, 0));
        scene.write(&line("2"));
        fs::rename(&scene.path, scene.path.with_extension("old")).unwrap();
        scene.write(&line("3"));
        assert_eq!(scene.read(), (3, 0));
        scene.write(&line("4"));
        assert_eq!(scene.read(), (4, 0));
    }

    #[test]
    fn a_file_that_is_cut_is_read_from_its_new_beginning() {
        let mut scene = Scene::new();
        scene.write(&(line("1") + &line("2") + "{\"half"));
        assert_eq!(scene.read(), (2, 0));
        File::create(&scene.path).unwrap();
        scene.write(&line("3"));
        assert_eq!(scene.read(), (3, 0));
    }

    #[test]
    fn a_file_that_is_not_there_is_told_once_and_read_when_it_comes() {
        let mut scene = Scene::new();
        assert_eq!((scene.read(), scene.read()), ((0, 0), (0, 0)));
        assert_eq!(scene.told.lock().unwrap().len(), 1);
        assert!(scene.told.lock().unwrap()[0].contains("correct `audit.logs` of the Target"));
        scene.write(&line("1"));
        assert_eq!(scene.read(), (1, 0));
    }

    #[test]
    fn lines_that_cannot_be_read_are_counted_and_told_ever_more_rarely() {
        let mut scene = Scene::new();
        scene.write(&("nonsense\n".repeat(12) + &line("1")));
        assert_eq!(scene.read(), (1, 12));
        scene.write(&"nonsense\n".repeat(9));
        assert_eq!(scene.read(), (1, 21));
        assert_eq!(scene.told.lock().unwrap().len(), 1);
    }

    #[test]
    fn a_line_without_an_end_does_not_fill_the_memory() {
        let mut scene = Scene::new();
        scene.write(&"x".repeat(LONGEST_LINE + CHUNK));
        assert_eq!(scene.read(), (0, 1));
        assert!(scene.follower.open.as_ref().unwrap().rest.capacity() <= 2 * LONGEST_LINE);
        scene.write(&("\n".to_owned() + &line("1")));
        assert_eq!(scene.read(), (1, 1));
    }

    #[test]
    fn after_a_line_that_cannot_be_read_nothing_is_complete_before_the_next() {
        let mut scene = Scene::new();
        let at = |second: &str| line(second).replace("10:00:01.2Z", &format!("10:00:{second}Z"));
        let begins = |second: &str| micros(&format!("2026-11-16T10:00:{second}Z")).unwrap();
        scene.write(&(at("02") + &at("03")));
        scene.read();
        assert_eq!(scene.audit.complete_from(), begins("02"));
        scene.write("nonsense\n");
        scene.read();
        fs::rename(&scene.path, scene.path.with_extension("old")).unwrap();
        scene.write(&(at("04") + &at("05")));
        scene.read();
        assert_eq!(scene.audit.complete_from(), begins("04"), "not even over a rename");
        fs::remove_file(&scene.path).unwrap();
        scene.read();
        assert_eq!(scene.audit.complete_from(), u64::MAX, "while there is no file, nothing is complete");
    }

    #[test]
    fn not_more_is_read_back_than_explains_the_last_while() {
        let mut scene = Scene::new();
        let read = "{\"verb\":\"get\"}\n";
        scene.write(&line("1"));
        scene.write(&read.repeat(READ_BACK as usize / read.len() + 1));
        scene.write(&line("2"));
        assert_eq!(scene.read(), (1, 0));
    }
}
