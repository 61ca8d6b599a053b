import { readFileSync, renameSync, statSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createLog } from "./log.ts";
import { openLogFile, writeLine } from "./log-file.ts";

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-log-"));
  file = join(folder, "deep/daemon.log");
});
afterEach(() => rm(folder, { recursive: true }));

const MEGABYTE = 1_048_576;
const linesOf = (path: string) => readFileSync(path, "utf8").split("\n").filter(Boolean);
const numbersIn = (path: string) => linesOf(path).map((line) => (JSON.parse(line) as { n: number }).n);

it("OPR-M3 a log file is rotated by its size, keeps so many, and loses no line in between", async () => {
  let limits = { logMegabytes: 1, logFiles: 3 };
  const log = createLog({ destination: file, secrets: () => [], limits: () => limits });
  const text = "x".repeat(10_000);
  for (let n = 0; n < 350; n += 1) log.info({ n }, text);
  expect((await readdir(join(folder, "deep"))).sort()).toEqual(["daemon.log", "daemon.log.1", "daemon.log.2"]);
  for (const path of [file, `${file}.1`, `${file}.2`]) {
    expect(statSync(path).size).toBeLessThanOrEqual(MEGABYTE);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  }
  const kept = [`${file}.2`, `${file}.1`, file].flatMap(numbersIn);
  expect(kept).toEqual(Array.from({ length: kept.length }, (_, at) => 350 - kept.length + at));
  expect(kept.length).toBeGreaterThan(200);
  limits = { logMegabytes: 1, logFiles: 1 };
  for (let n = 0; n < 110; n += 1) log.info({ n }, text);
  expect(await readdir(join(folder, "deep"))).toEqual(["daemon.log"]);
});

it("OPR-M3 a log file that was moved away is written on until it is reopened", () => {
  const log = createLog({ destination: file, secrets: () => [] });
  log.info({ n: 1 }, "before");
  renameSync(file, `${file}.moved`);
  log.child("x").info({ n: 2 }, "still there");
  log.child("x").reopen();
  log.child("x").info({ n: 3 }, "here");
  expect(numbersIn(`${file}.moved`)).toEqual([1, 2]);
  expect(numbersIn(file)).toEqual([3]);
});

it("an open file goes on where it is and counts what it holds", async () => {
  const limits = () => ({ logMegabytes: 1, logFiles: 2 });
  for (let n = 0; n < 12; n += 1) createLog({ destination: file, secrets: () => [], limits }).info({ n }, "y".repeat(100_000));
  expect((await readdir(join(folder, "deep"))).sort()).toEqual(["daemon.log", "daemon.log.1"]);
  expect([`${file}.1`, file].flatMap(numbersIn)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
});

it("FAULT-09 a line that cannot be written is lost and ends nothing, and the next one that can be is in the file", () => {
  const log = openLogFile("/dev/full", () => ({ logMegabytes: 10, logFiles: 3 }));
  for (let n = 0; n < 100; n += 1) log.write(`${n}\n`);
  log.reopen();
  expect(writeLine(99_999, "no such descriptor\n")).toBe(false);
});
