import { expect, it } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { echoAgent, startDashboard } from "./kit/dashboard.ts";
import { expectQuiet, judge, openPage } from "./kit/judge.ts";

it.skipIf(NO_BROWSER !== undefined)("the page of a task stops it after a yes, and says how many other messages its turn answers", async () => {
  const at = await startDashboard({ config: { agents: { echo: echoAgent({ local: { mode: "echo", delayMs: 100_000 } }) } } });
  const say = async (text: string) => (await at.api<{ taskId: string }>("POST", "/api/chat/echo", { text, chat: "test" })).taskId;
  const stateOf = async (task: string) => (await at.api<{ state: string }>("GET", `/api/tasks/${task}`)).state;
  // What comes during a turn is answered by one turn after it.
  const first = await say("one");
  await expect.poll(() => stateOf(first)).toBe("running");
  const [lead, other] = [await say("two"), await say("three")];
  await at.api("POST", `/api/tasks/${first}/stop`);
  await expect.poll(() => stateOf(lead)).toBe("running");

  const page = await openPage(await openBrowser());
  await page.goto(`${at.url}/tasks/${lead}`);
  const stop = page.getByRole("button", { name: "Stop...", exact: true });
  const dialog = page.getByRole("dialog", { name: "Stop this task?" });
  await stop.click();
  await dialog.getByText("The same turn answers another message: that ends, too.").waitFor();
  await judge(page);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  expect(await stateOf(lead)).toBe("running");
  await stop.click();
  await dialog.getByRole("button", { name: "Stop", exact: true }).click();
  await expect.poll(() => stateOf(lead)).toBe("cancelled");
  await expect.poll(() => stateOf(other)).toBe("cancelled");
  await stop.waitFor({ state: "detached" });
  expectQuiet(page);
});
