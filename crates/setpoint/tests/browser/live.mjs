// Updates of an open page: without a reload, and without harm to what its reader does.

import fs from "node:fs";
import path from "node:path";
import { check, expect } from "./report.mjs";

// Returns a promise that resolves when the content of the page is replaced.
async function swap(page) {
  await page.evaluate(() => {
    window.stays = true;
    const mark = document.createElement("i");
    mark.id = "before-the-swap";
    document.getElementById("main").append(mark);
  });
  return () => page.waitForFunction(() => !document.getElementById("before-the-swap"));
}

export async function live(suite, page) {
  const drift = (text) => fs.writeFileSync(path.join(suite.managed, "etc/web.conf"), text);
  const open = async (address) => {
    await page.goto(suite.origin + address);
    await page.locator("#live.on").waitFor();
  };
  await check("app", "drift appears on an open page when it is healed", async () => {
    await open("/apps/default/web?tab=drift");
    const swapped = await swap(page);
    drift("listen 81\n");
    await swapped();
    const healed = page.locator("article.diff", { hasText: "web.conf" }).filter({ hasText: "healed" });
    await healed.first().waitFor();
    expect(await page.evaluate(() => window.stays), "the page was loaded again");
    expect(fs.readFileSync(path.join(suite.managed, "etc/web.conf"), "utf8") === "listen 80\n", "the file is not healed");
  });
  await check("/apps", "an update keeps the focus, the open menu and the text of a search", async () => {
    await open("/apps");
    await page.locator("details.facet > summary").first().click();
    const filter = page.locator("#filter");
    await filter.pressSequentially("we");
    await page.waitForURL(/q=we$/);
    await page.locator("details.facet > summary").first().click();
    await filter.focus();
    await page.keyboard.press("ArrowLeft");
    const swapped = await swap(page);
    drift("listen 82\n");
    await swapped();
    const state = await page.evaluate(() => {
      const { id, value, selectionStart } = document.activeElement;
      return [id, value, selectionStart, document.querySelectorAll("details.facet[open]").length].join();
    });
    expect(state === "filter,we,1,1", `focus, text, caret and open menus are ${state}`);
  });
  await check("/apps", "an update keeps the selected row", async () => {
    await open("/apps?q=web");
    await page.keyboard.press("j");
    const row = await page.locator(".selected .row-link").textContent();
    const swapped = await swap(page);
    drift("listen 83\n");
    await swapped();
    expect((await page.locator(".selected .row-link").textContent()) === row, "another row is selected");
  });
  await check("drift", "an update keeps the row that is selected, among rows with the same link", async () => {
    await open("/drift");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    const row = await page.locator(".selected").getAttribute("id");
    const swapped = await swap(page);
    drift("listen 84\n");
    await swapped();
    expect((await page.locator(".selected").getAttribute("id")) === row, "another row is selected");
  });
}
