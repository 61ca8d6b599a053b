import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

/** The repository. */
export const ROOT = resolve(import.meta.dirname, "../..");
/** The program as it is installed. */
export const SVC = join(ROOT, "cli/bin/svc.cjs");

/** Milliseconds from the start of a Node program to its end. Throws when it fails. */
export async function timeNode(args, options = {}) {
  const began = performance.now();
  const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"], ...options });
  let errors = "";
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`node ${args.join(" ")} ended with ${code}: ${errors}`);
  return performance.now() - began;
}

/** Runs a Node program to its end and answers the JSON that it printed last. */
export async function jsonOf(args, options = {}) {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"], ...options });
  let out = "";
  child.stdout.on("data", (chunk) => {
    out += chunk;
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`node ${args.join(" ")} ended with ${code}`);
  return JSON.parse(out.trim().split("\n").at(-1));
}

/** Starts a Node program that prints one line of JSON when it is ready. `facts` is that line. */
export async function startNode(args, options = {}) {
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"], ...options });
  const ended = once(child, "close");
  const lines = createInterface({ input: child.stdout });
  const first = await Promise.race([once(lines, "line"), ended.then(([code]) => Promise.reject(new Error(`node ${args.join(" ")} ended with ${code}`)))]);
  return {
    pid: child.pid,
    facts: JSON.parse(first[0]),
    /** Writes a line and answers the next one that it prints, as JSON. */
    async ask(line) {
      const answer = once(lines, "line");
      child.stdin.write(`${line}\n`);
      return JSON.parse((await answer)[0]);
    },
    /** Asks the probe that was loaded into it. */
    async probe(question) {
      const answer = once(child, "message");
      child.send(question);
      return (await answer)[0];
    },
    async stop() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/** A port of this machine that was free a moment ago. */
export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** GET a path and take its JSON; rejects when nothing listens. */
export function getJson(port, path) {
  return new Promise((done, failed) => {
    request({ host: "127.0.0.1", port, path, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => done(response.statusCode < 500 ? JSON.parse(text) : undefined));
      response.on("error", failed);
    })
      .on("error", failed)
      .end();
  });
}

/** Asks for `path` every few milliseconds until it is answered well. */
export async function answered(port, path, pauseMs = 4) {
  for (;;) {
    try {
      const answer = await getJson(port, path);
      if (answer !== undefined) return answer;
    } catch {
      // It does not listen yet.
    }
    await new Promise((done) => setTimeout(done, pauseMs));
  }
}

/** Kilobytes that the process holds in memory. */
export const residentKb = (pid) => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]);

/** Processor time of the threads that a process has, in milliseconds: to the nanosecond, where the clock of processes has ticks of ten milliseconds. */
export function cpuMs(pid) {
  let ns = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) ns += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
  return ns / 1e6;
}

/** Until V8 has optimised what a start has run, and has collected what it left: for its first twenty seconds an idle daemon takes five times what it takes later. */
const SETTLE_MS = 25_000;
const IDLE_MS = 10_000;

/** Megabytes that a process holds once it has settled, and processor time of ten seconds without work, in milliseconds. */
export async function idleCosts(pid) {
  await new Promise((done) => setTimeout(done, SETTLE_MS));
  const before = cpuMs(pid);
  await new Promise((done) => setTimeout(done, IDLE_MS));
  return [residentKb(pid) / 1024, cpuMs(pid) - before];
}
