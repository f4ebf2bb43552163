// Prints the median time in milliseconds from the request for a page until Chromium shows its first
// content.

import { createRequire } from "node:module";

const { NODE_PACKAGES, CHROMIUM, ADDRESS, COOKIE } = process.env;
const { chromium } = createRequire(`${NODE_PACKAGES}/`)("playwright-core");

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
const times = [];
for (let turn = 0; turn < 5; turn += 1) {
  // A context without a cache: the page loads its style, too.
  const context = await browser.newContext({ extraHTTPHeaders: { cookie: COOKIE } });
  const page = await context.newPage();
  await page.goto(ADDRESS, { waitUntil: "load" });
  await page.locator("main h1").waitFor();
  const time = await page.evaluate(() => new Promise((resolve) => {
    new PerformanceObserver((list) => {
      for (const entry of list.getEntriesByName("first-contentful-paint")) resolve(entry.startTime);
    }).observe({ type: "paint", buffered: true });
  }));
  times.push(time);
  await context.close();
}
await browser.close();
times.sort((a, b) => a - b);
console.log(times[2].toFixed(1));
