import { LAYERS, type Layer, turnText } from "@svc/sdk";
import fc from "fast-check";
import { expect, it } from "vitest";
import { fitLayers, sizeOf } from "./cap.ts";

const layerOf = (name: string, text: string): Layer => ({ name, priority: LAYERS[name as keyof typeof LAYERS] ?? 9, text });
const named = Object.keys(LAYERS);

it("CTX-04 whatever may be cut fits, what already fits is left as it is, and the order stays", () => {
  const cuttable = fc.constantFrom(...named.filter((name) => !["channel rules", "scope", "identity"].includes(name)), "memory");
  const text = fc.array(fc.string({ maxLength: 120 }), { maxLength: 20 }).map((lines) => ["## Heading", ...lines].join("\n"));
  fc.assert(
    fc.property(fc.array(fc.tuple(cuttable, text), { maxLength: 8 }), fc.integer({ min: 0, max: 3_000 }), (given, cap) => {
      const layers = given.map(([name, words]) => layerOf(name, words));
      const fitted = fitLayers(layers, cap);
      expect(sizeOf(fitted)).toBeLessThanOrEqual(Math.max(0, cap));
      if (sizeOf(layers) <= cap) expect(fitted).toEqual(layers);
      expect(fitted.map(({ name }) => name)).toEqual(layers.map(({ name }) => name));
      for (const [at, { text: words }] of fitted.entries()) expect(words.length).toBeLessThanOrEqual(layers[at]!.text.length);
    }),
  );
});

it("CTX-04 of one long line history keeps the end and artifacts the beginning", () => {
  const line = `begin ${"x".repeat(500)} end`;
  const [history] = fitLayers([layerOf("history", `## H\n${line}`)], 100);
  expect(history?.text).toMatch(/^## H\n….* end$/);
  const [artifacts] = fitLayers([layerOf("artifacts", `## A\n${line}`)], 100);
  expect(artifacts?.text).toMatch(/^## A\nbegin x+…$/);
});

it("CTX-04 layers of other features go after history and wiki hint, before artifacts", () => {
  const words = `## H\n${"word\n".repeat(40)}end`;
  const layers = ["artifacts", "memory", "wiki hint", "history"].map((name) => layerOf(name, words));
  const left = (cap: number) =>
    fitLayers(layers, cap)
      .filter(({ text }) => text === words)
      .map(({ name }) => name);
  const size = words.length + 2;
  expect(left(3 * size)).toEqual(["artifacts", "memory", "wiki hint"]);
  expect(left(2 * size)).toEqual(["artifacts", "memory"]);
  expect(left(size)).toEqual(["artifacts"]);
  expect(fitLayers(layers, 0).some(({ text, whole }) => text === "" && whole !== undefined)).toBe(true);
  expect(turnText({ layers: fitLayers(layers, 0), prompt: "hello" })).toBe("hello");
});
