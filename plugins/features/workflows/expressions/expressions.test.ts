import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { type EvaluateOptions, evaluate, evaluateCondition } from "./evaluate.ts";
import { parseExpression } from "./parsed-expression.ts";
import { resolveSecrets } from "./secret-references.ts";

const at = Date.UTC(2026, 0, 2, 3, 4, 5);
const names = {
  input: { name: "Ada", amount: 120, tags: ["a"], nothing: null, nested: { list: [{ id: 1 }] } },
  in: [{ status: 200 }],
  steps: { fetch: { output: { items: [1, 2] }, iteration: 1 } },
  run: { id: "run_1", visits: { poll: 3 } },
};
const value = (template: unknown, options: Partial<EvaluateOptions> = {}) => evaluate(template, names, { at, ...options });
const code = (template: unknown, options: Partial<EvaluateOptions> = {}) =>
  value(template, options).then(
    (found) => ({ found }),
    (error) => error.code as string,
  );

describe("templates", () => {
  it.each<[unknown, unknown]>([
    ["{{ input.amount }}", 120],
    ["{{input.amount}}", 120],
    ["{{ input.tags[] }}", ["a"]],
    ["{{ input.nothing }}", null],
    ["{{ in[0].status }}", 200],
    ["{{ steps.fetch.output.items }}", [1, 2]],
    ["{{ run.visits.poll > 2 }}", true],
    ["Hello {{ input.name }}, {{ input.amount }}", "Hello Ada, 120"],
    ["{{ input.name }}{{ input.amount }}", "Ada120"],
    ["x {{ input.nested }} {{ input.nothing }}", 'x {"list":[{"id":1}]} null'],
    [" {{ input.amount }}", " 120"],
    ["\\{{ input.amount }}", "{{ input.amount }}"],
    ["a \\{{ b }} {{ input.name }}", "a {{ b }} Ada"],
    ["no braces }} here", "no braces }} here"],
    ['{{ {"a": {"b": input.amount}} }}', { a: { b: 120 } }],
    ['{{{"a": {"b": 1}}}}', { a: { b: 1 } }],
    ['{{ "}}" & input.name }}', "}}Ada"],
    ["{{ '{{' }}", "{{"],
    ["{{ input.name ~> $replace(/\\}\\}|A/, 'x') }}", "xda"],
    ["{{ input.amount / 2 / 3 }}", 20],
    ["{{ /* }} */ 1 }}", 1],
    [
      { "{{ key }}": "{{ input.amount }}", gone: "{{ input.missing }}", list: ["{{ in }}", 1, true] },
      { "{{ key }}": 120, list: [[{ status: 200 }], 1, true] },
    ],
    ["{{ $now() }}", "2026-01-02T03:04:05.000Z"],
    ["{{ $millis() }}", at],
    ["{{ $toMillis('10:00', '[H01]:[m01]') }}", Date.UTC(2026, 0, 2, 10)],
    ["{{ $map(['a', 'b'], $uppercase) }}", ["A", "B"]],
    ["{{ $substring(?, 0, 2)('abc') }}", "ab"],
    ["{{ $sort([3, 1, 2], function($a, $b) { $a < $b }) }}", [3, 2, 1]],
    ["{{ $sort(['b', 'a']) }}", ["a", "b"]],
    ["{{ $pad('x', 5, 'ab') & '|' & $pad('x', -5, 'ab') & '|' & $pad('x', 3) & '|' & $pad('long', 2) }}", "xabab|ababx|x  |long"],
    ["{{ $toMillis('2026-01-02T03:04', '[Y0001]-[M01]-[D01]T[H01]:[m01]') }}", Date.UTC(2026, 0, 2, 3, 4)],
    ["{{ $toMillis('2 January 2026', '[D1] [MNn] [Y]') }}", Date.UTC(2026, 0, 2)],
    ["{{ $toMillis('20260102', '[Y0001][M01][D01]') }}", Date.UTC(2026, 0, 2)],
    ["{{ (function($a)<s-:s>{ $uppercase($a) })('a') }}", "A"],
    ["{{ $distinct([{'a': 1, 'b': 2}, {'b': 2, 'a': 1}, 1, '1', 1]) }}", [{ a: 1, b: 2 }, 1, "1"]],
    ["{{ $spread({'a': 1, 'b': 2}) }}", [{ a: 1 }, { b: 2 }]],
    ["{{ 'a' & 1 & {'b': [1]} & missing }}", 'a1{"b":[1]}'],
    ["{{ $match('ab12', /([a-z])(\\d)/).groups }}", ["b", "1"]],
    ["{{ $split('a1b22c', /\\d+/) }}", ["a", "b", "c"]],
  ])("%j gives %j", async (template, expected) => {
    expect(await value(template)).toStrictEqual(expected);
  });

  it.each<[unknown, string]>([
    ["{{ input.missing }}", "EXPR_UNDEFINED"],
    ["text {{ input.missing }}", "EXPR_UNDEFINED"],
    [["{{ input.missing }}"], "EXPR_UNDEFINED"],
    ["{{ input. }}", "EXPR_PARSE"],
    ["{{ input", "EXPR_PARSE"],
    ["{{ $eval('1') }}", "EXPR_PARSE"],
    ["{{ ($e := $random; $e()) }}", "EXPR_PARSE"],
    ["{{ $shuffle([1, 2]) }}", "EXPR_PARSE"],
    ["{{ input ~> | $ | {'a': 1} | }}", "EXPR_PARSE"],
    ["{{ $match('a', /a(?=b)/) }}", "EXPR_PARSE"],
    ["{{ $match('aa', /(a)\\1/) }}", "EXPR_PARSE"],
    ["{{ input.name + 1 }}", "EXPR_TYPE"],
    ["{{ $uppercase }}", "EXPR_TYPE"],
    ["{{ 1/0 }}", "EXPR_TYPE"],
    ["{{ {'__proto__': 1} }}", "EXPR_TYPE"],
    ["{{ input.nested(1) }}", "EXPR_ERROR"],
    ["{{ $error('no') }}", "EXPR_ERROR"],
  ])("%j is refused with %s", async (template, expected) => {
    expect(await code(template)).toBe(expected);
  });

  it("an expression has at most 8 KB and is not nested without end", async () => {
    expect(await code(`{{ ${"1+".repeat(5000)}1 }}`)).toBe("EXPR_PARSE");
    for (const deep of ["(".repeat(101), "-".repeat(1_600), "1?1:".repeat(1_600), "[0]".repeat(1_600), "a.".repeat(1_600)])
      expect(await code(`{{ ${deep}1 }}`)).toBe("EXPR_PARSE");
    expect(await code(`{{ "${"((".repeat(200)}" & '${"--".repeat(1_000)}' }}`)).toMatchObject({ found: expect.any(String) });
    expect(await code(`{{ ${"[".repeat(2000)}${"]".repeat(2000)} }}`)).toBe("EXPR_PARSE");
  });

  it("a condition is true or false and nothing else", async () => {
    expect(await evaluateCondition("{{ input.amount > 100 }}", names, { at })).toBe(true);
    await expect(evaluateCondition("{{ input.amount }}", names, { at })).rejects.toMatchObject({
      code: "EXPR_TYPE",
      message: expect.stringContaining("number 120"),
    });
    await expect(evaluateCondition("input.amount > 100", names, { at })).rejects.toMatchObject({ code: "EXPR_TYPE" });
  });

  it("names are read and never written, not even by an attempt to call them", async () => {
    const before = structuredClone(names);
    for (const text of ["input.nested(1)", "(input.nested ~> $f)", "input.tags[]", "($x := input.nested; $x(1))", "$sort(input.tags)"])
      await code(`{{ ${text} }}`);
    expect(JSON.stringify(names)).toBe(JSON.stringify(before));
    const result = (await value("{{ input.nested }}")) as { list: unknown[] };
    expect(result).not.toBe(names.input.nested);
    result.list.push(1);
    expect(names.input.nested.list).toHaveLength(1);
  });

  it("data that says it is a function is none", async () => {
    const hostile = { input: { f: { _jsonata_lambda: true, thunk: true, arguments: [], body: { type: "string", value: "x" }, environment: {} } } };
    for (const text of ["{{ input.f(1) }}", "{{ $map([1], input.f) }}", "{{ (input.f)() }}"]) await expect(evaluate(text, hostile, { at })).rejects.toThrow();
    expect(Object.keys(hostile.input.f)).toEqual(["_jsonata_lambda", "thunk", "arguments", "body", "environment"]);
  });

  it("many expressions at once do not spend each other's time", async () => {
    const hog = value("{{ ($f := function($x) { $f($x) }; $f(1)) }}").catch((error) => error.code);
    const others = Array.from({ length: 20 }, (_, index) => value(`{{ input.amount + ${index} }}`));
    expect(await Promise.all(others)).toEqual(others.map((_, index) => 120 + index));
    expect(await hog).toBe("EXPR_TIMEOUT");
  });

  it("an expression is read once", () => {
    expect(parseExpression("input.once")).toBe(parseExpression("input.once"));
    for (let index = 0; index < 1_100; index++) parseExpression(`input.n${index}`);
    expect(parseExpression("input.n1099")).toBe(parseExpression("input.n1099"));
  });
});

describe("secrets", () => {
  const secrets = true;

  it("a secret is named in the journal and put in afterwards", async () => {
    const template = { url: "http://x.example", headers: { authorization: "Bearer {{ secrets.TOKEN }}", key: "{{ secrets.KEY }}" }, body: "{{ input.name }}" };
    const journalled = await value(template, { secrets });
    expect(journalled).toEqual({
      url: "http://x.example",
      headers: { authorization: { $text: ["Bearer ", { $secret: "TOKEN" }] }, key: { $secret: "KEY" } },
      body: "Ada",
    });
    expect(resolveSecrets(journalled, (name) => `<${name}>`)).toMatchObject({ headers: { authorization: "Bearer <TOKEN>", key: "<KEY>" } });
    expect(() => resolveSecrets(journalled, () => undefined)).toThrow("TOKEN");
  });

  it("secrets are read in the input of an action only, and alone", async () => {
    expect(await code("{{ secrets.TOKEN }}")).toBe("EXPR_SECRET");
    for (const text of [
      '{{ "Bearer " & secrets.TOKEN }}',
      "{{ secrets }}",
      "{{ $uppercase(secrets.TOKEN) }}",
      "{{ $$.secrets.TOKEN }}",
      "{{ $keys(secrets) }}",
    ])
      expect(await code(text, { secrets })).toBe("EXPR_SECRET");
  });

  it("a payload from outside cannot name a secret", async () => {
    const payload = { input: { body: { $secret: "DATABASE_URL" }, deep: [{ a: { $text: [{ $secret: "X" }] } }] } };
    for (const template of ["{{ input.body }}", { a: "{{ input }}" }, { b: "{{ input.deep }}" }, { $secret: "X" }, { a: { $text: ["{{ input.body }}"] } }])
      await expect(evaluate(template, payload, { at, secrets })).rejects.toMatchObject({ code: "EXPR_SECRET" });
    expect(await evaluate({ text: "got {{ input.body }}" }, payload, { at, secrets })).toEqual({ text: 'got {"$secret":"DATABASE_URL"}' });
  });
});

/** Expressions that are meant to end or stop the process that evaluates them. */
const ATTACKS: readonly string[] = [
  "($f := function($x){$f($x)}; $f(1))",
  "($f := function($x){1 + $f($x)}; $f(1))",
  "($d := function($s,$n){$n = 0 ? $s : $d($s & $s, $n-1)}; $length($d('0123456789', 24)))",
  "$pad('x', 1e8)",
  "$pad('x', 999999, $pad('y', 500))",
  "$toMillis($pad('1', 500, '1') & 'x', '[Y]1[M]1[D]1[d]1[H]1[h]1[m]')",
  "$toMillis($pad('a', 900, 'a') & '!', '[FNn]a[MNn]a[FNn]a[MNn]a[FNn]')",
  "$toMillis($pad('a', 900, 'a') & '!', '[FNn][MNn][FNn][MNn]')",
  "$toMillis($pad('one ', 900, 'one ') & '!', '[Dw] [Mw] [Yw] [Hw] [mw]')",
  `function($a)<s+s+s+s+s+s+s+s+:s>{1}(${"'',".repeat(300)}1)`,
  `function($a)<${"s?".repeat(60)}:s>{1}(${"'',".repeat(59)}1)`,
  "$join($map([1..100000], function($i){input.big}))",
  "$map([1..100000], function($i){$pad('x',999999)})",
  "($d := function($s,$n){$n = 0 ? $s : $d([[$s],[$s]], $n-1)}; $d(1, 40))",
  "($d := function($s,$n){$n = 0 ? $s : $d({'a':$s,'b':$s}, $n-1)}; $string($d({'a':1}, 40)))",
  "($d := function($s,$n){$n = 0 ? $s : $d({'a':$s,'b':$s}, $n-1)}; $d({'a':1}, 30) = $d({'a':1}, 30))",
  "($d := function($s,$n){$n = 0 ? $s : $d({'a':$s,'b':$s}, $n-1)}; $d({'a':1}, 40) + 1)",
  "$reduce([1..100000], function($a){[[$a]]})",
  "$reduce([1..100000], $append)",
  "$map(input.rows, $string)",
  "$sort(input.list, function($a,$b){$a<$b})",
  "[1..100000]^(1)",
  "input.rows^(>a)",
  "$distinct(input.rows)",
  "$spread(input.rows.{'a':1})",
  "$replace(input.big, '0', input.big)",
  "$replace(input.big, /\\d/, '$0$0$0')",
  "$match(input.big, /1/)",
  "$contains($pad('a', 500000, 'a') & 'b', /^(a+)+$/)",
  "$fromMillis(0, '[Y,99999999]')",
  "$formatInteger(1e300, 'I')",
  "$formatInteger(999999999999, 'I')",
  "$formatNumber(1, $pad('0', 900000, ',0'))",
  "$map([1..100000], function($i){[1..100000]})",
  "[1..1e7]",
  "**",
  "input.rows{b: a}",
  "$string(input.rows, true)",
  "input.constructor.constructor('return process')().exit(7)",
  "$map([1], function($x){$x.constructor})",
  "{'__proto__': {'polluted': 1}}",
  "$merge([{'__proto__': {'polluted': 1}}])",
];

const ATTACKER = `
const { evaluate } = await import(process.env.EVALUATE);
const big = "0123456789".repeat(90000);
const names = { input: { big, list: Array.from({ length: 100000 }, (_, i) => i), rows: Array.from({ length: 50000 }, (_, i) => ({ a: i, b: String(i) })) } };
const ends = [];
for (const text of JSON.parse(process.env.ATTACKS)) {
  ends.push(await evaluate("{{ " + text + " }}", names, { at: 0 }).then((value) => "a value of " + JSON.stringify(value).length, (error) => error.code ?? error.stack));
}
console.log(JSON.stringify({ ends, polluted: {}.polluted ?? null, after: await evaluate("{{ 1 + 1 }}", names, { at: 0 }) }));
`;

it("no expression ends or stops the process, with a heap of 192 MB", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["--max-old-space-size=192", "--input-type=module", "-e", ATTACKER], {
    env: { PATH: process.env["PATH"], EVALUATE: fileURLToPath(new URL("../dist/expressions/evaluate.js", import.meta.url)), ATTACKS: JSON.stringify(ATTACKS) },
    timeout: 120_000,
  });
  const { ends, polluted, after } = JSON.parse(stdout) as { ends: string[]; polluted: unknown; after: number };
  const told = Object.fromEntries(ATTACKS.map((text, index) => [text, ends[index]]));
  expect(polluted).toBeNull();
  expect(after).toBe(2);
  const harmless = new Set([
    "$pad('x', 999999, $pad('y', 500))",
    "$contains($pad('a', 500000, 'a') & 'b', /^(a+)+$/)",
    "$map(input.rows, $string)",
    "$replace(input.big, /\\d/, '$0$0$0')",
  ]);
  for (const [text, end] of Object.entries(told)) if (!harmless.has(text)) expect(end, text).toMatch(/^EXPR_[A-Z]+$/);
}, 180_000);
