// Every page in light, dark and on a phone: accessibility, width, foreign content, a picture.

import path from "node:path";
import { report } from "./report.mjs";

const LOOKS = [
  { name: "light", colorScheme: "light", width: 1280, height: 800 },
  { name: "dark", colorScheme: "dark", width: 1280, height: 800 },
  { name: "phone", colorScheme: "light", width: 390, height: 844 },
];

const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

// Opens a page in each look. `name` is the name of its pictures.
export async function look(suite, page, name, address, status = 200) {
  await page.setViewportSize({ width: LOOKS[0].width, height: LOOKS[0].height });
  await page.emulateMedia({ colorScheme: LOOKS[0].colorScheme, reducedMotion: "reduce" });
  const response = await page.goto(suite.origin + address, { waitUntil: "load" });
  report(name, `its status is ${status}`, response.status() === status ? null : `it is ${response.status()}`);
  await shown(suite, page, name);
}

// Inspects the present page in each look.
export async function shown(suite, page, name) {
  await page.evaluate(suite.axe);
  for (const { name: look, colorScheme, width, height } of LOOKS) {
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    report(name, `accessible, ${look}`, await violations(page));
    if (look === "phone") report(name, "as wide as a phone", await overflow(page, width));
    if (look === "phone") report(name, "the present tab is in sight", await hiddenTab(page));
    await page.screenshot({ path: path.join(suite.pictures, `${name}-${look}.png`), fullPage: true });
  }
  await page.setViewportSize({ width: LOOKS[0].width, height: LOOKS[0].height });
  report(name, "every place has its own name", await duplicates(page));
  report(name, "nothing foreign runs", await foreign(page));
  for (const link of await links(page)) suite.links.set(link, name);
  suite.watch.settle(name);
}

async function violations(page) {
  const found = await page.evaluate(async (values) => {
    const options = { runOnly: { type: "tag", values }, resultTypes: ["violations"] };
    const { violations } = await window.axe.run(document, options);
    const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
    return serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} (${node.any[0]?.message ?? node.failureSummary})`).slice(0, 3).join(" | ")}`);
  }, RULES);
  return found.length ? found.join("; ") : null;
}

// Returns what is wider than the window, unless the page scrolls within it.
async function overflow(page, width) {
  return page.evaluate((width) => {
    if (document.documentElement.scrollWidth <= width) return null;
    const isWide = (element) => element.getBoundingClientRect().right > width + 1;
    const widest = [...document.querySelectorAll("main *")].filter(isWide).slice(0, 3);
    return `it is ${document.documentElement.scrollWidth} px wide: ${widest.map((e) => e.outerHTML.slice(0, 120)).join(" | ")}`;
  }, width);
}

// Tabs may scroll, but the present one is in sight.
async function hiddenTab(page) {
  return page.evaluate(() => {
    const tab = document.querySelector(".tabs [aria-current]")?.getBoundingClientRect();
    return tab && (tab.left < 0 || tab.right > innerWidth) ? `the present tab is at ${tab.left} px` : null;
  });
}

// Returns the traces of markup in names, messages or reasons.
async function foreign(page) {
  return page.evaluate(() => {
    if (window.hostile) return "a foreign script ran";
    const links = [...document.querySelectorAll("[href], [action], [src]")].filter((element) =>
      [element.href, element.action, element.src].some((value) => String(value).startsWith("javascript:")));
    const strange = [...document.querySelectorAll("img, iframe, object, [onerror], [onclick]"), ...links];
    return strange.length ? strange.map((element) => element.outerHTML).join(" | ") : null;
  });
}

// Returns the identifiers that two elements have: links and scripts find the first only.
async function duplicates(page) {
  return page.evaluate(() => {
    const all = [...document.querySelectorAll("[id]")].map((element) => element.id);
    return all.filter((id, at) => all.indexOf(id) !== at).join() || null;
  });
}

async function links(page) {
  // The links of a drawing have no `href` of type text.
  const absolute = (all) => all.map((link) => new URL(link.getAttribute("href"), location.href).href);
  return page.locator("a[href]").evaluateAll(absolute);
}
