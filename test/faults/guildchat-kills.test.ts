import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { type GuildFarEnd, startGuildFarEnd, tooMany } from "../kit/guildchat/server.ts";
import type { Place } from "../kit/guildchat/world.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { createChannelDaemon, createDice, endChannelDaemons } from "./channel-daemon.harness.ts";

/** More with SVC_SOAK: 500 messages are 50 kills. */
const MESSAGES = Number(process.env.SVC_SOAK ?? 30);
const KILLS = Math.max(4, Math.round(MESSAGES / 10));
const WHILE_DOWN = 20;

let far: GuildFarEnd;
afterEach(async () => {
  await endChannelDaemons();
  await far.close();
});

/** A far end with channels, threads and direct conversations, and a daemon's configuration for it. */
async function setStage() {
  far = await startGuildFarEnd();
  const { guild, place: general } = far.addGuild("The Garden");
  const more = ["plans", "news"].map((name) => far.world.addPlace({ type: 0, name, guild: guild.id }));
  const threads = ["one", "two"].map((name) => far.addThread(general, name));
  const people = ["ben", "cleo"].map((name) => far.world.addUser(name));
  const direct = people.map(({ id }) => far.world.direct(far.bot.id, id));
  const places = [general, ...more, ...threads, ...direct];
  const writer = (place: Place) => place.people?.find((id) => id !== far.bot.id) ?? far.owner.id;
  const folder = await temporaryFolder();
  const config = join(folder, "svc.json");
  const guildchat = {
    enabled: true,
    apiRoot: far.root,
    token: far.token,
    agentBinding: "a",
    group: "all",
    allowFrom: [far.owner.id, ...people.map(({ id }) => id)],
  };
  const document = {
    node: { id: "n1", name: "Node 1" },
    agents: { a: { name: "A", workspace: folder, tier: "local", maxConcurrent: 8, queueMode: "followup", local: { mode: "echo", delayMs: 10 } } },
    resume: { maxAttempts: 10, crashLoop: { restarts: 100, windowMinutes: 1 } },
    channels: { guildchat },
  };
  await writeFile(config, JSON.stringify(document), { mode: 0o600 });
  const answers = (place: Place) =>
    far.world
      .at(place.id)
      .filter(({ author }) => author === far.bot.id)
      .map(({ content }) => content.replaceAll("\\", ""));
  const daemon = createChannelDaemon(config, "guildchat");
  /** What was said before the very first connection is nothing for the bot. */
  const listening = () => daemon.until("the gateway is connected", () => far.gateway.connected > 0);
  return { places, writer, answers, daemon, listening };
}

it(`FAULT-01 FAULT-02 FAULT-05 guildchat ${MESSAGES} messages, ${KILLS} kills, and a platform that throttles, drops, doubles and reorders: every message is answered once, in order`, {
  timeout: 600_000 + MESSAGES * 2_000,
}, async () => {
  const dice = createDice(11);
  const { places, writer, answers, daemon, listening } = await setStage();
  const trouble = { limited: 0, failed: 0, cut: 0, dropped: 0, doubled: 0, late: 0, sessions: 0 };
  far.fault = ({ method, path }) => {
    if (method === "GET" || path.endsWith("/typing")) return undefined;
    const roll = dice();
    if (roll < 0.03) {
      trouble.limited += 1;
      return tooMany(0.4, roll < 0.005);
    }
    if (roll < 0.06) {
      trouble.failed += 1;
      return { status: 502, body: { message: "502: Bad Gateway", code: 0 } };
    }
    if (roll >= 0.09) return undefined;
    trouble.cut += 1;
    return "cut";
  };
  far.gateway.fault = (event) => {
    if (event !== "MESSAGE_CREATE") return undefined;
    const roll = dice();
    const [kind, count] =
      roll < 0.03 ? (["drop", "dropped"] as const) : roll < 0.08 ? (["double", "doubled"] as const) : roll < 0.13 ? (["late", "late"] as const) : [];
    if (count !== undefined) trouble[count] += 1;
    return kind;
  };

  await daemon.start();
  await listening();
  const said = new Map<Place, string[]>(places.map((place) => [place, []]));
  let kills = 0;
  for (let n = 0; n < MESSAGES; n += 1) {
    const place = places[Math.floor(dice() * places.length)] as Place;
    const text = `message ${n} in ${place.name === "" ? "private" : place.name}`;
    said.get(place)?.push(text);
    far.say({ place: place.id, from: writer(place), text });
    const roll = dice();
    if (roll < 0.03) far.gateway.cut();
    else if (roll < 0.05) far.gateway.askReconnect();
    else if (roll < 0.07) {
      trouble.sessions += 1;
      far.gateway.invalidate(false);
    }
    await new Promise((resolve) => setTimeout(resolve, 5 + dice() * 25));
    if (kills < KILLS && n > ((kills + 1) * MESSAGES) / (KILLS + 1)) {
      kills += 1;
      await daemon.kill();
      if (dice() < 0.3) far.gateway.forgetSessions();
      await daemon.start();
    }
  }

  const missing = () => places.flatMap((place) => (said.get(place) ?? []).filter((text) => !answers(place).includes(text)));
  await daemon.settled(() => missing().length);
  expect(missing(), daemon.said()).toEqual([]);
  for (const place of places)
    expect(
      answers(place).filter((text) => said.get(place)?.includes(text)),
      place.name,
    ).toEqual(said.get(place));
  expect(kills).toBe(KILLS);
  console.info(`${MESSAGES} messages, ${kills} kills, ${JSON.stringify(trouble)}: every message answered once, in order`);
});

it(`guildchat ${WHILE_DOWN} messages that were written while the daemon was down are answered once each, in order`, { timeout: 600_000 }, async () => {
  const { places, writer, answers, daemon, listening } = await setStage();
  await daemon.start();
  await listening();
  const [first] = places as [Place];
  far.say({ place: first.id, from: writer(first), text: "before" });
  await daemon.settled(() => (answers(first).includes("before") ? 0 : 1));
  await daemon.kill();
  // Sessions end at the platform while nobody takes them up.
  far.gateway.forgetSessions();
  const said = Array.from({ length: WHILE_DOWN }, (_, n) => {
    const place = places[n % places.length] as Place;
    const text = `while down ${n}`;
    far.say({ place: place.id, from: writer(place), text });
    return { place, text };
  });
  await daemon.start();
  await daemon.settled(() => said.filter(({ place, text }) => !answers(place).includes(text)).length);
  for (const place of places)
    expect(
      answers(place).filter((text) => text.startsWith("while")),
      daemon.said(),
    ).toEqual(said.filter((one) => one.place === place).map(({ text }) => text));
  // A second start reads the same histories, and answers nothing again.
  const before = places.flatMap(answers);
  await daemon.kill();
  far.gateway.forgetSessions();
  await daemon.start();
  far.say({ place: first.id, from: writer(first), text: "afterwards" });
  await daemon.settled(() => (answers(first).includes("afterwards") ? 0 : 1));
  expect(places.flatMap(answers).filter((text) => text !== "afterwards")).toEqual(before);
});
