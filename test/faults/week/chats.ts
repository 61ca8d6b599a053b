import { type BotApi, startBotApi } from "../../../plugins/channels/botmsg/bot-api.harness.ts";
import { TOKEN } from "../../../plugins/channels/botmsg/botmsg.harness.ts";
import { startForgeA } from "../../kit/forge-a/server.ts";
import type { ForgePlace, ForgeServer } from "../../kit/forge-server.ts";
import { type GuildFarEnd, startGuildFarEnd, tooMany } from "../../kit/guildchat/server.ts";
import { ask } from "../daemon.harness.ts";

const SECRET = "the-secret-of-the-forge";
const PROJECT = "team/app";
const AGENT = "my-agent";
const CHATS = [-2_001, -2_002, -2_003];

/** The daemon says how many of its answers it gives up, since they waited longer than an hour by its clock: a clock that is set forward makes them old. */
const GIVEN_UP = /^(?:My answer|(\d+) of my answers) could not be sent here within \d+ minutes/;

/** One person's words in one place, and what they see of the answer. */
interface Asked {
  readonly place: string;
  readonly words: string;
  /** All that the agent says there. */
  readonly answers: () => readonly string[];
}

/** Two chat platforms and a forge, which throttle, fail, cut and double, and the people on them. */
export interface Chats {
  /** The sections of svc.json for them. */
  readonly channels: Readonly<Record<string, unknown>>;
  /** Somebody says something somewhere. */
  say(): void;
  /** What was said and has no answer yet. What the forge told nobody is told again, and looked for by the daemon at that port. */
  missing(port: number): string[];
  /** What is wrong with what people saw since the last time; `doubts` is how often a daemon has ever said that something may be there twice. */
  judge(doubts: number): string[];
  tally(): { readonly said: number; readonly doubled: number; readonly cuts: number; readonly "given up": number };
  close(): Promise<void>;
}

/** Faults come by these dice; the daemon's forge receiver listens on `port`. */
export async function openChats(dice: () => number, port: number): Promise<Chats> {
  const [bot, guild, forge] = await Promise.all([startBotApi(), startGuildFarEnd(), startForgeA()]);
  const totals = { said: 0, doubled: 0, cuts: 0, "given up": 0 };
  let cuts = 0;
  const roll = <T>(limited: T, failed: T): T | "cut" | undefined => {
    const at = dice();
    if (at < 0.02) return limited;
    if (at < 0.04) return failed;
    if (at >= 0.06) return undefined;
    cuts += 1;
    return "cut";
  };
  furnishBot(bot);
  bot.fault = () =>
    roll({ code: 429, description: "Too Many Requests: retry after 1", parameters: { retry_after: 1 } }, { code: 502, description: "Bad Gateway" });
  const rooms = furnishGuild(guild);
  guild.fault = ({ method, path }) =>
    method === "GET" || path.endsWith("/typing") ? undefined : roll(tooMany(0.4), { status: 502, body: { message: "502: Bad Gateway", code: 0 } });
  const issues = furnishForge(forge, port);
  let asked: Asked[] = [];
  let lookedAt = 0;
  /** Answers that were said to be given up, up to the last judgement. */
  let known = 0;
  const givenUp = () =>
    [...bot.shown.map(({ text }) => text), ...rooms.flatMap((room) => answersIn(guild, room.id))].reduce((sum, text) => {
      const [notice, count] = GIVEN_UP.exec(text) ?? [];
      return sum + (notice === undefined ? 0 : Number(count ?? 1));
    }, 0);

  const said = (place: string, words: string, answers: () => readonly string[]) => {
    totals.said += 1;
    asked.push({ place, words, answers });
  };
  const sayInBot = () => {
    const chat = CHATS[Math.floor(dice() * CHATS.length)] as number;
    const words = `message ${totals.said} in ${-chat}`;
    bot.say(TOKEN, { chat, text: words });
    if (dice() < 0.1) bot.repeat(TOKEN);
    said(`botmsg ${chat}`, words, () => bot.shown.filter((shown) => shown.chat === chat).map(({ text }) => wordsOf(text)));
  };
  const sayInGuild = () => {
    const place = rooms[Math.floor(dice() * rooms.length)] as (typeof rooms)[number];
    const words = `message ${totals.said} in ${place.name}`;
    guild.say({ place: place.id, from: guild.owner.id, text: words });
    if (dice() < 0.03) guild.gateway.cut();
    said(`guildchat ${place.name}`, words, () => answersIn(guild, place.id).map(wordsOf));
  };
  const sayInForge = () => {
    const place = issues[Math.floor(dice() * issues.length)] as ForgePlace;
    const words = `mention ${totals.said}`;
    forge.comment("ann", place, `@${AGENT} ${words}`);
    const old = forge.hooks.deliveries.at(-1 - Math.floor(dice() * 3));
    if (old !== undefined && dice() < 0.2) forge.hooks.redeliver(old).catch(() => undefined);
    // A comment quotes what it answers: the words are one line of it.
    said(`forge ${place.id}`, words, () =>
      forge
        .comments(place)
        .filter(({ by }) => by === AGENT)
        .flatMap(({ text }) => text.match(/mention \d+/)?.[0] ?? []),
    );
  };

  return {
    channels: {
      botmsg: {
        enabled: true,
        apiRoot: bot.root,
        accounts: { main: { token: TOKEN, agentBinding: "echo" } },
        policy: { group: "all", allowFrom: CHATS.map(String) },
      },
      guildchat: { enabled: true, apiRoot: guild.root, token: guild.token, agentBinding: "echo", group: "all", allowFrom: [guild.owner.id] },
      forge_a: {
        enabled: true,
        host: forge.url,
        webhookPort: port,
        webhookSecret: SECRET,
        agentMappings: [{ agentId: AGENT, token: "the-token-of-the-agent" }],
      },
    },
    say() {
      const at = dice();
      (at < 0.45 ? sayInBot : at < 0.85 ? sayInGuild : sayInForge)();
    },
    missing(port) {
      const missing = asked.filter(({ words, answers }) => !answers().includes(words));
      if (missing.length <= givenUp() - known) return [];
      if (missing.some(({ place }) => place.startsWith("forge")) && performance.now() - lookedAt > 2_000) {
        lookedAt = performance.now();
        lookAgain(port, forge);
      }
      return missing.map(({ place, words }) => `${place}: ${words}`);
    },
    judge(doubts) {
      const wrong: string[] = [];
      const lost: string[] = [];
      let doubled = 0;
      for (const place of new Set(asked.map((one) => one.place))) {
        const own = asked.filter((one) => one.place === place);
        const words = own.map((one) => one.words);
        const seen = (own[0]?.answers() ?? []).filter((text) => words.includes(text));
        const first = [...new Set(seen)];
        lost.push(...words.filter((one) => !first.includes(one)).map((one) => `${place}: "${one}" has no answer`));
        const twice = seen.length - first.length;
        if (place.startsWith("botmsg")) doubled += twice;
        else if (twice > 0) wrong.push(`${place}: ${twice} answers are there twice on a platform that takes keys`);
        // What a forge could not tell comes when it is sent again: its order is the forge's.
        const due = words.filter((one) => first.includes(one));
        if (!place.startsWith("forge") && first.join() !== due.join()) wrong.push(`${place}: answered in the order ${first.join(", ")}`);
      }
      const announced = givenUp() - known;
      if (lost.length > announced) wrong.push(...lost, `${announced} answers were said to be given up`);
      totals["given up"] += lost.length;
      known += announced;
      totals.doubled += doubled;
      if (totals.doubled > doubts) wrong.push(`${totals.doubled} answers are there twice in botmsg, and ${doubts} were said to be possible duplicates`);
      wrong.push(...forge.violations);
      asked = [];
      return wrong;
    },
    tally: () => ({ ...totals, cuts }),
    async close() {
      await Promise.all([bot.close(), guild.close(), forge.close()]);
    },
  };
}

/** What was said, of an answer that repeats its prompt: a message that waited, also by a clock that was set meanwhile, has a line before it (001:L61). */
const wordsOf = (answer: string): string => answer.replace(/^\[This message arrived at [^\]]*\]\n/, "");

/** What the forge told nobody, since the daemon was down or the forge has switched the hook off, is sent again and looked for. */
function lookAgain(port: number, forge: ForgeServer): void {
  const taken = new Set(forge.hooks.deliveries.filter(({ status }) => status === 200 || status === 202).map(({ about }) => about));
  const left = new Map(forge.hooks.deliveries.filter(({ about }) => !taken.has(about)).map((delivery) => [delivery.about, delivery]));
  for (const delivery of left.values()) forge.hooks.redeliver(delivery).catch(() => undefined);
  ask(port, "/forges/forge_a/backfill", {}).catch(() => undefined);
}

function furnishBot(bot: BotApi): void {
  bot.addBot(TOKEN, 42, "helper_bot");
  for (const chat of CHATS) bot.addChat(chat, "group", `chat ${chat}`);
}

function furnishGuild(guild: GuildFarEnd) {
  const { guild: garden, place } = guild.addGuild("The Garden");
  return [place, guild.world.addPlace({ type: 0, name: "plans", guild: garden.id })];
}

const answersIn = (guild: GuildFarEnd, place: string) =>
  guild.world
    .at(place)
    .filter(({ author }) => author === guild.bot.id)
    .map(({ content }) => content.replaceAll("\\", ""));

function furnishForge(forge: ForgeServer, port: number): readonly ForgePlace[] {
  for (const login of ["ann", AGENT]) forge.addUser(login);
  forge.addToken("the-token-of-the-agent", AGENT);
  forge.addProject(PROJECT, { members: { ann: "write", [AGENT]: "write" } });
  const places = [1, 2].map((n) => forge.comment("ann", forge.open("ann", PROJECT, "issue", { title: `Issue ${n}`, text: "words" }), "a first word").place);
  // From now on: nobody listens yet, and a forge switches a hook off that nobody answers.
  forge.hooks.add(`http://127.0.0.1:${port}/webhook/forge_a`, SECRET);
  return places;
}
