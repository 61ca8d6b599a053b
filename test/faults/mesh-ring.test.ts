import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Envelope, Trace } from "@svc/sdk";
import { afterAll, afterEach, expect, it, vi } from "vitest";
import { type CuttingProxy, startCuttingProxy } from "../kit/cutting-proxy.ts";
import { ask, type DaemonProcess, endDaemons, pause, startDaemon, writeConfig } from "./daemon.harness.ts";

const SOAK = Number(process.env.SVC_SOAK ?? 3);
const KILLS = SOAK;
const CUTS = Math.max(20, Math.round(SOAK * 6.7));
const TOKEN = "the-token-of-the-whole-ring";
const NAMES = ["n1", "n2", "n3"] as const;
type Name = (typeof NAMES)[number];
const until = (check: () => void | Promise<void>, timeout = 90_000) => vi.waitFor(check, { timeout, interval: 100 });

const proxies: CuttingProxy[] = [];
/** A ring that did all that it should and has no tasks yet: for the next test. */
let left: Awaited<ReturnType<typeof startRing>> | undefined;
const base = mkdtempSync(join(tmpdir(), "svc-ring-"));
let rings = 0;

async function end(): Promise<void> {
  await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
  await endDaemons();
}
afterEach(async () => {
  if (left === undefined) await end();
});
afterAll(async () => {
  await end();
  rmSync(base, { recursive: true, force: true, maxRetries: 5 });
});

/** Three daemons, each the peer of both others, over a proxy for each direction. */
async function startRing() {
  rings += 1;
  const daemons = new Map<Name, DaemonProcess>();
  const ring = join(base, String(rings));
  const folderOf = (name: Name) => join(ring, name);
  const ledgerOf = (name: Name) => join(ring, `${name}.ledger`);
  const start = async (name: Name) =>
    void daemons.set(name, await startDaemon(folderOf(name), { env: { SVC_TEST_LEDGER: ledgerOf(name), SVC_TEST_PLATFORM: "http://127.0.0.1:1" } }));
  for (const name of NAMES) {
    const peers = [];
    for (const other of NAMES.filter((one) => one !== name)) {
      const proxy = await startCuttingProxy(() => daemons.get(other)?.port ?? 1);
      proxies.push(proxy);
      peers.push({ name: other, url: proxy.url, token: TOKEN });
    }
    mkdirSync(folderOf(name), { recursive: true });
    writeConfig(folderOf(name), {
      node: { id: name, name, bind: "127.0.0.1:0", defaultAgent: "ledger" },
      agents: { ledger: { name: "Ledger", workspace: "./w", tier: "ledger", maxConcurrent: 8 } },
      plugins: [join(import.meta.dirname, "ledger.mjs")],
      mesh: { enabled: true, peers, healthCheck: { interval: 3_600, timeout: 5 } },
    });
  }
  await Promise.all(NAMES.map(start));
  const port = (name: Name) => daemons.get(name)?.port ?? 1;
  return {
    port,
    /** Texts that an agent of the daemon worked on, as often as it did. */
    worked: (name: Name) =>
      existsSync(ledgerOf(name))
        ? readFileSync(ledgerOf(name), "utf8")
            .trim()
            .split("\n")
            .map((line) => (JSON.parse(line) as { text: string }).text)
        : [],
    recent: async (name: Name, query = "") => (await ask<{ events: Envelope[] }>(port(name), `/events/recent?limit=500${query}`)).body.events,
    async restart(name: Name) {
      await daemons.get(name)?.kill("SIGKILL");
      daemons.delete(name);
      await start(name);
    },
  };
}

const announced = (events: readonly Envelope[]) => events.filter(({ kind }) => kind === "announce").map(({ summary }) => summary);

it(`FAULT-42 FAULT-43 MESH-01 over ${CUTS} cuts of a ring each event is on each daemon once, and none is passed on`, {
  timeout: 300_000 + CUTS * 10_000,
}, async () => {
  const ring = await startRing();
  const said = new Map<Name, string[]>(NAMES.map((name) => [name, []]));
  const say = async (name: Name, text: string) => {
    said.get(name)?.push(text);
    await ask(ring.port(name), "/mesh/announce", { text });
  };
  // First contact has no past: what is said from now on must arrive.
  await until(async () => {
    for (const name of NAMES) await ask(ring.port(name), "/mesh/announce", { text: `hello from ${name}` });
    for (const name of NAMES) {
      const heard = announced(await ring.recent(name));
      expect(NAMES.filter((other) => !heard.includes(`hello from ${other}`))).toEqual([]);
    }
  });
  const heard = new Map<Name, Envelope[]>();
  for (const name of NAMES) heard.set(name, [...(await ring.recent(name))]);
  const listen = async (name: Name) => {
    const events = heard.get(name) ?? [];
    events.push(...(await ring.recent(name, `&since=${events.at(-1)?.id}`)));
    return events;
  };
  for (const proxy of proxies) proxy.cutWithin(6_000);
  const cuts = () => proxies.reduce((sum, proxy) => sum + proxy.cuts, 0);
  const saidIn = (events: readonly Envelope[]) => announced(events).filter((text) => text.includes(" says "));
  const behind = async (name: Name) => [...said.values()].flat().length - saidIn(await listen(name)).length;
  for (let at = 0; cuts() < CUTS; at++) {
    for (const name of NAMES) await say(name, `${name} says ${at} ${"x".repeat(100)}`);
    // What such wires do not carry is not said: a buffer holds a thousand events.
    if (at % 20 === 0) for (const name of NAMES) while ((await behind(name)) > 150 && cuts() < CUTS) await pause(100);
    await pause(20);
  }
  for (const proxy of proxies) proxy.cutWithin(0);
  const all = [...said.values()].flat().sort();
  for (const name of NAMES) {
    await until(async () => expect(saidIn(await listen(name)).length).toBeGreaterThanOrEqual(all.length));
    const events = heard.get(name) ?? [];
    expect(saidIn(events).sort()).toEqual(all);
    expect(events.filter(({ type }) => type === "feed:gap")).toEqual([]);
    // Nothing of the others is this daemon's own.
    const own = await ring.recent(name, "&origin=local");
    expect(saidIn(own).filter((text) => !text.startsWith(`${name} `))).toEqual([]);
    expect(saidIn(own).length).toBeGreaterThan(0);
  }
  left = ring;
});

it(`FAULT-43 MESH-09 over ${KILLS} kills in a ring behind cutting proxies each delegated task is one task there and has one answer here`, {
  timeout: 120_000 + KILLS * 30_000,
}, async () => {
  const ring = left ?? (await startRing());
  left = undefined;
  for (const proxy of proxies) proxy.cutWithin(20_000);
  const asked: { readonly from: Name; readonly to: Name; readonly text: string; answer?: string }[] = [];
  let over = false;
  const askers = NAMES.map(async (from, turn) => {
    for (let at = 0; !over || at < 6; at++) {
      const to = NAMES[(turn + 1 + (at % 2)) % 3] as Name;
      const task: (typeof asked)[number] = { from, to, text: `${from} to ${to} ${at}` };
      asked.push(task);
      while (task.answer === undefined) {
        try {
          const headers = { "content-type": "application/json", accept: "application/json", "idempotency-key": `k${at}`, connection: "close" };
          const body = JSON.stringify({ peer: to, agent: "ledger", message: task.text });
          const response = await fetch(`http://127.0.0.1:${ring.port(from)}/mesh/task`, { method: "POST", headers, body, signal: AbortSignal.timeout(60_000) });
          const result = (await response.json()) as { ok?: boolean; reply?: string; errorKind?: string };
          if (result.ok === true) task.answer = result.reply ?? "";
        } catch {
          // The daemon that was asked is away.
        }
        await pause(task.answer === undefined ? 100 : 50);
      }
    }
  });
  for (let kill = 0; kill < KILLS; kill++) {
    const before = asked.filter(({ answer }) => answer !== undefined).length;
    await until(() => expect(asked.filter(({ answer }) => answer !== undefined).length).toBeGreaterThan(before + 2));
    await pause(Math.random() * 200);
    await ring.restart(NAMES[kill % 3] as Name);
  }
  over = true;
  for (const proxy of proxies) proxy.cutWithin(0);
  await Promise.all(askers);
  for (const { text, answer } of asked) expect(answer).toBe(`did ${text}`);
  for (const name of NAMES) {
    const traces: Trace[] = [];
    for (let below = ""; ; below = `&below=${traces.at(-1)?.id}`) {
      const { body } = await ask<{ traces: Trace[] }>(ring.port(name), `/traces?limit=200${below}`);
      traces.push(...body.traces);
      if (body.traces.length < 200) break;
    }
    // One task at the sender for each, and one at the peer, however often it was asked for.
    const here = (kind: "from" | "to") =>
      asked
        .filter((task) => task[kind] === name)
        .map(({ text }) => text)
        .sort();
    expect(
      traces
        .filter(({ node }) => node !== undefined)
        .map(({ message }) => message)
        .sort(),
    ).toEqual(here("from"));
    expect(
      traces
        .filter(({ node }) => node === undefined)
        .map(({ message }) => message)
        .sort(),
    ).toEqual(here("to"));
    expect(traces.filter(({ status }) => status !== "ok").map(({ status, error }) => `${status} ${error}`)).toEqual([]);
    expect(new Set(ring.worked(name))).toEqual(new Set(here("to")));
  }
});
