//! The agent as a whole: real repositories, a real socket, real files and, where it matters, a
//! process of its own.
//!
//! | file | what it shows |
//! | --- | --- |
//! | [`lab`] | what the others act on |
//! | [`adopting`] | what other tools made, taken over on a Kubernetes cluster |
//! | [`anchoring`] | a ledger that is held against its anchor: restored copies, lost folders, an anchor that cannot be written |
//! | [`applying`] | the agent as a process: exit codes, and the end when told to |
//! | [`auditing`] | who changed what, by a cluster's audit trail |
//! | [`bounding`] | where apps may write: within their scope, never what Setpoint runs from |
//! | [`cluster`] | all of it on a Kubernetes cluster |
//! | [`cluster_failures`] | failures that users of other engines report, on such a cluster |
//! | [`cluster_faults`] | a cluster that answers badly, while it is changed and while it is watched |
//! | [`deadlines`] | what does not become healthy on a cluster: rolled back, held or told, and who waits for it |
//! | [`elsewhere`] | apps that another program renders |
//! | [`explaining`] | who set what of a resource that an app declares |
//! | [`failing`] | stores that are down or hang, and who hears of it |
//! | [`following`] | from a commit to the machine: https, ssh, a local path |
//! | [`filling`] | a disk that takes nothing more under a running agent |
//! | [`forgetting`] | what may be lost, what a lost data folder costs, and what is to be forgotten |
//! | [`healing`] | what others change is put right and recorded |
//! | [`inside`] | an agent that runs in the cluster it holds |
//! | [`judging`] | what is not followed: invalid documents, rewritten histories |
//! | [`killing`] | an agent that is killed in the middle of changes, again and again |
//! | [`neighbours`] | others that go on writing to a cluster while the agent does: an autoscaler, an operator, a controller that rewrites |
//! | [`observing`] | what is only observed on a cluster: told, never written |
//! | [`obeying`] | what people decide: suspensions, manual and observe mode |
//! | [`ordering`] | what comes before what on a cluster |
//! | [`pinning`] | stores that stay at a tag or a commit |
//! | [`pruning`] | what is no longer declared goes last, late and within a budget |
//! | [`recalling`] | renders that are remembered, and what may not follow from them |
//! | [`removing`] | a data folder or a ledger that vanishes, under an agent or between two, and two agents that begin at once |
//! | [`replacing`] | what cannot be changed is made anew, or stays, on a cluster |
//! | [`shadowing`] | apps whose versions another program renders, too |
//! | [`showing`] | what people are shown of a cluster: trees, logs, reasons, requests |
//! | [`sparing`] | what a commit costs |
//! | [`unprivileged`] | all of it, by an agent without rights |

mod adopting;
mod anchoring;
mod applying;
mod auditing;
mod bounding;
mod cluster;
mod cluster_failures;
mod cluster_faults;
mod deadlines;
mod elsewhere;
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
mod neighbours;
mod obeying;
mod observing;
mod ordering;
mod pinning;
mod pruning;
mod recalling;
mod removing;
mod replacing;
mod shadowing;
mod showing;
mod sparing;
mod unprivileged;
