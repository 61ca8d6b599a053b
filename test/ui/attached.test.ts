import type { Browser, Page } from "playwright-core";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { endPrograms, type Program, startProgram } from "../kit/attach.ts";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";

describe.skipIf(NO_BROWSER !== undefined)("an agent that a session wears", { timeout: 120_000 }, () => {
  let browser: Browser;
  let at: Dashboard;
  let program: Program;
  let page: Page;
  const agent = () => page.locator(".live-agents .live-agent", { hasText: "Echo" });
  const say = async (text: string) => {
    await page.getByRole("textbox", { name: "Message to Echo" }).fill(text);
    await page.keyboard.press("Enter");
  };
  const turn = (text: string) => page.locator(".live-turn", { hasText: text });
  /** What waits for the session, handed out to it. */
  const taken = async (count: number) => {
    const items: { id: string; text: string }[] = [];
    await expect
      .poll(async () => {
        items.push(...((await program.ask("next")).body["items"] as typeof items));
        return items.length;
      })
      .toBe(count);
    return items;
  };
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterEach(endPrograms);
  // Messages of an earlier attempt would wait for its session: each has a daemon of its own.
  beforeEach(async () => {
    at = await startDashboard();
    program = await startProgram(at.daemon);
    await program.hook("session-start", { source: "startup" });
    page = await openPage(browser);
    await page.goto(`${at.url}/live?chat=echo`);
    await agent().waitFor();
    return () => at.stop();
  });

  it("says so on Live as soon as it is worn; a message waits for the session, whose answer comes to the chat", async () => {
    await expect.poll(() => agent().innerText()).toContain("no task yet");
    expect((await program.ask("bind", { agent: "echo", mode: "manual" })).status).toBe(200);
    await expect.poll(() => agent().innerText()).toContain("worn by a session");
    await page.getByText("A session on this machine wears this agent; an answer may take 90 s.").waitFor();
    await say("Is the retry well?");
    // It is neither answered by the engine nor shown as work.
    await turn("Is the retry well?").getByText("Waits: the session has not answered yet").waitFor();
    expect(await turn("Is the retry well?").getByText("The engine works").count()).toBe(0);
    await expect.poll(() => agent().innerText()).toContain("worn by a session");
    await judge(page);
    const [item] = await taken(1);
    expect(item?.text).toContain("Is the retry well?");
    expect(await program.ask("answer", { id: item?.id, text: "It is, from the terminal." })).toMatchObject({ status: 200 });
    await turn("Is the retry well?").getByText("It is, from the terminal.").waitFor();
    await page.getByText("Echo has answered.").waitFor({ state: "attached" });
  });

  it("is told of a refusal with the reason, and of the agent's own engine when the session ends", async () => {
    await program.ask("bind", { agent: "echo" });
    // The page knows of it.
    await page.getByText("A session on this machine wears this agent").waitFor();
    await say("Do it twice");
    const [item] = await taken(1);
    await program.ask("answer", { id: item?.id, refuse: "not from a chat" });
    await turn("Do it twice").getByText("not from a chat").waitFor();
    await say("Still there?");
    await turn("Still there?").getByText("Waits: the session has not answered yet").waitFor();
    await program.kill();
    // Its engine says everything back: once more in the turn, as the answer.
    await expect.poll(() => turn("Still there?").locator(".live-prose").last().innerText(), { timeout: 60_000 }).toContain("Still there?");
    await expect.poll(() => agent().innerText()).not.toContain("worn by a session");
    await expect.poll(() => page.getByText("A session on this machine wears this agent").count()).toBe(0);
    await judge(page);
  });
});
