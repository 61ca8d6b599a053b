import { writeFileSync } from "node:fs";
import { afterEach, expect, it } from "vitest";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";
import { FIREFOX, type Firefox, type PushService, startFirefox, startPushService } from "./web-push-browser.ts";

if (FIREFOX === undefined) console.warn("skipped: Firefox is not installed (on Debian: apt-get install firefox-esr)");

const open: { firefox?: Firefox; service?: PushService; shell?: Shell } = {};
afterEach(async () => {
  await open.firefox?.close();
  await open.shell?.svc("daemon", "stop");
  await open.service?.close();
});

async function until<T>(ask: () => Promise<T | undefined | false>): Promise<T> {
  for (let patience = 0; ; patience += 1) {
    const found = await ask();
    if (found !== undefined && found !== false) return found;
    if (patience > 300) throw new Error("it did not come");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

interface Seen {
  readonly title: string;
  readonly body: string;
  readonly tag: string;
}

const SHOWN = `navigator.serviceWorker.getRegistration().then((one) => one.getNotifications()).then((all) => all.map(({ title, body, tag }) => ({ title, body, tag })))`;
const STATE = `document.getElementById("state").textContent`;

it.skipIf(FIREFOX === undefined)(
  "CHAN-05 a real Firefox adds itself by a code, shows the words with the page closed, and is forgotten once it is gone",
  async () => {
    const service = await startPushService();
    open.service = service;
    const shell = await openShell();
    open.shell = shell;
    const push = { enabled: true, subject: "mailto:ops@example.org", allowedHosts: [service.origin] };
    shell.write(echoConfig({}, { channels: { push }, dashboard: { enabled: true, port: 0 } }));
    expect((await shell.svc("daemon", "start")).code).toBe(0);
    const dashboard = await until(async () => /the dashboard listens on \S+:(\d+)/.exec((await shell.svc("daemon", "logs")).out)?.[1]);
    const base = `http://localhost:${dashboard}`;

    const firefox = await startFirefox(service.browserAddress);
    open.firefox = firefox;
    const { page } = await shell.json<{ page: string }>("push", "add", "--url", base);
    await firefox.open(page);
    await until(async () => (await firefox.ask<string>(STATE)).includes("Tap the button"));
    await firefox.ask(`document.querySelector("#form button").click()`);
    await until(async () => (await firefox.ask<string>(STATE)) === "This phone gets notices.");
    // The code is no part of the address any more, and good for nobody else.
    expect(await firefox.ask<string>("location.href")).toBe(`${base}/push/index.html`);
    const [phone] = await shell.json<{ id: string; name: string; service: string }[]>("push", "list");
    expect(phone).toMatchObject({ name: "Linux", service: service.origin.replace("http://", "") });

    // Nothing of the page is open: the service worker alone shows it.
    await firefox.open("about:blank");
    const long = `${"Umlaut ä, 你好, 👍. ".repeat(400)}the end`;
    expect((await shell.svc("channel", "send", "push", "default", "the backup is done")).code).toBe(0);
    expect((await shell.svc("channel", "send", "push", phone?.id as string, long)).code).toBe(0);
    await until(async () => service.acknowledged.length === 2);
    expect(service.acknowledged).toEqual([100, 100]);
    await firefox.open(`${base}/push/index.html`);
    const shown = await until(async () => {
      const all = await firefox.ask<Seen[]>(SHOWN);
      return all.length === 2 && all;
    });
    expect(shown.find(({ body }) => body === "the backup is done")).toMatchObject({ title: "svc" });
    expect(shown.some(({ body }) => body.startsWith("Umlaut ä, 你好, 👍.") && body.endsWith("(open to read all)"))).toBe(true);
    // The page has the whole text.
    await until(async () => (await firefox.ask<string>(`document.getElementById("notices").textContent`)).includes("the end"));
    if (process.env["SVC_SCREENSHOT"] !== undefined) writeFileSync(process.env["SVC_SCREENSHOT"], await firefox.screenshot());

    service.gone = true;
    const refused = await shell.svc("channel", "send", "push", "default", "to nobody");
    expect(refused.code).not.toBe(0);
    expect(await shell.json("push", "list")).toEqual([]);
    expect(service.answered).toEqual([201, 201, 410]);
    await firefox.open(`${base}/push/index.html`);
    await until(async () => (await firefox.ask<string>(STATE)).includes("gets no notices any more"));
  },
  120_000,
);
