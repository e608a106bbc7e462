/** What the tests of the page in a real browser share. */
import { type Browser, chromium, type Page } from "playwright-core";
import { browserOptions } from "../support/browser.js";

const FLAGS = [
  "--no-sandbox",
  "--disable-dev-shm-usage",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ ...browserOptions(), args: FLAGS });
}

export async function login(on: Page, token: string, name?: string): Promise<void> {
  await on.getByLabel("Token").fill(token);
  if (name) await on.getByLabel("Your name").fill(name);
  await on.getByRole("button", { name: "Log in" }).click();
  await on.getByRole("log").waitFor();
}
