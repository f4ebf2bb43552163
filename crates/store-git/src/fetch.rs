//! One conversation with a server: it reads the head of the branch or tag, and fetches missing
//! objects.
//!
//! It uses gix's protocol and not its remotes, because a pack must be weighed after its arrival and
//! before its unpacking, and because no configuration may have an effect.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::num::NonZeroU32;
use std::path::Path;

use gix::odb::pack::Bundle;
use gix::odb::pack::bundle::write;
use gix::progress::Discard;
use gix::protocol::fetch::refmap::{Mapping, Source};
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

/// The input of one poll.
pub(crate) struct Poll<'a> {
    pub(crate) reference: &'a Reference,
    pub(crate) shallow: bool,
    pub(crate) limits: &'a GitLimits,
    pub(crate) pace: &'a Pace,
    /// Opens a conversation with the server.
    pub(crate) connect: &'a dyn Fn() -> Result<Box<dyn Transport + Send>, StoreError>,
}

impl Poll<'_> {
    /// Returns the reason for a failure: the transport's if it has one, otherwise gix's.
    fn blame(&self, error: &gix::Error) -> StoreError {
        let interrupted = || self.pace.go_on().err();
        self.pace.verdict().or_else(interrupted).unwrap_or_else(|| of_fetch(error))
    }
}

/// The result of a poll.
pub(crate) enum Followed {
    /// The head has not moved. Like a fetched head it is a commit, even for a tag.
    Here(gix::ObjectId),
    Fetched(gix::ObjectId),
    /// The head moved, but this copy has too many packs and must be replaced.
    TooManyPacks,
}

type Conversation = SendFlushOnDrop<Box<dyn Transport + Send>>;

/// Reads the head, and fetches the missing objects if it moved and there is room. `known` is the
/// local target of the branch or tag.
pub(crate) fn fetch(
    repository: &Repository,
    poll: &Poll<'_>,
    known: Option<gix::ObjectId>,
    has_room: bool,
) -> Result<Followed, StoreError> {
    let mut server = SendFlushOnDrop::new((poll.connect)()?, false);
    let name = poll.reference.full_name();
    let spec = format!("+{name}:{name}");
    let (mut handshake, references) = look(&mut server, &spec, true).map_err(|error| poll.blame(&error))?;
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
    // The server's statement about a tag's target is not used: the objects themselves show it.
    let head = if repository.has(offered) { Some(repository.commit_behind(offered, poll.reference)?) } else { None };
    let Some(head) = head.filter(|head| repository.holds(*head)) else {
        return Err(StoreError::damaged(format!("the server did not send version {offered}, which it offers")));
    };
    let pointed = repo.reference(name.as_str(), offered, PreviousValue::Any, "fetch");
    pointed.map_err(|error| of_fetch(&error))?;
    if let Some(kept) = kept {
        // The file guards a new pack until a branch or tag points into it. A file that remains does
        // no harm: nothing collects our copy.
        let _ = fs::remove_file(kept);
    }
    Ok(Followed::Fetched(head))
}

fn agent() -> (&'static str, Option<String>) {
    ("agent", Some(concat!("git/setpoint-", env!("CARGO_PKG_VERSION")).to_owned()))
}

/// The most branches whose history is fetched to find one commit in it.
const MOST_BRANCHES: usize = 200;

/// Finds commits by a prefix of their id among the server's references, and fetches them: the
/// newest commit of any reference, or else any commit of a branch. Moves no local reference.
pub(crate) fn fetch_named(
    repository: &Repository,
    poll: &Poll<'_>,
    name: &str,
) -> Result<BTreeSet<gix::ObjectId>, StoreError> {
    let mut server = SendFlushOnDrop::new((poll.connect)()?, false);
    // Unfiltered: gix would request names that begin with `refs/*`, and there are none.
    let offered = look(&mut server, "+refs/*:refs/offered/*", false);
    let (mut handshake, mut references) = offered.map_err(|error| poll.blame(&error))?;
    let is_named = |mapping: &Mapping| commits_of(mapping).any(|id| id.to_string().starts_with(name));
    if references.mappings.iter().any(is_named) {
        references.mappings.retain(is_named);
    } else {
        references.mappings.retain(is_branch);
        refuse_many_branches(references.mappings.len(), name)?;
    }
    let tips: BTreeSet<_> = references.mappings.iter().filter_map(|mapping| commits_of(mapping).last()).collect();
    if tips.is_empty() {
        return Ok(BTreeSet::new());
    }
    if let Some(kept) = receive(repository, &mut server, &mut handshake, &references, poll)? {
        let _ = fs::remove_file(kept);
    }
    // The new pack may not be open in this handle.
    let repository = repository.again(poll.limits)?;
    if let Some(missing) = tips.iter().find(|tip| !repository.has(**tip)) {
        return Err(StoreError::damaged(format!("the server did not send version {missing}, which it offers")));
    }
    repository.find_behind(tips, name, poll.limits.history)
}

/// Returns the object of a reference, and the target of the tag that it is.
fn commits_of(mapping: &Mapping) -> impl Iterator<Item = gix::ObjectId> + use<> {
    let (own, end) = match &mapping.remote {
        Source::ObjectId(id) => (Some(*id), None),
        Source::Ref(reference) => {
            let (_, own, end) = reference.unpack();
            (own.map(ToOwned::to_owned), end.map(ToOwned::to_owned))
        }
    };
    own.into_iter().chain(end)
}

fn is_branch(mapping: &Mapping) -> bool {
    matches!(&mapping.remote, Source::Ref(reference) if reference.unpack().0.starts_with(b"refs/heads/"))
}

fn refuse_many_branches(branches: usize, name: &str) -> Result<(), StoreError> {
    if branches <= MOST_BRANCHES {
        return Ok(());
    }
    let what =
        format!("no branch or other reference leads to `{name}`, and {branches} branches are too many to search");
    Err(StoreError::refused(what, "name the newest commit of a branch or of another reference"))
}

/// Greets the server and requests the references of a specification. With `filtered`, the server
/// omits the others.
fn look(server: &mut Conversation, spec: &str, filtered: bool) -> gix::Result<(Handshake, RefMap)> {
    let nobody_to_ask = |_| Ok(None);
    let mut handshake =
        gix::protocol::handshake(&mut server.inner, Service::UploadPack, nobody_to_ask, Vec::new(), &mut Discard)?;
    let spec = gix::refspec::parse(spec.into(), gix::refspec::parse::Operation::Fetch)?.to_owned();
    let context = fetch::refmap::init::Context { fetch_refspecs: vec![spec], extra_refspecs: Vec::new() };
    let asked = handshake.prepare_lsrefs_or_extract_refmap(agent(), filtered, context)?;
    let references = asked.fetch_blocking(Discard, &mut server.inner, false)?;
    Ok((handshake, references))
}

/// Receives the missing objects. Returns the file that guards the new pack, if there is one.
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
        // The shallow boundary of a server would cut our history off.
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
    // A file that cannot be removed is overwritten by the next poll.
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
    StoreError::damaged(format!("{} cannot be used: {error}; check permissions and free space", file.display()))
}

/// Negotiates the missing objects, in gix's terms.
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
