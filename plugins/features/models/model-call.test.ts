import type { RequestListener } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { ModelEvent } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { APIS, ask, collectGarbage, delta, event, farEnd, hello, KEY, models, refuses, replyOf, says, told, WORDS, whole } from "./model-call.harness.ts";

describe.each(APIS)("a call on the %s API", (api) => {
  const { start, text, end } = WORDS[api];

  it("ENG-3 streams the words, tells the tokens, and ends with the answer", async () => {
    const far = await farEnd(says(start, text("good "), text("day"), end));
    const events = await ask(models(far.url, api), { system: "Be kind." });
    expect(told(events)).toEqual(["good ", "day", "usage", "end"]);
    expect(events.at(-2)).toMatchObject({ model: "m-1", usage: { input: 7, output: 5, cacheRead: 0 } });
    expect(replyOf(events)).toMatchObject({ role: "assistant", text: "good day" });
    const { headers, url } = far.requests[0]!.request;
    expect(headers).toMatchObject({ "accept-encoding": "identity", "content-length": expect.stringMatching(/^\d+$/) });
    expect(headers["transfer-encoding"]).toBeUndefined();
    expect(url).toBe(api === "anthropic" ? "/v1/messages" : "/v1/chat/completions");
    expect(api === "anthropic" ? headers["x-api-key"] : headers.authorization).toBe(api === "anthropic" ? KEY : `Bearer ${KEY}`);
  });

  describe("ENG-3 an abort after six collections of garbage ends the call and closes the connection", () => {
    const states: readonly [string, RequestListener][] = [
      ["no headers yet", () => undefined],
      ["headers, then silence", (_, response) => void response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders()],
      [
        "a flowing stream",
        (_, response) => {
          response.writeHead(200, { "content-type": "text/event-stream" }).write(start);
          const timer = setInterval(() => response.write(text("and so on ")), 5);
          response.on("close", () => clearInterval(timer));
        },
      ],
    ];
    it.each(states)("%s", async (_, answer) => {
      const far = await farEnd(answer);
      const abort = new AbortController();
      const events: ModelEvent[] = [];
      const run = (async () => {
        for await (const one of models(far.url, api).stream({ agent: "ada", messages: [hello], signal: abort.signal })) events.push(one);
      })();
      await expect.poll(() => far.requests.length).toBe(1);
      for (let round = 0; round < 6; round += 1) {
        await sleep(10);
        collectGarbage();
      }
      abort.abort();
      await run;
      await expect.poll(() => far.connections.size).toBe(0);
      expect(events.map(({ type }) => type).filter((type) => type === "end" || type === "error")).toEqual([]);
    });
  });

  it("ENG-3 closes the connection when its reader goes away", async () => {
    const far = await farEnd((_, response) => void response.writeHead(200).write(start + text("and so on")));
    for await (const one of models(far.url, api).stream({ agent: "ada", messages: [hello] })) if (one.type === "text") break;
    await expect.poll(() => far.connections.size).toBe(0);
  });

  it("ENG-3 keeps the connection for the next call", async () => {
    const far = await farEnd(says(whole(api)));
    const made = models(far.url, api);
    for (let call = 0; call < 3; call += 1) expect(told(await ask(made)).at(-1)).toBe("end");
    expect(new Set(far.requests.map(({ request }) => request.socket.remotePort)).size).toBe(1);
  });

  it("ENG-3 asks once more when a kept connection was closed before the first byte, and not when a new one is", async () => {
    const far = await farEnd((request, response, nth) => (nth === 2 ? void request.socket.resetAndDestroy() : says(whole(api))(request, response)));
    const made = models(far.url, api);
    await ask(made);
    const second = await ask(made);
    expect(told(second)).toEqual(["good day", "usage", "end"]);
    expect(far.requests).toHaveLength(3);
    const shut = await farEnd((request, response, nth) => (nth === 1 ? void request.socket.resetAndDestroy() : says(whole(api))(request, response)));
    expect((await ask(models(shut.url, api)))[0]).toMatchObject({ type: "waiting", reason: expect.stringContaining("could not be reached") });
  });

  it("ENG-3 takes an end without the API's word for it as cut, and asks again only before the first word", async () => {
    const far = await farEnd((request, response, nth) =>
      (nth === 1 ? says(start) : nth === 2 ? says(whole(api)) : says(start, text("half an ans")))(request, response),
    );
    const made = models(far.url, api);
    expect(told(await ask(made)).at(-1)).toBe("end");
    expect(far.requests).toHaveLength(2);
    const cut = await ask(made);
    expect(cut.filter(({ type }) => type !== "usage")).toMatchObject([{ text: "half an ans" }, { type: "error", kind: "cut" }]);
    expect(far.requests).toHaveLength(3);
  });

  it("ENG-3 what comes after the vendor's last word is no loss", async () => {
    const stop = api === "anthropic" ? end : delta({}, "stop");
    const far = await farEnd((request, response) => {
      response.writeHead(200).write(start + text("all of it") + stop);
      setTimeout(() => request.socket.destroy(), 20);
    });
    expect(told(await ask(models(far.url, api))).at(-1)).toBe("end");
  });

  it("ENG-3 broken JSON is an error event, after the words that came before it", async () => {
    const far = await farEnd(says(start, text("so far"), 'data: {"type": "content_bl\n\n', end));
    const events = await ask(models(far.url, api));
    expect(events.filter(({ type }) => type !== "usage")).toMatchObject([{ text: "so far" }, { type: "error", kind: "protocol" }]);
    expect(far.requests).toHaveLength(1);
  });

  it("ENG-3 does not follow a redirect: the key stays with the configured address", async () => {
    const elsewhere = await farEnd(says(whole(api, "stolen")));
    const far = await farEnd(refuses(307, "", { location: `${elsewhere.url}/messages` }));
    expect(await ask(models(far.url, api))).toMatchObject([{ type: "error", kind: "request", message: expect.stringContaining("providers.near.endpoint") }]);
    expect(elsewhere.requests).toEqual([]);
    expect(far.requests).toHaveLength(1);
  });

  it("ENG-3 reads the first 64 KB of a refusal and lets the rest be", async () => {
    const far = await farEnd((_, response) => {
      response.writeHead(400, { "content-type": "application/json" });
      const more = () => {
        while (!response.destroyed && response.write("x".repeat(65_536)));
      };
      response.on("drain", more);
      more();
    });
    expect(await ask(models(far.url, api))).toMatchObject([{ type: "error", kind: "request" }]);
    await expect.poll(() => far.connections.size, { timeout: 5_000 }).toBe(0);
  });

  it("ENG-3 takes characters that are cut in the middle, lines that end in CR LF, and comments", async () => {
    const bytes = Buffer.from(`: welcome\r\n\r\n${whole(api, "grüße 👍").replaceAll("\n", "\r\n")}`);
    const far = await farEnd(async (_, response) => {
      response.writeHead(200);
      for (const byte of bytes) response.write(Buffer.of(byte));
      response.end();
    });
    expect(replyOf(await ask(models(far.url, api))).text).toBe("grüße 👍");
  });

  it("ENG-12 waits as long as the API asks for, once, and tells that it waits", async () => {
    const far = await farEnd((request, response, nth) =>
      (nth < 3 ? refuses(429, { error: { message: "slow down" } }, { "retry-after": "0.05" }) : says(whole(api)))(request, response),
    );
    const events = await ask(models(far.url, api));
    expect(events.filter(({ type }) => type === "waiting")).toMatchObject([{ retryAfterMs: 50 }, { retryAfterMs: 50 }]);
    expect(told(events).at(-1)).toBe("end");
    const impatient = await farEnd(refuses(429, { error: { message: "slow down" } }, { "retry-after": "61" }));
    expect(await ask(models(impatient.url, api))).toMatchObject([
      { type: "error", kind: "rate-limit", message: expect.stringContaining("slow down"), retryAfterMs: 61_000 },
    ]);
    expect(impatient.requests).toHaveLength(1);
  });

  it("ENG-12 an abort ends the wait for another try", async () => {
    const far = await farEnd(refuses(503, {}, { "retry-after": "30" }));
    const abort = new AbortController();
    const events: ModelEvent[] = [];
    for await (const one of models(far.url, api).stream({ agent: "ada", messages: [hello], signal: abort.signal })) {
      events.push(one);
      abort.abort();
    }
    expect(told(events)).toEqual(["waiting"]);
  });

  it.each([
    [401, { error: { message: `wrong key ${KEY}` } }, "auth"],
    [402, { error: { message: "no credit" } }, "billing"],
    [429, { error: { code: "insufficient_quota", message: "no credit" } }, "billing"],
    [400, { error: { message: "unknown field" } }, "request"],
    [404, { error: { message: "no such model" } }, "request"],
    [400, { error: { message: "prompt is too long: 210000 tokens > 200000 maximum" } }, "context"],
    [400, { error: { code: "context_length_exceeded", message: "This model's maximum context length is 8192 tokens." } }, "context"],
    [413, "<html>too large</html>", "context"],
  ])("ENG-13 calls status %i with %j by its kind, and asks once", async (status, body, kind) => {
    const far = await farEnd(refuses(status as number, body as object));
    const events = await ask(models(far.url, api));
    expect(events).toMatchObject([{ type: "error", kind }]);
    expect(JSON.stringify(events)).not.toContain("<html>");
    expect(far.requests).toHaveLength(1);
  });

  it("ENG-13 an error inside of the stream is told by its kind before the first word, and as cut after it", async () => {
    const error = { type: "overloaded_error", code: "overloaded_error", message: "Overloaded" };
    const inside = api === "anthropic" ? event({ type: "error", error }) : event({ error });
    const far = await farEnd((request, response, nth) => says(...(nth === 1 ? [start, inside] : [start, text("half"), inside]))(request, response));
    const events = await ask(models(far.url, api));
    expect(events.filter(({ type }) => type !== "usage")).toMatchObject([
      { type: "waiting", reason: expect.stringContaining("Overloaded") },
      { text: "half" },
      { type: "error", kind: "cut", message: expect.stringContaining("Overloaded") },
    ]);
  });
});
