import fc from "fast-check";
import { expect, it } from "vitest";
import { parseDefinition } from "./definition.ts";
import { fillHttp, type HttpWork } from "./http-work.ts";
import type { Value } from "./inputs.ts";

const inputs = [{ name: "x" }, { name: "n", type: "number" }, { name: "b", type: "boolean" }];
const parse = (content: Record<string, unknown>) => parseDefinition("test", { kind: "http", url: "https://example.org/", inputs, ...content }).work as HttpWork;
const fill = (content: Record<string, unknown>, values: Record<string, Value> = {}, env: Record<string, string> = {}) =>
  fillHttp(parse(content), new Map(Object.entries(values)), (name) => env[name] ?? "");
const refusal = (field: string, words: string, code = "SVC_OPERATOR_ACTION_INVALID") =>
  expect.objectContaining({ code, field, message: expect.stringContaining(words) });

it("ACT-08 percent-encodes values in the address", () => {
  const url = "https://example.org/w/{{x}}?q={{x}}&n={{n}}#{{b}}";
  expect(fill({ url }, { x: "a/b?c&d=é #", n: 1.5, b: false }).url).toBe(
    "https://example.org/w/a%2Fb%3Fc%26d%3D%C3%A9%20%23?q=a%2Fb%3Fc%26d%3D%C3%A9%20%23&n=1.5#false",
  );
});

it("ACT-08 keeps every value one segment and one parameter, and the origin as written", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "binary" }).filter((text) => !/\p{Surrogate}|^\.{1,2}$/u.test(text)),
      (x) => {
        const call = fill({ url: "https://example.org:8443/w/{{x}}/end?q={{x}}&z=1" }, { x });
        const url = new URL(call.url);
        expect(url.origin).toBe("https://example.org:8443");
        expect(call.origin).toBe("https://example.org:8443");
        expect(url.pathname.split("/").map(decodeURIComponent)).toEqual(["", "w", x, "end"]);
        expect([...url.searchParams]).toEqual([
          ["q", x],
          ["z", "1"],
        ]);
      },
    ),
    { numRuns: 2_000 },
  );
});

it.each([
  "https://{{x}}/",
  "https://a.{{x}}",
  "{{x}}",
  "{{x}}://example.org/",
  "https://example.org:{{n}}/",
  "https://{{x}}@example.org/",
  "https://example.org{{x}}",
  "https://${HOST}{{x}}/",
  "${BASE}{{x}}",
])("refuses %j at load: no input may change scheme, host or port", (url) => {
  expect(() => parse({ url })).toThrow(refusal("url", "url "));
});

it("refuses at the call what a variable's content makes of the address", () => {
  expect(fill({ url: "${BASE}/w/{{x}}" }, { x: "a" }, { BASE: "http://127.0.0.1:8123/api" })).toMatchObject({
    url: "http://127.0.0.1:8123/api/w/a",
    origin: "http://127.0.0.1:8123",
  });
  for (const BASE of ["", "ftp://example.org", "file:///etc"])
    expect(() => fill({ url: "${BASE}/w" }, {}, { BASE })).toThrow(refusal("url", "does not become", "SVC_OPERATOR_ACTION_VALUE"));
  expect(() => fill({ url: "${SCHEME}://{{x}}/" }, { x: "evil.example" }, { SCHEME: "https" })).toThrow(refusal("url", "host", "SVC_OPERATOR_ACTION_VALUE"));
});

it.each([".", ".."])("refuses the value %j, which would climb in the path", (x) => {
  expect(() => fill({ url: "https://example.org/items/{{x}}/all" }, { x })).toThrow(refusal("url", "dots", "SVC_OPERATOR_ACTION_VALUE"));
  expect(fill({ url: "https://example.org/?q={{x}}" }, { x }).url).toBe(`https://example.org/?q=${x}`);
});

it("ACT-08 escapes values inside JSON strings, and writes typed JSON outside of them", () => {
  const body = '{"text": "say {{x}}", "raw": {{x}}, "n": {{n}}, "b": {{b}}, "key": "${KEY}"}';
  const values = { x: 'a"b\\c\n\u2028", "admin": true', n: 5, b: true };
  const call = fill({ method: "post", body }, values, { KEY: 'k"1' });
  expect(JSON.parse(call.body ?? "")).toEqual({ text: `say ${values.x}`, raw: values.x, n: 5, b: true, key: 'k"1' });
  expect(call).toMatchObject({ method: "POST", headers: { "content-type": "application/json" } });
  expect(JSON.parse(fill({ method: "POST", body }).body ?? "")).toEqual({ text: "say ", raw: null, n: null, b: null, key: "" });
});

it("ACT-08 changes no other part of a JSON body, whatever the value", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (x) => {
      const sent = JSON.parse(fill({ method: "PUT", body: '[{"a":"<{{x}}>","b":{{x}}},"\\"{{x}}\\\\",1]' }, { x }).body ?? "");
      expect(sent).toEqual([{ a: `<${x}>`, b: x }, `"${x}\\`, 1]);
    }),
    { numRuns: 1_000 },
  );
});

it.each(['{"a": "{{x}}', '{"a": b{{x}}}', '{"a": "x\\{{x}}"}', "[{{x}}{{x}}]"])("refuses the JSON body %j at load", (body) => {
  expect(() => parse({ method: "POST", body })).toThrow(refusal("body", "not JSON"));
});

it("percent-encodes a form, leaves plain text, and refuses inputs in bodies it cannot escape", () => {
  const form = { method: "POST", headers: { "Content-Type": "application/x-www-form-urlencoded" }, body: "q={{x}}&z=1" };
  expect(fill(form, { x: "a&z=2" }).body).toBe("q=a%26z%3D2&z=1");
  expect(fill({ method: "POST", body: "hello {{x}}" }, { x: "a\nb" })).toMatchObject({
    body: "hello a\nb",
    headers: { "content-type": "text/plain; charset=utf-8" },
  });
  const xml = { method: "POST", headers: { "content-type": "application/xml" } };
  expect(() => parse({ ...xml, body: "<a>{{x}}</a>" })).toThrow(refusal("body", "application/xml"));
  expect(fill({ ...xml, body: "<a/>" }).body).toBe("<a/>");
});

it.each(["a\r\nx-evil: 1", "a\nb", "a\rb", "a\0b", "漢"])("refuses %j in a header", (x) => {
  expect(() => fill({ headers: { "X-Note": "n {{x}}" } }, { x })).toThrow(refusal("headers.x-note", "line end", "SVC_OPERATOR_ACTION_VALUE"));
  expect(() => fill({ headers: { Authorization: "Bearer ${KEY}" } }, {}, { KEY: x })).toThrow(
    refusal("headers.authorization", "line end", "SVC_OPERATOR_ACTION_VALUE"),
  );
});

it("takes a method from an input only where it is one", () => {
  expect(fill({ method: "{{x}}" }, { x: "delete" }).method).toBe("DELETE");
  expect(() => fill({ method: "{{x}}" }, { x: "GET / HTTP/1.1\r\n" })).toThrow(refusal("method", "GET", "SVC_OPERATOR_ACTION_VALUE"));
  expect(() => fill({ method: "{{x}}", body: "{}" }, { x: "GET" })).toThrow(refusal("method", "body", "SVC_OPERATOR_ACTION_VALUE"));
});

it.each<[Record<string, unknown>, string]>([
  [{ url: "ftp://example.org" }, "url"],
  [{ url: 1 }, "url"],
  [{ method: "FETCH" }, "method"],
  [{ method: "GET", body: "{}" }, "body"],
  [{ headers: { Host: "evil" } }, "headers.Host"],
  [{ headers: { "Content-Length": "1" } }, "headers.Content-Length"],
  [{ headers: { "a b": "1" } }, "headers.a b"],
  [{ headers: { A: "1", a: "2" } }, "headers.a"],
  [{ headers: ["a"] }, "headers"],
  [{ method: "POST", body: { a: 1 } }, "body"],
  [{ url: "https://example.org/{{nobody}}" }, "url"],
  [{ headers: { a: "{{nobody}}" } }, "headers.a"],
  [{ command: "ls" }, "command"],
])("refuses %j", (content, field) => {
  expect(() => parse(content)).toThrow(expect.objectContaining({ code: "SVC_OPERATOR_ACTION_INVALID", field }));
});
