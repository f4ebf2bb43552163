//! The in-memory ledger passes the suite, and does what the simulator needs of it.

use std::cell::RefCell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use setpoint_ledger::checkpoint::Signer;
use setpoint_ledger::conformance::{CASES, Harness};
use setpoint_ledger::memory::Anchors;
use setpoint_ledger::{Ledger, MemoryLedger, MemoryLog, Origin};

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

/// Everything in memory answers at once: one poll must be enough.
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
