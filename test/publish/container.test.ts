import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { instructions } from "./containerfile.ts";
import { Containers, containersMissing, type Outcome } from "./containers.ts";
import { registryMissing } from "./registry.ts";
import type { Released } from "./released.ts";

const FILE = join(ROOT, "cli/container/Containerfile");
const missing = registryMissing() ?? (await containersMissing());
if (missing !== undefined) console.warn(`The container is not tried: ${missing}`);

/** The command lines of the page's chapter on containers, in order. */
const documented = (): string[] => {
  const [, chapter = ""] = /^## In a container\n(.*?)^## /ms.exec(readFileSync(join(ROOT, "docs/operations.md"), "utf8")) ?? [];
  return [...chapter.matchAll(/^docker .*$/gm)].map(([line]) => line);
};

it("an instruction of a container file that is not understood is told", () => {
  expect(instructions("# a\nFROM b\nRUN c \\\n && d\n")).toEqual([
    { name: "FROM", rest: "b" },
    { name: "RUN", rest: "c   && d" },
  ]);
  expect(() => instructions("from b")).toThrow("no instruction");
});

describe.skipIf(missing !== undefined)("the container, on Debian, without privileges", () => {
  const ends: (() => Promise<unknown>)[] = [];
  let containers: Containers;
  const lines = documented();
  const docker = async (line: string): Promise<Outcome> =>
    containers.docker(
      ...line
        .split(/\s+/)
        .slice(1)
        .map((word) => (word.endsWith("/Containerfile") ? FILE : word)),
    );

  beforeAll(() => {
    const home = mkdtempSync(join(tmpdir(), "svc-container-"));
    ends.push(async () => rmSync(home, { recursive: true, force: true }));
    containers = new Containers(join(home, "containers"), (inject("released") as Released).address);
    ends.push(() => containers.close());
  });
  afterAll(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });

  it("is built by the steps of its file, and each documented command works", async () => {
    expect(lines.map((line) => line.split(" ")[1])).toEqual(expect.arrayContaining(["build", "run", "exec"]));
    for (const line of lines) {
      const { code, out, err } = await docker(line);
      expect(code, `${line}\n${out}${err}`).toBe(0);
      if (line.startsWith("docker run")) await expect.poll(async () => (await containers.health("svc")).code, { timeout: 60_000 }).toBe(0);
    }
    expect(containers.log("svc")).not.toMatch(/SVC_[A-Z_]+/);
  });

  it("runs as a user without capabilities, and writes to its volume alone", async () => {
    const status = containers.status("svc");
    expect(status).toMatch(/^Uid:\t1000\t1000\t1000\t1000$/m);
    expect(status).toMatch(/^CapEff:\t0+$/m);
    expect(status).toMatch(/^CapBnd:\t0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    for (const path of ["/opt/svc/x", "/etc/x", "/home/node/x"]) expect((await containers.exec(["svc", "touch", path])).code, path).not.toBe(0);
    expect((await containers.exec(["svc", "touch", "/opt/svc/x"])).err).toMatch(/Read-only file system/);
    expect(await containers.exec(["svc", "touch", "/data/x", "/tmp/x"])).toMatchObject({ code: 0 });
    const doctor = await containers.exec(["svc", "svc", "doctor"]);
    expect(doctor, doctor.out).toMatchObject({ code: 0 });
  });

  it("ends cleanly when it is stopped, and goes on with the state of its volume", async () => {
    const before = await containers.exec(["svc", "svc", "trace", "list", "--json"]);
    expect(JSON.parse(before.out), before.out).toHaveLength(1);
    const stopped = await docker("docker stop svc");
    expect(stopped, stopped.out).toMatchObject({ code: 0 });
    const again = lines.find((line) => line.startsWith("docker run")) as string;
    await docker(again);
    await expect.poll(async () => (await containers.health("svc")).code, { timeout: 60_000 }).toBe(0);
    const after = await containers.exec(["svc", "svc", "trace", "list", "--json"]);
    expect(JSON.parse(after.out)).toEqual(JSON.parse(before.out));
    await docker("docker stop svc");
  });

  it("is unhealthy while no daemon answers in it", async () => {
    const run = lines.find((line) => line.startsWith("docker run")) as string;
    await docker(`${run.replace("--name svc", "--name idle").replace("svc-data", "other-data")} sleep 300`);
    // It is not to be entered before its root is in place.
    await expect.poll(async () => (await containers.health("idle")).code, { timeout: 20_000 }).toBe(1);
    expect(await containers.exec(["idle", "svc", "daemon", "status"])).toMatchObject({ code: 69 });
  });
});
