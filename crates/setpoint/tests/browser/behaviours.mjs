// The controls of the pages, operated as people do: each has an effect.

import { keys } from "./keys.mjs";
import { live } from "./live.mjs";
import { orders } from "./orders.mjs";
import { search } from "./search.mjs";

export async function behaviours(suite, page) {
  await page.setViewportSize({ width: 1280, height: 800 });
  for (const run of [keys, search, live, orders]) {
    await run(suite, page);
    suite.watch.settle(run.name);
  }
}
