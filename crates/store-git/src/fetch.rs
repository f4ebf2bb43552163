//! One conversation with a server: where the branch or tag is, and what is missing here of it.
//!
//! Built on gix's protocol and not on its remotes, because a pack has to be weighed between its arrival and its unpacking,
//! and because nothing of a configuration may take part.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::num::NonZeroU32;
use std::path::Path;

use gix::odb::pack::Bundle;
use gix::odb::pack::bundle::write;
use gix::progress::Discard;
use gix::protocol::fetch::{self, Arguments, Negotiate, RefMap, Response, Shallow, Tags, negotiate};
use gix::protocol::{Handshake, SendFlushOnDrop};
use gix::refs::transaction::PreviousValue;
use gix_transport::Service;
use gix_transport::client::blocking_io::Transport;
use setpoint_store::StoreError;

use crate::failure::of_fetch;
use crate::options::GitLimits;
use crate::pace::Pace;
use crate::reference::Reference;
use crate::repository::Repository;
use crate::weigh::weigh;

/// What one poll needs.
pub(crate) struct Poll<'a> {
    pub(crate) reference: &'a Reference,
    pub(crate) shallow: bool,
    pub(crate) limits: &'a GitLimits,
    pub(crate) pace: &'a Pace,
    /// Opens a conversation with the server.
    pub(crate) connect: &'a dyn Fn() -> Result<Box<dyn Transport + Send>, StoreError>,
}

impl Poll<'_> {
    /// Why it failed: as the transport saw it, or else as gix did.
    fn blame(&self, error: &gix::Error) -> StoreError {
        let interrupted = || self.pace.go_on().err();
        self.pace.verdict().or_else(interrupted).unwrap_or_else(|| of_fetch(error))
    }
}

/// How a poll went.
pub(crate) enum Followed {
    /// The head is where it was. Like the one of what was fetched it is a commit, also where a tag is followed.
    Here(gix::ObjectId),
    Fetched(gix::ObjectId),
    /// The head moved, but this copy is to be replaced.
    TooManyPacks,
}

type Conversation = SendFlushOnDrop<Box<dyn Transport + Send>>;

/// Asks for the head, and fetches what it needs if it moved and there is room. `known` is what the branch or tag points to here.
pub(crate) fn fetch(
    repository: &Repository,
    poll: &Poll<'_>,
    known: Option<gix::ObjectId>,
    has_room: bool,
) -> Result<Followed, StoreError> {
    let mut server = SendFlushOnDrop::new((poll.connect)()?, false);
    let (mut handshake, references) = look(&mut server, poll).map_err(|error| poll.blame(&error))?;
    let name = poll.reference.full_name();
    let offered = references.remote_refs.iter().find_map(|offered| {
        let (found, id, _) = offered.unpack();
        if found == name.as_str() { id.map(ToOwned::to_owned) } else { None }
    });
    let offered = offered.ok_or_else(|| poll.reference.vanished())?;
    if known == Some(offered) {
        return Ok(Followed::Here(repository.commit_behind(offered, poll.reference)?));
    }
    if !has_room {
        return Ok(Followed::TooManyPacks);
    }
    let kept = receive(repository, &mut server, &mut handshake, &references, poll)?;
    let repo = repository.handle();
    // What the server says of where a tag leads is not asked for: the objects say it.
    let head = if repository.has(offered) { Some(repository.commit_behind(offered, poll.reference)?) } else { None };
    let Some(head) = head.filter(|head| repository.holds(*head)) else {
        return Err(StoreError::damaged(format!("the server did not send version {offered}, which it offers")));
    };
    let pointed = repo.reference(name.as_str(), offered, PreviousValue::Any, "fetch");
    pointed.map_err(|error| of_fetch(&error))?;
    if let Some(kept) = kept {
        // It guards a new pack until a branch or tag points into it. One that stays does no harm: nothing collects our copy.
        let _ = fs::remove_file(kept);
    }
    Ok(Followed::Fetched(head))
}

fn agent() -> (&'static str, Option<String>) {
    ("agent", Some(concat!("git/setpoint-", env!("CARGO_PKG_VERSION")).to_owned()))
}

/// Greets the server and asks for the one branch or tag.
fn look(server: &mut Conversation, poll: &Poll<'_>) -> gix::Result<(Handshake, RefMap)> {
    let nobody_to_ask = |_| Ok(None);
    let mut handshake =
        gix::protocol::handshake(&mut server.inner, Service::UploadPack, nobody_to_ask, Vec::new(), &mut Discard)?;
    let name = poll.reference.full_name();
    let spec = format!("+{name}:{name}");
    let spec = gix::refspec::parse(spec.as_str().into(), gix::refspec::parse::Operation::Fetch)?.to_owned();
    let context = fetch::refmap::init::Context { fetch_refspecs: vec![spec], extra_refspecs: Vec::new() };
    let asked = handshake.prepare_lsrefs_or_extract_refmap(agent(), true, context)?;
    let references = asked.fetch_blocking(Discard, &mut server.inner, false)?;
    Ok((handshake, references))
}

/// Receives what is missing here; the file that guards the new pack, if there is one.
fn receive(
    repository: &Repository,
    server: &mut Conversation,
    handshake: &mut Handshake,
    references: &RefMap,
    poll: &Poll<'_>,
) -> Result<Option<std::path::PathBuf>, StoreError> {
    let repo = repository.handle();
    let shallow = if poll.shallow { Shallow::DepthAtRemote(NonZeroU32::MIN) } else { Shallow::NoChange };
    let mut negotiation = Negotiation {
        repo: &repo,
        graph: repo.revision_graph(None),
        negotiator: gix::negotiate::Algorithm::Consecutive.into_negotiator(),
        references,
        shallow: &shallow,
    };
    let options = fetch::Options {
        shallow_file: repo.shallow_file().map_err(|error| of_fetch(&error))?,
        shallow: &shallow,
        tags: Tags::None,
        // A shallow server would make our history end where it likes.
        reject_shallow_remote: !poll.shallow,
    };
    let context =
        fetch::Context { handshake, transport: &mut server.inner, user_agent: agent(), trace_packetlines: false };
    let mut kept = None;
    let received = gix::protocol::fetch(
        &mut negotiation,
        |pack, _, _| {
            kept = unpack(pack, &repo, poll).map_err(|error| gix::Error::from_error(poll.pace.end(error)))?;
            Ok(true)
        },
        Discard,
        poll.pace.interrupt(),
        context,
        options,
    );
    received.map_err(|error| poll.blame(&error))?;
    Ok(kept)
}

/// Writes a pack to disk as it arrives, weighs it, and only then lets gix resolve it.
fn unpack(
    pack: &mut dyn BufRead,
    repo: &gix::Repository,
    poll: &Poll<'_>,
) -> Result<Option<std::path::PathBuf>, StoreError> {
    let folder = repo.objects.store_ref().path().join("pack");
    let arrived = repo.path().join("arriving.pack");
    let unpacked = spool(pack, &arrived, poll).and_then(|()| {
        let open = || File::open(&arrived).map(BufReader::new).map_err(|error| disk(&arrived, &error));
        weigh(open()?, poll.limits, poll.pace)?;
        let options = write::Options {
            thread_limit: Some(1),
            alloc_limit_bytes: usize::try_from(poll.limits.object_bytes).ok(),
            ..write::Options::default()
        };
        let (base, hash, interrupt) = (Some(repo.objects.clone()), repo.object_hash(), poll.pace.interrupt());
        Bundle::write_to_directory(&mut open()?, Some(&folder), &mut Discard, interrupt, base, hash, options)
            .map_err(|error| poll.blame(&error))
    });
    // The next poll overwrites what cannot be removed.
    let _ = fs::remove_file(&arrived);
    Ok(unpacked?.keep_path)
}

fn spool(pack: &mut dyn BufRead, file: &Path, poll: &Poll<'_>) -> Result<(), StoreError> {
    let mut out = File::create(file).map_err(|error| disk(file, &error))?;
    loop {
        let bytes = pack.fill_buf().map_err(|error| {
            let lost = || StoreError::unreachable(format!("the pack ended before it was complete: {error}"));
            poll.pace.verdict().unwrap_or_else(lost)
        })?;
        if bytes.is_empty() {
            return Ok(());
        }
        let length = bytes.len();
        out.write_all(bytes).map_err(|error| disk(file, &error))?;
        pack.consume(length);
    }
}

fn disk(file: &Path, error: &std::io::Error) -> StoreError {
    StoreError::damaged(format!("{} cannot be used: {error}; check rights and space", file.display()))
}

/// What we have and want, in gix's terms.
struct Negotiation<'a> {
    repo: &'a gix::Repository,
    graph: gix::negotiate::Graph<'a, 'a>,
    negotiator: Box<dyn gix::negotiate::Negotiator>,
    references: &'a RefMap,
    shallow: &'a Shallow,
}

impl Negotiate for Negotiation<'_> {
    fn mark_complete_and_common_ref(&mut self) -> gix::Result<negotiate::Action> {
        let no_alternates = || Ok(std::iter::empty::<(gix::refs::file::Store, gix::OdbHandle)>());
        negotiate::mark_complete_and_common_ref(
            &self.repo.objects,
            &self.repo.refs,
            no_alternates,
            &mut *self.negotiator,
            &mut self.graph,
            self.references,
            self.shallow,
            negotiate::make_refmapping_ignore_predicate(Tags::None, self.references),
        )
    }

    fn add_wants(&mut self, arguments: &mut Arguments, known: &[bool]) -> bool {
        let ignored = negotiate::make_refmapping_ignore_predicate(Tags::None, self.references);
        negotiate::add_wants(&self.repo.objects, arguments, self.references, known, self.shallow, ignored)
    }

    fn one_round(
        &mut self,
        state: &mut negotiate::one_round::State,
        arguments: &mut Arguments,
        previous: Option<&Response>,
    ) -> gix::Result<(negotiate::Round, bool)> {
        negotiate::one_round(&mut *self.negotiator, &mut self.graph, state, arguments, previous)
    }
}
