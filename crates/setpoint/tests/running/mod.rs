//! The agent as a whole: real repositories, a real socket, real files and, where it matters, a
//! process of its own.
//!
//! - [`lab`]: the environment of the other modules.
//! - [`adopting`]: adopting objects of other tools on a Kubernetes cluster.
//! - [`anchoring`]: the anchor of a ledger: restored copies, lost directories, an anchor that
//!   cannot be written.
//! - [`applying`]: the agent as a process: exit codes, and stopping it.
//! - [`auditing`]: attribution of changes by a cluster's audit trail.
//! - [`bounding`]: the boundaries of apps: their scope, and the files of Setpoint itself.
//! - [`browsing`]: the web pages in a real browser.
//! - [`cluster`]: the main features on a Kubernetes cluster.
//! - [`cluster_failures`]: failures that users of other engines report, on such a cluster.
//! - [`cluster_faults`]: a cluster with faulty responses, during changes and watches.
//! - [`comparing`]: live objects against their declarations, as a patch.
//! - [`deadlines`]: objects that do not become healthy on a cluster: rolled back, held or reported,
//!   and the apps that wait for them.
//! - [`elsewhere`]: apps that an external program renders.
//! - [`examples`]: the examples of the repository, started as their READMEs describe.
//! - [`explaining`]: the origin of the fields of a resource that an app declares.
//! - [`failing`]: stores that are down or hang, and the notifications about them.
//! - [`following`]: from a commit to the machine: https, ssh, a local path.
//! - [`filling`]: a disk that fills up under a running agent.
//! - [`forgetting`]: lost caches, a lost data directory, and erased records.
//! - [`healing`]: changes by others are corrected and recorded.
//! - [`inside`]: an agent inside of the cluster that it manages.
//! - [`judging`]: versions that are not followed: invalid documents, rewritten histories.
//! - [`killing`]: an agent that is killed in the middle of changes, again and again.
//! - [`logging`]: the log: changes and failures with their causes, one line each.
//! - [`neighbours`]: others that write to a cluster at the same time: an autoscaler, an operator, a
//!   controller that rewrites.
//! - [`observing`]: apps that are only observed on a cluster: reported, never written.
//! - [`obeying`]: decisions of people: suspensions, manual and observe mode.
//! - [`ordering`]: the order of changes on a cluster.
//! - [`permitting`]: callers with restricted rights, at every method of the API.
//! - [`pinning`]: stores that are pinned to a tag or a commit.
//! - [`pruning`]: objects that are no longer declared are deleted last, late and within a budget.
//! - [`reasons`]: the reasons that commands give for changes that are not made.
//! - [`recalling`]: cached renders, and the decisions they must not cause.
//! - [`recounting`]: the history, diffs of texts, and the names of targets and apps.
//! - [`reloading`]: a bootstrap document that changes under a running agent.
//! - [`removing`]: a data directory or a ledger that is removed, under an agent or between two
//!   runs, and two agents that start at once.
//! - [`replacing`]: changes of immutable fields on a cluster: the object is recreated, or stays.
//! - [`serving`]: the pages and the API over HTTP, for people, programs and attackers.
//! - [`shadowing`]: apps whose versions another program renders too.
//! - [`showing`]: the views of a cluster for people: trees, logs, reasons, requests.
//! - [`sparing`]: the cost of a commit.
//! - [`unprivileged`]: all of these as an agent without root.
//! - [`watching`]: commands that show a state again when it changes.

mod adopting;
mod anchoring;
mod applying;
mod auditing;
mod bounding;
mod browsing;
mod cluster;
mod cluster_failures;
mod cluster_faults;
mod comparing;
mod deadlines;
mod elsewhere;
mod examples;
mod explaining;
mod failing;
mod filling;
mod following;
mod forgetting;
mod healing;
mod inside;
mod judging;
mod killing;
mod lab;
mod logging;
mod neighbours;
mod obeying;
mod observing;
mod ordering;
mod permitting;
mod pinning;
mod pruning;
mod reasons;
mod recalling;
mod recounting;
mod reloading;
mod removing;
mod replacing;
mod serving;
mod shadowing;
mod showing;
mod sparing;
mod unprivileged;
mod watching;
