// Accounts, machine tokens, sessions, and the own password.

import { NAME, PASSWORD } from "./doors.mjs";
import { check, expect } from "./report.mjs";

const OTHER = "ten loud herons wade";

export async function access(suite, page) {
  const { origin } = suite;
  const row = (text) => page.locator("tbody tr", { hasText: text });
  const notice = () => page.locator(".notice").waitFor();
  const form = (heading) => page.locator("form.panel", { has: page.getByRole("heading", { name: heading, exact: true }) });
  await check("access-accounts", "an account is created, changed, disabled and enabled", async () => {
    await page.goto(`${origin}/access`);
    await page.locator("#name").fill("clara");
    await page.locator("#password").fill(OTHER);
    await page.locator("#groups").fill("desk");
    await page.getByRole("button", { name: "Create the account" }).click();
    await notice();
    await row("clara").locator(".row-link").click();
    await form("Groups").locator("#groups").fill("desk, night");
    await form("Groups").getByRole("button").click();
    await row("clara").filter({ hasText: "night" }).waitFor();
    await page.goto(`${origin}/access?account=clara`);
    await form("Password").locator("#password").fill(OTHER);
    await form("Password").getByRole("button").click();
    await notice();
    await page.goto(`${origin}/access?account=clara`);
    await form("Disable").locator("[name=reason]").fill("on leave");
    await form("Disable").getByRole("button").click();
    await row("clara").filter({ hasText: "disabled" }).waitFor();
    await page.goto(`${origin}/access?account=clara`);
    await form("Enable").getByRole("button").click();
    await row("clara").filter({ hasText: "enabled" }).waitFor();
  });
  await check("access-accounts", "an account is deleted", async () => {
    await page.goto(`${origin}/access`);
    await page.locator("#name").fill("mallory");
    await page.locator("#password").fill(OTHER);
    await page.getByRole("button", { name: "Create the account" }).click();
    await notice();
    await row("mallory").locator(".row-link").click();
    await form("Delete").locator("[name=reason]").fill("gone");
    await form("Delete").getByRole("button").click();
    await notice();
    expect((await row("mallory").count()) === 0, "it is still there");
  });
  await check("access-tokens", "a token is shown once, and revoked", async () => {
    await page.goto(`${origin}/access/tokens`);
    for (const name of ["ci", "old"]) {
      await page.locator("#name").fill(name);
      await page.locator("#days").selectOption({ index: 0 });
      await page.getByRole("button", { name: "Create the token" }).click();
      await page.locator(".issued code", { hasText: /^setpoint_/ }).waitFor();
    }
    await page.goto(`${origin}/access/tokens`);
    expect((await page.locator(".issued").count()) === 0, "the token is shown again");
    await row("old").locator("summary").click();
    await row("old").locator("[name=reason]").fill("leaked");
    await row("old").getByRole("button").click();
    await row("old").filter({ hasText: "revoked" }).waitFor();
  });
  await check("access-sessions", "a session of another browser is ended", async () => {
    const context = await suite.browser.newContext();
    const other = await context.newPage();
    await other.goto(`${origin}/sign-in`);
    await other.locator("#account").fill("clara");
    await other.locator("#password").fill(OTHER);
    await other.keyboard.press("Enter");
    await other.waitForURL(`${origin}/apps`);
    await page.goto(`${origin}/access/sessions`);
    await row("clara").getByRole("button").click();
    await notice();
    expect((await row("clara").count()) === 0, "the session is still there");
    await other.goto(`${origin}/changes`);
    await other.waitForURL(/\/sign-in\?next=/);
    await context.close();
  });
  await check("account", "the own password is changed", async () => {
    await page.goto(origin);
    await page.locator(".menu.user > summary").click();
    await page.getByRole("link", { name: "Change your password" }).click();
    await page.locator("#present").fill(PASSWORD);
    await page.locator("#password").fill(PASSWORD);
    await page.keyboard.press("Enter");
    await notice();
    await page.locator(".user-name", { hasText: NAME }).waitFor();
  });
}
