import assert from "node:assert/strict";
import type { ChannelFailure } from "../channel.ts";
import { sleep } from "../time.ts";
import { describeChoices } from "./channel-choices.ts";
import { describeReceiving } from "./channel-receives.ts";
import {
  acceptedBy,
  fails,
  type Has,
  type It,
  LIMIT_MS,
  outgoing,
  type Running,
  resources,
  run,
  secretsOf,
  send,
  sent,
  settle,
  textOf,
  toldBy,
} from "./channel-run.ts";
import type { ChannelFault, ChannelLack, ChannelSubject } from "./channel-subject.ts";
import { inTime, type Runner } from "./runner.ts";

const LOADS = 50;

/** Contract suite of every channel. Run it with any runner: `channelContract({ describe, it }, () => ({ plugin, context, far }), { lacks: ["groups"] })`. */
export function channelContract(
  runner: Runner,
  make: () => ChannelSubject | Promise<ChannelSubject>,
  options: { readonly lacks?: readonly ChannelLack[] } = {},
): void {
  const has = (...needs: readonly ChannelLack[]) => !needs.some((need) => options.lacks?.includes(need));
  const given = (test: (running: Running) => Promise<void>) => async () => {
    const running = await run(await make());
    try {
      await test(running);
    } finally {
      await running.stop();
    }
  };
  const it = (name: string, test: (running: Running) => Promise<void>) => runner.it(name, given(test));

  runner.describe("channel contract", () => {
    describeIdentity(it, has, runner, make);
    describeSending(it, has);
    describeChoices(it, has);
    describeFailures(it, has);
    if (has("receive")) describeReceiving(it, has);
    else it("takes no messages in", async (running) => assert.deepEqual(acceptedBy(running), []));
    describeEnd(it, runner, make);
  });
}

function describeIdentity(it: It, has: Has, runner: Runner, make: () => ChannelSubject | Promise<ChannelSubject>): void {
  runner.it("setup provides one channel and asks nobody anything", async () => {
    const { plugin, context, far, dispose } = await make();
    try {
      plugin.setup(context);
      assert.equal(plugin.kind, "channel");
      assert.deepEqual(
        context.registered.channels.map(({ channel, state }) => [channel.name, state]),
        [[plugin.config?.at.split(".").at(-1) ?? plugin.name, "connecting"]],
      );
      await settle();
      assert.equal(far.writes() + (far.attempts?.() ?? 0), 0, "setup talked to the platform");
    } finally {
      context.end();
      await dispose?.();
    }
  });

  it("says what the platform can do", async ({ channel }) => {
    const { maxChars, editIntervalMs } = channel.traits;
    assert.ok(Number.isInteger(maxChars) && maxChars > 0, "maxChars is no length");
    if (!has("ids")) assert.ok(channel.edit === undefined && channel.remove === undefined, "edit and remove need the id of a message");
    assert.equal(editIntervalMs !== undefined, channel.edit !== undefined, "editIntervalMs and edit come together");
    if (channel.traits.reactions) assert.ok(channel.react, "reactions without react");
  });

  it("answers the question whether it works", async ({ channel }) => {
    if (channel.test) assert.notEqual(await inTime(LIMIT_MS, "test", channel.test(new AbortController().signal)), "");
  });
}

function describeSending(it: It, has: Has): void {
  it(`a sent text is shown as it is${has("ids") ? ", under the id that send gave" : ""}`, async ({ channel, far }) => {
    const lines = channel.traits.lines === "one" ? "" : "\nsecond line";
    const text = `Grüße, 你好, 👩‍👩‍👧 <b> & _x_ \\ \`y\`${lines}`;
    const { platformId } = await send(channel, outgoing(far.target, text));
    const shown = far.shown().at(-1);
    assert.equal(shown?.text, text);
    if (has("ids")) assert.equal(shown?.platformId, platformId);
  });

  it("takes a text of exactly maxChars, counted in its unit", async ({ channel, far }) => {
    const { maxChars, unit } = channel.traits;
    for (const sign of ["x", "ü", "👍"]) {
      const size = unit === "utf8" ? Buffer.byteLength(sign) : unit === "utf16" ? sign.length : 1;
      const text = sign.repeat(Math.floor(maxChars / size));
      await send(channel, outgoing(far.target, text));
      assert.equal(far.shown().at(-1)?.text, text, `${text.length} of ${sign} did not arrive`);
    }
  });

  it("keeps the order of messages sent one after the other", async ({ channel, far }) => {
    const texts = Array.from({ length: 20 }, (_, n) => `message ${n}`);
    for (const text of texts) await send(channel, outgoing(far.target, text));
    assert.deepEqual(
      far.shown().map((message) => message.text),
      texts,
    );
  });

  it("edits in place, and an edit to the same text succeeds", async ({ channel, far }) => {
    if (!channel.edit) return;
    const { platformId } = await sent(channel, outgoing(far.target, "first"));
    for (const text of ["second", "second"]) await inTime(LIMIT_MS, "edit", channel.edit(platformId, outgoing(far.target, text), new AbortController().signal));
    assert.deepEqual(
      far.shown().map((message) => [message.platformId, message.text]),
      [[platformId, "second"]],
    );
  });

  it("an edit of a message that is not there fails for good", async ({ channel, far }) => {
    if (!channel.edit) return;
    const { platformId } = await sent(channel, outgoing(far.target, "first"));
    const gone = platformId.replace(/\d+/, "999999999");
    await fails(channel.edit(gone, outgoing(far.target, "second"), new AbortController().signal), "permanent");
  });

  it("takes a message of its own back", async ({ channel, far }) => {
    if (!channel.remove) return;
    const { platformId } = await sent(channel, outgoing(far.target, "oops"));
    await inTime(LIMIT_MS, "remove", channel.remove(far.target, platformId, new AbortController().signal));
    assert.deepEqual(far.shown(), []);
  });

  it("sends a file with its bytes", async ({ channel, far }) => {
    if (channel.traits.maxMediaBytes === undefined) return;
    const data = new Uint8Array(5_000).map((_, n) => n % 251);
    await send(channel, { ...outgoing(far.target, ""), media: [{ kind: "file", name: "data.bin", data }] });
    assert.deepEqual([...(far.shown().at(-1)?.file ?? [])], [...data]);
  });

  it("the same key twice is one message, where it says so", async ({ channel, far }) => {
    if (!channel.traits.keyed) return;
    const out = outgoing(far.target, "once");
    const [first, second] = [await send(channel, out), await send(channel, out)];
    assert.equal(first.platformId, second.platformId);
    assert.equal(far.shown().length, 1);
  });

  if (has("markup")) {
    it("markup that the platform refuses is a format error, and the plain words go through", async ({ channel, far }) => {
      far.fail("markup", 1);
      const out = { ...outgoing(far.target, "**bold** words"), plain: "bold words" };
      await fails(channel.send(out, new AbortController().signal), "format");
      await send(channel, { ...out, text: out.plain });
      assert.equal(far.shown().at(-1)?.text, "bold words");
    });
  }
}

function describeFailures(it: It, has: Has): void {
  const cases: readonly [ChannelFault, ChannelFailure][] = [
    ["limited", "retry"],
    ["unavailable", "retry"],
    ["forbidden", "permanent"],
    ["cut", "unknown"],
  ];
  for (const [fault, failure] of cases) {
    if ((fault === "limited" || fault === "unavailable") && !has(fault)) continue;
    it(`${fault} is told as ${failure}, and the channel itself does not try again`, async ({ channel, far }) => {
      const before = far.writes();
      far.fail(fault, 1);
      const error = await fails(channel.send(outgoing(far.target, "hello"), new AbortController().signal), failure);
      assert.equal(far.writes() - before, 1, "the kernel retries, the channel must not");
      if (fault === "limited") assert.ok((error.retryAfterMs ?? 0) >= far.retryAfterMs, `retryAfterMs is ${error.retryAfterMs}`);
    });
  }

  it("works again after a failure", async ({ channel, far }) => {
    const fault = has("unavailable") ? "unavailable" : "cut";
    far.fail(fault, 1);
    await fails(channel.send(outgoing(far.target, "lost"), new AbortController().signal), fault === "cut" ? "unknown" : "retry");
    await send(channel, outgoing(far.target, "hello"));
    assert.equal(far.shown().at(-1)?.text, "hello");
  });

  it("shows no secret of its configuration in an error, a log line or an event", async (running) => {
    const { plugin, context, channel, far } = running;
    const errors: unknown[] = [];
    for (const [fault] of cases) {
      if ((fault === "limited" || fault === "unavailable") && !has(fault)) continue;
      far.fail(fault, 1);
      await channel
        .send(outgoing(far.target, "hello"), new AbortController().signal)
        .catch((error) => errors.push([error, error.message, error.stack, error.cause]));
    }
    const shown = textOf([errors, context.logged, toldBy(running)]);
    for (const secret of secretsOf(plugin.config?.schema, context.config))
      assert.ok(!shown.includes(secret), "a secret of the configuration is in an error, a log line or an event");
  });
}

function describeEnd(it: It, runner: Runner, make: () => ChannelSubject | Promise<ChannelSubject>): void {
  it("a stop while it sends ends the send and comes back soon", async (running) => {
    running.far.hang();
    const abort = new AbortController();
    const sending = running.channel.send(outgoing(running.far.target, "slow"), abort.signal).then(
      () => "sent",
      () => "failed",
    );
    await settle();
    abort.abort(new Error("stopped"));
    await inTime(LIMIT_MS, "stop", running.stop());
    assert.equal(await inTime(LIMIT_MS, "the send", sending), "failed");
  });

  runner.it(`${LOADS} loads and unloads leave nothing behind`, async () => {
    const load = async () => (await run(await make())).stop();
    for (let n = 0; n < 5; n += 1) await load();
    const before = await resources();
    for (let n = 0; n < LOADS; n += 1) await load();
    let left: string[] = [];
    for (let patience = 0; patience < 100; patience += 1) {
      const now = await resources();
      left = [...now]
        .filter(([kind, count]) => count > (before.get(kind) ?? 0) + 3)
        .map(([kind, count]) => `${kind}: ${before.get(kind) ?? 0} before, ${count} after`);
      if (left.length === 0) return;
      await sleep(50);
    }
    assert.fail(`after ${LOADS} loads there are more ${left.join("; ")}`);
  });
}
