// The report of the suite: one JSON line for each check, which the Rust test reads.

let count = 0;

// Reports a check of a page. Without a problem it holds.
export function report(page, check, problem = null) {
  count += 1;
  console.log(JSON.stringify({ page, check, problem }));
}

// Runs a check that throws if it does not hold.
export async function check(page, name, run) {
  try {
    await run();
    report(page, name);
  } catch (error) {
    report(page, name, String(error.message ?? error));
  }
}

export function expect(condition, problem) {
  if (!condition) throw new Error(problem);
}

export function finish() {
  console.log(JSON.stringify({ done: count }));
}
