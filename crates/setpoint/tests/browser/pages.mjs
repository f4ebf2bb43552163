// Every page, and every link on them.

import { look } from "./looks.mjs";
import { check, expect } from "./report.mjs";

export const PAGES = [
  ["apps", "/apps"],
  ["apps-attention", "/apps?problems=1"],
  ["apps-none", "/apps?q=nothing+at+all"],
  ["apps-groups", "/apps?group=scope"],
  ["apps-matrix", "/apps?view=matrix"],
  ["apps-tiles", "/apps?view=tiles"],
  ["app", "/apps/default/web"],
  ["app-objects", "/apps/default/web?tab=tree"],
  ["app-history", "/apps/default/web?tab=history"],
  ["app-drift", "/apps/default/web?tab=drift"],
  ["app-plan", "/apps/default/mail?tab=plan"],
  ["app-refused", "/apps/default/api"],
  ["app-suspended", "/apps/default/cart"],
  ["app-held", "/apps/default/jobs"],
  ["app-unknown", "/apps/default/probe"],
  ["app-second-scope", "/apps/payments/ledger"],
  ["app-hostile", "/apps/default/odd"],
  ["app-hostile-history", "/apps/default/odd?tab=history"],
  ["app-difference", "/apps/default/files?tab=diff"],
  ["app-origin", "/apps/default/files?tab=diff&kind=File&name=etc-files.conf"],
  ["order-suspend", "/apps/default/web/order?order=suspend"],
  ["order-sync", "/apps/default/mail/order?order=sync"],
  ["changes", "/changes"],
  ["drift", "/drift"],
  ["stores", "/stores"],
  ["targets", "/targets"],
  ["audit", "/audit"],
  ["audit-search", "/audit?q=suspend"],
  ["record", "/audit/1"],
  ["access-accounts", "/access"],
  ["access-account", "/access?account=clara"],
  ["access-tokens", "/access/tokens"],
  ["access-sessions", "/access/sessions"],
  ["access-rights", "/access/rights"],
  ["access-rights-of-one", "/access/rights?who=account%3Aclara&app=default%2Fweb"],
  ["account", "/account"],
];

export async function pages(suite, page, all = PAGES) {
  for (const [name, address] of all) await look(suite, page, name, address);
  for (const [name, app] of [["version", "web"], ["version-refused", "api"]]) {
    await page.goto(`${suite.origin}/apps/default/${app}?tab=history`);
    const version = await page.locator('.timeline a[href^="/versions/"]').first().getAttribute("href");
    await look(suite, page, name, version);
  }
  await look(suite, page, "missing", `/apps/default/none<img src=x onerror=hostile=1>`, 404);
  await check("app-held", "markup in a reason is shown as text", async () => {
    await page.goto(`${suite.origin}/apps/default/jobs`);
    const text = await page.locator("main").textContent();
    expect(text.includes("<img src=x onerror=window.hostile=1> javascript:hostile=1"), "the reason is not shown");
  });
  await everyLinkLeadsSomewhere(suite);
}

// Requests every address that a link of any page names, and finds the places in them.
async function everyLinkLeadsSomewhere(suite) {
  const targets = new Map();
  for (const [link, name] of suite.links) {
    const [address, place] = link.split("#");
    if (!targets.has(address)) targets.set(address, { name, places: new Set() });
    if (place) targets.get(address).places.add(decodeURIComponent(place));
  }
  for (const [address, { name, places }] of targets) {
    await check(name, `its link to ${address.replace(suite.origin, "")} leads somewhere`, async () => {
      expect(address.startsWith(`${suite.origin}/`), "it leads to another host");
      const response = await suite.context.request.get(address);
      const expected = address.includes("/none") ? 404 : 200;
      expect(response.status() === expected, `its status is ${response.status()}`);
      const text = places.size ? await response.text() : "";
      for (const place of places) expect(text.includes(`id="${place}"`), `it has no place #${place}`);
    });
  }
}
