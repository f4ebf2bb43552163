// Filters: in the page at once, in its address, and there again after the back button.

import { check, expect } from "./report.mjs";

const names = (page) => page.locator("[data-rows] .row-link").allTextContents();

async function until(page, expected) {
  const isShown = (expected) => [...document.querySelectorAll("[data-rows] .row-link")].map((link) => link.textContent).join() === expected;
  await page.waitForFunction(isShown, expected).catch(async () => {
    throw new Error(`${expected} is expected, and ${await names(page)} is shown at ${page.url()}`);
  });
}

export async function search(suite, page) {
  const { origin } = suite;
  await check("/apps", "a search filters while one types, and is in the address", async () => {
    await page.goto(`${origin}/apps`);
    await page.evaluate(() => { window.stays = true; });
    await page.locator("#filter").pressSequentially("ledger");
    await until(page, "ledger");
    expect(page.url() === `${origin}/apps?q=ledger`, page.url());
    expect(await page.evaluate(() => window.stays === true && document.activeElement.id === "filter"), "the page was loaded again, or lost the focus");
  });
  await check("/apps", "the back button restores a search", async () => {
    await page.locator(".row-link", { hasText: "ledger" }).click();
    await page.waitForURL(`${origin}/apps/payments/ledger`);
    await page.goBack();
    await until(page, "ledger");
    expect((await page.locator("#filter").inputValue()) === "ledger", "the text of the search is gone");
  });
  await check("/apps", "an emptied search shows all apps", async () => {
    await page.locator("#filter").fill("");
    await page.waitForFunction(() => document.querySelectorAll("[data-rows] .row-link").length > 10);
    expect(page.url() === `${origin}/apps`, page.url());
  });
  for (const [menu, option, query, expected] of [
    ["Scope", "payments", "scope=payments", "ledger"],
    ["Environment", "staging", "environment=staging", null],
    ["More", "team=money", "label=team%3Dmoney", "ledger"],
  ]) {
    await check("/apps", `the menu ${menu} filters, and its chip removes the filter`, async () => {
      await page.goto(`${origin}/apps`);
      const all = (await names(page)).length;
      const facet = page.locator("details.facet", { has: page.locator("summary", { hasText: new RegExp(`^${menu}`) }) });
      await facet.locator("summary").click();
      await facet.locator(".menu-item", { hasText: option }).first().click();
      await page.waitForURL(`${origin}/apps?${query}`);
      if (expected) await until(page, expected);
      expect((await names(page)).length < all, "it filters nothing");
      await page.locator(".chip").first().click();
      await page.waitForURL(`${origin}/apps`);
    });
  }
  await check("/apps", "the legend filters by state, and a second click ends that", async () => {
    await page.goto(`${origin}/apps`);
    const suspended = page.locator(".legend a", { hasText: "suspended" });
    await suspended.click();
    await page.waitForURL(`${origin}/apps?state=suspended`);
    await until(page, "cart");
    await suspended.click();
    await page.waitForURL(`${origin}/apps`);
  });
  await check("/apps", "a menu closes with Escape, and when another opens", async () => {
    await page.goto(`${origin}/apps`);
    const open = page.locator("details.menu[open]");
    await page.locator("details.facet > summary").first().click();
    await page.locator("details.facet > summary").nth(1).click();
    expect((await open.count()) === 1, "two menus are open");
    await page.keyboard.press("Escape");
    expect((await open.count()) === 0, "the menu is still open");
  });
  await check("/apps", "apps that need attention are shown alone", async () => {
    await page.goto(`${origin}/apps`);
    await page.getByRole("link", { name: /^Needs attention/ }).click();
    await page.waitForURL(`${origin}/apps?problems=1`);
    expect(!(await names(page)).includes("web"), "a converged app is shown");
  });
  for (const [view, query] of [["Matrix", "view=matrix"], ["Tiles", "view=tiles"]]) {
    await check("/apps", `the view ${view} opens an app`, async () => {
      await page.goto(`${origin}/apps`);
      await page.getByRole("group", { name: "View" }).getByRole("link", { name: view }).click();
      await page.waitForURL(`${origin}/apps?${query}`);
      await page.locator(view === "Tiles" ? ".tiles a" : ".cell").first().click();
      await page.waitForURL(/\/apps\/[a-z]+\/[a-z-]+$/);
    });
  }
  await check("/audit", "a search shows only records that match", async () => {
    await page.goto(`${origin}/audit`);
    const all = await page.locator("tbody tr").count();
    await page.locator("#filter").fill("OPS-17");
    await page.getByRole("button", { name: "Search" }).click();
    await page.waitForURL(/q=OPS-17/);
    const some = await page.locator("tbody tr").count();
    expect(some > 0 && some < all, `${some} of ${all} records are shown`);
  });
}
