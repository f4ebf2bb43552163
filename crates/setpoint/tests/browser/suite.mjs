// The web pages in a browser. It is started by tests/running/browsing.rs, which names the agent and
// the paths in the environment.

import fs from "node:fs";
import { createRequire } from "node:module";
import { access } from "./access.mjs";
import { behaviours } from "./behaviours.mjs";
import { doors, leave, setUp } from "./doors.mjs";
import { pages } from "./pages.mjs";
import { finish, report } from "./report.mjs";
import { Watch } from "./watch.mjs";

const { NODE_PACKAGES, CHROMIUM, ORIGIN, SET_UP, MANAGED, PICTURES } = process.env;
const load = createRequire(`${NODE_PACKAGES}/`);
const { chromium } = load("playwright-core");

async function main() {
  const axe = fs.readFileSync(load.resolve("axe-core/axe.min.js"), "utf8");
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  const context = await browser.newContext({ reducedMotion: "reduce" });
  context.setDefaultTimeout(60_000);
  const watch = new Watch(context, ORIGIN);
  const suite = { browser, context, watch, axe, origin: ORIGIN, managed: MANAGED, pictures: PICTURES, links: new Map() };
  const page = await context.newPage();
  await theWatchComplains(suite, page);
  await setUp(suite, page, SET_UP);
  const left = await leave(suite);
  await access(suite, page);
  await pages(suite, page);
  await behaviours(suite, page);
  await doors(suite);
  await left();
  await browser.close();
  finish();
}

// A watch that sees nothing would find every page good.
async function theWatchComplains(suite, page) {
  await page.goto(`${suite.origin}/sign-in`);
  await page.evaluate(() => {
    const image = document.createElement("img");
    image.src = "http://other.invalid/x.png";
    document.body.append(image);
    const style = document.createElement("style");
    style.textContent = "body { color: red }";
    document.head.append(style);
    console.error("a mistake");
  });
  await page.goto(`${suite.origin}/sign-in`);
  const all = suite.watch.complaints.splice(0).join("\n");
  for (const part of ["style", "other.invalid", "a mistake"]) {
    report("sign-in", `the suite notices a complaint about ${part}`, all.includes(part) ? null : `not in ${all}`);
  }
}

await main();
