import { afterEach, expect, it, vi } from "vitest";
import { type Stage, setStage, until } from "./guildchat.harness.ts";

const MINUTE_MS = 60_000;
let stage: Stage;
afterEach(async () => {
  vi.useRealTimers();
  await stage.stop();
});

/** The plugin with a clock that is set by hand: only intervals and the even clock stand, so that its connections go on as ever. */
async function begin(): Promise<Stage> {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  stage = await setStage({ section: { group: "all" } });
  // No heartbeat falls into the test.
  stage.far.gateway.heartbeatMs = 600_000;
  await stage.start();
  await until(() => stage.far.gateway.connected === 1);
  return stage;
}
const texts = () => stage.context.tasks.accepted.map(({ text }) => text);
const historiesAsked = () => stage.far.calls.filter(({ method, path }) => method === "GET" && /\/messages$/.test(path)).length;

it("a gateway that keeps a message to itself for half an hour is found out: the message is taken, and a new session is begun", async () => {
  const { far, general, friend } = await begin();
  far.say({ place: general.id, from: friend.id, text: "heard" });
  await until(() => texts().length === 1);
  far.say({ place: general.id, from: friend.id, text: "kept to itself", silent: true });
  vi.advanceTimersByTime(29 * MINUTE_MS);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(texts()).toEqual(["heard"]);
  vi.advanceTimersByTime(11 * MINUTE_MS);
  await until(() => texts().length === 2);
  expect(texts()).toEqual(["heard", "kept to itself"]);
  await until(() => far.gateway.counts.identifies === 2);
  await until(() => far.gateway.connected === 1);
  far.say({ place: general.id, from: friend.id, text: "heard again" });
  await until(() => texts().length === 3);
});

it("where nothing was kept back the session goes on: the histories are asked, once in ten minutes of silence", async () => {
  const { far, general, friend } = await begin();
  await until(() => historiesAsked() > 0);
  const before = historiesAsked();
  vi.advanceTimersByTime(20 * MINUTE_MS);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(historiesAsked()).toBe(before);
  // What it tells begins the half hour anew.
  far.say({ place: general.id, from: friend.id, text: "a word" });
  await until(() => texts().length === 1);
  vi.advanceTimersByTime(20 * MINUTE_MS);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(historiesAsked()).toBe(before);
  vi.advanceTimersByTime(10 * MINUTE_MS);
  await until(() => historiesAsked() > before);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect([far.gateway.counts.identifies, far.gateway.counts.connections, texts()]).toEqual([1, 1, ["a word"]]);
});
