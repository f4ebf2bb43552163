// Keys, and the visibility of the focus.

import { check, expect } from "./report.mjs";

const SECTIONS = { a: "/apps", c: "/changes", d: "/drift", s: "/stores", t: "/targets", u: "/audit", p: "/access" };

const ROWS = "[data-rows] tbody tr, ol[data-rows] > .entry, div[data-rows] > article";

const rows = (page) => page.locator(ROWS).count();
const focused = (page) => page.evaluate(() => document.activeElement.id);
const selected = (page) =>
  page.locator(ROWS).evaluateAll((rows) => rows.flatMap((row, at) => (row.classList.contains("selected") ? [at] : [])).join());

export async function keys(suite, page) {
  const open = (path) => page.goto(suite.origin + path);
  for (const [key, path] of Object.entries(SECTIONS)) {
    await check(path, `g and ${key} open it`, async () => {
      await open(path === "/stores" ? "/targets" : "/stores");
      // The two keys belong together for a short time only, which a busy machine may exceed.
      await Promise.all([page.keyboard.press("g"), page.keyboard.press(key)]);
      await page.waitForURL(suite.origin + path);
    });
    await check(path, "j and k select a row", async () => {
      await open(path);
      const last = Math.min(1, (await rows(page)) - 1);
      for (const [press, expected] of [["j", "0"], ["k", "0"], ["j", String(last)]]) {
        await page.keyboard.press(press);
        expect((await selected(page)) === expected, `after ${press}, the row ${await selected(page)} is selected instead of ${expected}`);
      }
      await page.keyboard.press("Escape");
      expect((await selected(page)) === "", "Escape removes the selection");
    });
    await check(path, "/ searches", async () => {
      await open(path);
      await page.keyboard.press("/");
      const expected = ["/apps", "/audit"].includes(path) ? "filter" : "search-apps";
      expect((await focused(page)) === expected, `the focus is on ${await focused(page)}`);
      await page.keyboard.press("Escape");
      expect((await focused(page)) === "", "Escape leaves the search");
    });
    await check(path, "the focus is visible on every control", () => focusIsVisible(page, suite.origin + path));
  }
  await check("/apps", "Enter opens the selected row", async () => {
    await open("/apps");
    await page.keyboard.press("j");
    const link = await page.locator(".selected .row-link").getAttribute("href");
    await page.keyboard.press("Enter");
    await page.waitForURL(suite.origin + link);
  });
  await check("/apps", "? shows the keys, and Escape closes them", async () => {
    await open("/apps");
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
    await page.getByRole("dialog").waitFor({ state: "hidden" });
  });
  await check("/changes", "the search leads to the apps that match", async () => {
    await open("/changes");
    await page.keyboard.press("/");
    await page.keyboard.type("ledger");
    await page.keyboard.press("Enter");
    await page.waitForURL(`${suite.origin}/apps?q=ledger`);
  });
  await check("/apps", "the first Tab reaches a link that skips to the content", async () => {
    await open("/apps");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    expect((await focused(page)) === "main", `the focus is on ${await focused(page)}`);
  });
  for (const path of ["/apps/default/web", "/apps/default/web/order?order=suspend", "/account"]) {
    await open(path);
    await check(path, "the focus is visible on every control", () => focusIsVisible(page, suite.origin + path));
  }
}

// Walks through the page with the Tab key.
async function focusIsVisible(page, address) {
  await page.goto(address);
  for (let steps = 0; steps < 400; steps += 1) {
    await page.keyboard.press("Tab");
    const problem = await page.evaluate(() => {
      const element = document.activeElement;
      if (element === document.body) return "end";
      if (element.dataset.visited) return "end";
      element.dataset.visited = "1";
      const { outlineStyle, outlineWidth } = getComputedStyle(element);
      const place = element.getBoundingClientRect();
      if (outlineStyle === "none" || parseFloat(outlineWidth) < 2) return `no outline: ${element.outerHTML.slice(0, 150)}`;
      if (place.bottom < 0 || place.top > innerHeight) return `out of sight: ${element.outerHTML.slice(0, 150)}`;
      return null;
    });
    if (problem === "end") return expect(steps > 8, `only ${steps} controls are reached`);
    expect(!problem, problem);
  }
  throw new Error(`the Tab key does not reach the end of ${address}`);
}
