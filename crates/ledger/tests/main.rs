//! Tests that the in-memory ledger passes the suite, and that it behaves as the simulator needs.

use std::cell::RefCell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use setpoint_core::name::{Actor, Scope};
use setpoint_core::time::{Span, Timestamp};
use setpoint_ledger::checkpoint::Signer;
use setpoint_ledger::conformance::{CASES, Harness};
use setpoint_ledger::memory::Anchors;
use setpoint_ledger::{Batch, Class, Entry, Kind, LeaseRequest, Ledger, MemoryLedger, MemoryLog, Origin};

struct InMemory {
    ledger: MemoryLedger,
    copy: RefCell<Option<MemoryLog>>,
    anchors: RefCell<Anchors>,
}

impl InMemory {
    fn new() -> Self {
        let signer = Signer::new(Origin::new("test").expect("a valid origin"), &[7; 32]);
        let ledger = MemoryLedger::new(MemoryLog::new(signer));
        Self { ledger, copy: RefCell::default(), anchors: RefCell::default() }
    }
}

impl Harness for InMemory {
    fn open(&self) -> Pin<Box<dyn Future<Output = Box<dyn Ledger>> + '_>> {
        let restored = self.anchors.take();
        let mut log = self.ledger.log();
        let anchors = if restored.is_empty() { log.anchors().clone() } else { restored };
        log.reopen(&anchors);
        drop(log);
        Box::pin(std::future::ready(Box::new(self.ledger.clone()) as Box<dyn Ledger>))
    }

    fn back_up(&self) {
        self.copy.replace(Some(self.ledger.log().clone()));
    }

    fn restore(&self) {
        let mut log = self.ledger.log();
        self.anchors.replace(log.anchors().clone());
        *log = self.copy.take().expect("a copy was made");
    }
}

/// Polls a future once: everything in memory must be ready at once.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the in-memory ledger waited for something"),
    }
}

#[test]
fn the_ledger_in_memory_conforms() {
    for case in CASES {
        println!("{}", case.name);
        at_once((case.run)(&InMemory::new()));
    }
}

#[test]
fn after_its_disk_broke_a_log_is_read_but_not_written_until_it_is_opened_again() {
    let signer = Signer::new(Origin::new("test").expect("a valid origin"), &[7; 32]);
    let mut log = MemoryLog::new(signer);
    let origin = Origin::new("a").expect("a valid origin");
    let request = LeaseRequest {
        origin: origin.clone(),
        holder: "test".to_owned(),
        now: Timestamp::default(),
        length: Span::seconds(30),
    };
    let lease = log.acquire(&request).expect("the lease is free");
    let actor = Actor::new("test").expect("a valid actor");
    let entry = Entry::new(Kind::Plan, Scope::default_scope(), "plan", actor, Timestamp::default());
    let batch = Batch::new(&lease, Timestamp::default(), vec![entry]);
    log.append(batch.clone()).expect("appended");
    log.break_disk();
    assert_eq!(log.append(batch.clone()).expect_err("the disk is broken").class(), Class::NotDurable);
    assert_eq!(log.records(&origin, 0..1).expect("reading works").len(), 1);
    log.reopen(&log.anchors().clone());
    assert_eq!(log.append(batch).expect("it is written again").seqs, 1..2);
}
