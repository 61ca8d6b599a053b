import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ChannelPairing } from "@svc/sdk";
import type { Browser, Page } from "playwright-core";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { lacking } from "../kit/phonemsg/library.ts";
import { type PhoneServer, startPhoneServer } from "../kit/phonemsg/server.ts";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, echoAgent, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { views } from "./kit/views.ts";

const PAIR = "/api/channels/phonemsg/pair";
const TOKEN = "the-token-of-this-page";

describe.skipIf(NO_BROWSER ?? lacking)("linking a phone in /admin", { timeout: 180_000 }, () => {
  let browser: Browser;
  let far: PhoneServer;
  let at: Dashboard;
  let page: Page;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  beforeEach(async () => {
    far = await startPhoneServer();
    at = await startDashboard({
      token: TOKEN,
      config: {
        plugins: [join(ROOT, "plugins/channels/phonemsg")],
        agents: { echo: echoAgent(), anna: echoAgent({ name: "Anna" }) },
        channels: { phonemsg: { enabled: false, server: far.url, mediaServer: far.mediaUrl } },
      },
    });
    page = await openPage(browser);
    page.setDefaultTimeout(30_000);
    await page.addInitScript((token) => localStorage.setItem("svc.token", token), TOKEN);
    return async () => {
      await page.context().close();
      await at.stop();
      await far.close();
    };
  });
  const dialog = () => page.getByRole("dialog", { name: /^Connect/ });
  const look = () => at.api<ChannelPairing>("GET", PAIR);
  const section = () => (JSON.parse(readFileSync(join(at.folder, "svc.json"), "utf8")) as { channels: { phonemsg: object } }).channels.phonemsg;
  /** Opens Connect... and switches the channel on, for one number. */
  const switchOn = async () => {
    await page.goto(`${at.url}/admin#channels/phonemsg`);
    await page.getByRole("button", { name: "Connect..." }).click();
    const agent = dialog().getByRole("combobox", { name: "Agent that answers" });
    await agent.fill("anna");
    await agent.press("Enter");
    await dialog().getByLabel("Who may write").fill("+49 170 0000700");
    await dialog().getByRole("button", { name: "Keep and connect" }).click();
    await dialog().getByRole("button", { name: "Link a phone" }).waitFor();
  };
  /** What a camera sees: the text of the picture that is drawn on the page. */
  const drawn = () =>
    dialog()
      .getByRole("img", { name: "QR code for the phone" })
      .locator("path")
      .getAttribute("d")
      .then((path) => path ?? "");
  const pathOf = (rows: readonly string[] = []) =>
    rows.flatMap((row, y) => [...row].map((module, x) => (module === "1" ? `M${x + 4} ${y + 4}h1v1h-1z` : ""))).join("");

  it("by a code: the channel is switched on, a wrong number is told, the code is typed, 515 is no failure, and a message is answered", async () => {
    const friend = far.accounts.add("491700000700", "Frieda");
    await switchOn();
    expect(section()).toMatchObject({ enabled: true, defaultAgent: "anna", allowFrom: ["+49 170 0000700"] });
    await dialog().getByText("No phone is linked yet.").waitFor();
    await dialog().getByRole("radio", { name: "Type a code" }).click();
    await dialog().getByRole("button", { name: "Link a phone" }).click();
    await dialog().getByText("Write the number that the code is for.").waitFor();
    await dialog().getByLabel("Phone number").fill("0170 1234567");
    await dialog().getByRole("button", { name: "Link a phone" }).click();
    await dialog()
      .getByText(/is no phone number with its country code/)
      .waitFor();
    await judge(page);
    await dialog().getByLabel("Phone number").fill(`+${far.own.number}`);
    await page.keyboard.press("Enter");
    const code = dialog().getByRole("img", { name: /^Pairing code/ });
    await code.waitFor();
    await views(page, "pair-code", () => judge(page));
    await far.typeCode(((await code.textContent()) ?? "").trim().replace("-", ""));
    await dialog().getByText("What is left to do").or(dialog().getByText("It is connected.")).or(dialog().getByLabel("Chat")).first().waitFor();
    await dialog().getByText(`Linked: +${far.own.number}`).waitFor();
    await judge(page);
    await far.say({ from: friend, text: "are you there?" });
    await expect.poll(() => far.chats.shown.length, { timeout: 60_000 }).toBe(1);
    expect(far.chats.shown[0]).toMatchObject({ chat: friend.number, text: "are you there?" });
    expect(at.process.said()).not.toMatch(/privKey|noiseKey/);
  });

  it("by a picture that changes; the phone takes the device off again and the page says what to do", async () => {
    await switchOn();
    await dialog().getByRole("button", { name: "Link a phone" }).click();
    await dialog().getByRole("img", { name: "QR code for the phone" }).waitFor();
    await expect.poll(async () => (await drawn()) === pathOf((await look()).picture)).toBe(true);
    await views(page, "pair-picture", () => judge(page));
    // The text of the picture itself goes to programs of this machine alone.
    expect(await look()).not.toHaveProperty("qr");
    const { qr } = (await (await fetch(`${at.daemon}/channels/phonemsg/pair`)).json()) as { qr: string };
    await far.scan(qr);
    await dialog().getByText(`Linked: +${far.own.number}`).waitFor();
    far.unlink();
    await dialog().getByText("The phone has taken this device off its list.", { exact: false }).waitFor();
    await judge(page);
    await dialog().getByRole("button", { name: "Begin again" }).click();
    await dialog().getByRole("img", { name: "QR code for the phone" }).waitFor();
    expect((await page.content()).includes(qr.split(",")[1] ?? "")).toBe(false);
  });

  it("a platform that is not reached, and one that turns the device away, are told in words; a linked phone is taken off", async () => {
    await switchOn();
    far.refuse = true;
    await dialog().getByRole("button", { name: "Link a phone" }).click();
    await dialog().getByText("The platform was not reached.", { exact: false }).waitFor();
    far.refuse = false;
    await dialog().getByRole("button", { name: "Begin again" }).click();
    await expect.poll(async () => (await look()).picture).toBeDefined();
    const { qr } = (await (await fetch(`${at.daemon}/channels/phonemsg/pair`)).json()) as { qr: string };
    await far.scan(qr);
    await dialog().getByText(`Linked: +${far.own.number}`).waitFor();
    await expect(at.api("POST", PAIR, {})).rejects.toThrow("409");
    await dialog().getByRole("button", { name: "Unlink this phone" }).click();
    const sure = page.getByRole("dialog", { name: "Unlink this phone?" });
    await judge(page);
    await sure.getByRole("button", { name: "Unlink this phone" }).click();
    await dialog()
      .getByText(/The phone is unlinked. The old session is kept in/)
      .waitFor();
    await dialog().getByRole("button", { name: "Link a phone" }).waitFor();
  });

  it("AUTH-09 the code goes to nobody who may only read, to no stranger, and to no page of another origin", async () => {
    await switchOn();
    await at.api("POST", PAIR, { number: `+${far.own.number}` });
    await expect.poll(async () => (await look()).code).toMatch(/^\w{8}$/);
    const { code = "" } = await look();
    const { secret } = await at.api<{ secret: string }>("POST", "/api/admin/tokens", { name: "reader", scopes: ["dashboard:read"] });
    for (const method of ["GET", "POST", "DELETE"]) {
      const ask = async (headers: Record<string, string>) => {
        const answer = await fetch(at.url + PAIR, {
          method,
          headers: { ...headers, ...(method === "POST" ? { "content-type": "application/json" } : {}) },
          ...(method === "POST" ? { body: "{}" } : {}),
        });
        expect(await answer.text()).not.toContain(code);
        return answer.status;
      };
      expect([method, await ask({ authorization: `Bearer ${secret}` }), await ask({}), await ask({ authorization: "Bearer nonsense" })]).toEqual([
        method,
        403,
        401,
        401,
      ]);
      expect(await ask({ authorization: `Bearer ${TOKEN}`, origin: "http://evil.example" })).toBe(403);
    }
    // Nor into what is written down, or told on the stream of events.
    expect(at.process.said()).not.toContain(code);
    expect(JSON.stringify(await at.api("GET", "/api/admin/channels"))).not.toContain(code);
    expect((await look()).code).toBe(code);
  });
});
