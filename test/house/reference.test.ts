import * as sdk from "@svc/sdk";
import * as engine from "@svc/sdk/engine";
import * as foreign from "@svc/sdk/foreign-text";
import * as host from "@svc/sdk/host";
import * as program from "@svc/sdk/program-tier";
import * as testing from "@svc/sdk/testing";
import * as loop from "@svc/sdk/tool-loop";
import { expect, it } from "vitest";
import { read } from "./house.ts";
import { declaredIn } from "./reference.ts";

it("AUT-8 the reference names everything that the sdk exports", () => {
  const page = read("docs/sdk-reference.md");
  const named = new Set([...page.matchAll(/^#### (\w+)$/gm)].map(([, name]) => name));
  const values = [sdk, testing, engine, foreign, host, loop, program].flatMap((entry) => Object.keys(entry));
  const types = ["Message", "ChannelTraits", "Jobs", "Guard", "Sockets", "StreamingFetch", "StoreDriver", "ChannelSubject", "TierSubject", "Manifest"];
  expect([...values, ...types].filter((name) => !named.has(name))).toEqual([]);
});

it("AUT-8 a declaration is taken whole, with the words that belong to it", () => {
  const source = `import type { A } from "./a.ts";
/** Not of the next one. */
type Hidden = { a: 1 };
/** One of two. */
export type Two = {
    /** A brace } in words. */
    readonly a: "{";
} | {
    readonly b: 2;
};
export declare const three: () => void;
`;
  expect(declaredIn(source)).toEqual([
    { name: "Two", words: "One of two.", code: `type Two = {\n  /** A brace } in words. */\n  readonly a: "{";\n} | {\n  readonly b: 2;\n};` },
    { name: "three", words: "", code: "const three: () => void;" },
  ]);
});
