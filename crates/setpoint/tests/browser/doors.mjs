// The ways in and out: the set-up link, the sign-in, the end of a session.

import { look, shown } from "./looks.mjs";
import { check, expect } from "./report.mjs";
import { Watch } from "./watch.mjs";

export const NAME = "erika";
export const PASSWORD = "nine quiet turtles swim";

const focus = (page) => page.evaluate(() => document.activeElement.id || document.activeElement.textContent);

async function typeInto(page, field, text) {
  await page.keyboard.press("Tab");
  expect((await focus(page)) === field, `the Tab key reaches ${await focus(page)} instead of ${field}`);
  await page.keyboard.type(text);
}

// Creates the first account with the keyboard.
export async function setUp(suite, page, link) {
  await look(suite, page, "set-up", link);
  await check("set-up", "the keyboard creates the first account", async () => {
    await page.goto(suite.origin + link);
    await typeInto(page, "account", NAME);
    await typeInto(page, "password", PASSWORD);
    await typeInto(page, "again", PASSWORD);
    await page.keyboard.press("Enter");
    await page.waitForURL(`${suite.origin}/apps`);
  });
  await look(suite, page, "set-up-used", link);
}

async function stranger(suite) {
  const context = await suite.browser.newContext();
  context.setDefaultTimeout(60_000);
  return { context, watch: new Watch(context, suite.origin), page: await context.newPage() };
}

async function signIn(page, password = PASSWORD) {
  await page.locator("#account").focus();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type(NAME);
  await typeInto(page, "password", password);
  await page.keyboard.press("Enter");
}

// Signs out while another page is open, and returns the check that this page has noticed.
export async function leave(suite) {
  const { context, page } = await stranger(suite);
  const open = await context.newPage();
  await check("sign-in", "a page that needs a session is shown after the sign-in", async () => {
    await page.goto(`${suite.origin}/drift`);
    await signIn(page);
    await page.waitForURL(`${suite.origin}/drift`);
  });
  await open.goto(`${suite.origin}/apps/default/web`);
  await open.locator("#live.on").waitFor();
  await check("sign-in", "the menu of the user ends the session", async () => {
    await page.locator(".menu.user > summary").click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.locator("#account").waitFor();
  });
  return async () => {
    await check("sign-in", "an open page leads to the sign-in when its session ends", () => open.waitForURL(/\/sign-in\?next=/));
    await context.close();
  };
}

// Checks the sign-in.
export async function doors(suite) {
  const { context, watch, page } = await stranger(suite);
  const visitor = { ...suite, context, watch };
  await look(visitor, page, "sign-in", "/sign-in");
  await check("sign-in", "a wrong password is refused with a reason", async () => {
    await page.locator("#account").focus();
    await signIn(page, "wrong");
    await page.getByRole("alert").waitFor();
    expect((await page.locator("#account").inputValue()) === NAME, "the account must be typed again");
  });
  await shown(visitor, page, "sign-in-failed");
  for (const next of ["javascript:hostile=1", "//other.invalid/", "https://other.invalid/"]) {
    await check("sign-in", `it does not lead to ${next}`, async () => {
      // The page before it would ask for its events without a session.
      await page.goto("about:blank");
      await context.clearCookies();
      await page.goto(`${suite.origin}/sign-in?next=${encodeURIComponent(next)}`);
      await signIn(page);
      await page.waitForURL(`${suite.origin}/apps`);
    });
  }
  watch.settle("sign-in");
  await context.close();
}
