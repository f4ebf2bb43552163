// Orders from a page: confirmed with a reason, and shown afterwards; also without scripts.

import { check, expect } from "./report.mjs";

const REASON = "<img src=x onerror=window.hostile=1>";

export async function orders(suite, page) {
  const { origin } = suite;
  const app = `${origin}/apps/default/web-staging`;
  const state = (name) => page.locator(".app-title .mark", { hasText: name }).first().waitFor();
  const confirm = async (reason) => {
    await page.locator("#reason").fill(reason);
    await page.locator("form button.primary").last().click();
    await page.waitForURL(app);
    await page.getByRole("status").filter({ hasText: "is recorded" }).waitFor();
  };
  await check("order", "every order of an app leads to its confirmation, and can be cancelled", async () => {
    await page.goto(app);
    const links = await page.locator(".orders a").evaluateAll((links) => links.map((link) => link.href));
    expect(links.length >= 3, `${links.length} orders are offered`);
    for (const link of links) {
      await page.goto(app);
      await page.locator(`.orders a[href="${new URL(link).pathname}${new URL(link).search}"]`).click();
      await page.locator("#reason").waitFor();
      await page.getByRole("link", { name: "Cancel" }).click();
      await page.waitForURL(app);
    }
  });
  await check("order", "an order needs a reason", async () => {
    await page.goto(`${app}/order?order=suspend`);
    await page.locator("form button.primary").last().click();
    const { id, invalid } = await page.evaluate(() => ({ id: document.activeElement.id, invalid: document.activeElement.matches(":invalid") }));
    expect(id === "reason" && invalid, `the focus is on ${id}`);
    await page.locator("#reason").fill("   ");
    await page.locator("form button.primary").last().click();
    await page.getByRole("alert").filter({ hasText: "give a reason" }).waitFor();
  });
  await check("order", "a suspension is confirmed, shown with its reason as text, and ended", async () => {
    await page.goto(app);
    await page.locator(".orders a", { hasText: "Suspend" }).click();
    await page.locator("#length").selectOption({ index: 0 });
    await confirm(REASON);
    await state("suspended");
    expect((await page.locator("main").textContent()).includes(REASON), "the reason is not shown");
    expect(await page.evaluate(() => !window.hostile && !document.querySelector("main img")), "the reason is markup");
    await page.locator(".orders a", { hasText: "Resume" }).click();
    await confirm("done");
    await state("converged");
  });
  await check("order", "a hold is confirmed and released", async () => {
    await page.locator(".orders a", { hasText: "Hold" }).click();
    await confirm("OPS-18");
    await state("held");
    await page.locator(".orders a", { hasText: "Release" }).click();
    await confirm("OPS-18 is over");
    await state("converged");
  });
  await check("order", "a sync changes an app that waits for a person", async () => {
    await page.goto(`${origin}/apps/default/mail`);
    await page.locator(".orders a", { hasText: "Sync" }).click();
    await page.locator("#reason").fill("approved");
    await page.locator("form button.primary").last().click();
    await page.waitForURL(`${origin}/apps/default/mail`);
    await state("converged");
  });
  await withoutScripts(suite);
}

async function withoutScripts(suite) {
  const { origin } = suite;
  const storageState = await suite.context.storageState();
  const context = await suite.browser.newContext({ javaScriptEnabled: false, storageState });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  await check("without scripts", "pages have their content", async () => {
    for (const [path, text] of [["/apps", "ledger"], ["/changes", "the load test needs a quiet night"], ["/drift", "web.conf"], ["/stores", "bootstrap"], ["/targets", "machine"]]) {
      await page.goto(origin + path);
      await page.locator("main", { hasText: text }).waitFor();
    }
  });
  await check("without scripts", "a search is a form, and menus open", async () => {
    await page.goto(`${origin}/apps`);
    await page.locator("details.facet > summary").first().click();
    await page.locator("details.facet .menu-item").first().waitFor();
    await page.locator("#filter").fill("ledger");
    await page.keyboard.press("Enter");
    await page.waitForURL(`${origin}/apps?q=ledger`);
    expect((await page.locator(".row-link").count()) === 1, "it filters nothing");
  });
  await check("without scripts", "an order works", async () => {
    await page.goto(`${origin}/apps/payments/ledger`);
    await page.locator(".orders a", { hasText: "Suspend" }).click();
    await page.locator("#reason").fill("the audit");
    await page.locator("form button.primary").last().click();
    await page.waitForURL(`${origin}/apps/payments/ledger`);
    await page.getByRole("status").filter({ hasText: "is recorded" }).waitFor();
    await page.goto(`${origin}/apps/payments/ledger`);
    await page.locator("main", { hasText: "the audit" }).waitFor();
  });
  await context.close();
}
