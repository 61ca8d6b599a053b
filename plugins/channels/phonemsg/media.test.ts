import type { FetchAnswer, GuardedFetch, Media } from "@svc/sdk";
import { expect, it } from "vitest";
import { upload } from "./media.ts";

const signal = new AbortController().signal;
const answer = (status: number, body: string): FetchAnswer => ({
  ...{ status, statusText: "", headers: {}, url: "", truncated: false },
  body: Buffer.from(body),
  text: () => body,
});
const GIVEN = "https://files.example/cat.png";
const fetch: GuardedFetch = async (url) => (url === GIVEN ? answer(200, "the picture") : answer(404, ""));
const key = (length: number) => Buffer.alloc(length);
const vendor = { getMediaKeys: async () => ({ iv: key(16), cipherKey: key(32), macKey: key(32) }), MEDIA_PATH_MAP: { image: "/mms/image" } };
const store: GuardedFetch = async (url, init) =>
  url.startsWith("https://store.example/") ? answer(200, JSON.stringify({ url: "u", direct_path: "/d" })) : fetch(url, init);
const socket = { refreshMediaConn: async () => ({ hosts: [{ hostname: "store.example" }], auth: "a" }) };
const send = (media: Media, by = store) => upload({ vendor, fetch: by } as never, socket as never, media, signal);

it("a file that is not there is refused for good: it has not arrived by any try", async () => {
  await expect(send({ kind: "image", path: "/nowhere/cat.png" })).rejects.toMatchObject({ failure: "permanent", message: expect.stringContaining("ENOENT") });
  await expect(send({ kind: "image", url: "https://files.example/gone.png" })).rejects.toMatchObject({ failure: "permanent" });
});

it("a file is sent from its address, and again where the platform answers with no JSON", async () => {
  expect(await send({ kind: "image", url: GIVEN })).toMatchObject({ imageMessage: { directPath: "/d", fileLength: "the picture".length } });
  const broken: GuardedFetch = async (url, init) => (url.startsWith("https://store.example/") ? answer(200, "<html>") : fetch(url, init));
  await expect(send({ kind: "image", data: key(1) }, broken)).rejects.toMatchObject({ failure: "retry" });
});
