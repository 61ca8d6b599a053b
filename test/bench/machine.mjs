import { closeSync, fsyncSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { cpus, loadavg, release, tmpdir, totalmem } from "node:os";
import { join } from "node:path";

/** What the figures were measured on, as far as it explains them. */
export function describeMachine() {
  const [cpu] = cpus();
  return {
    node: process.version,
    system: `${process.platform} ${release()} ${process.arch}`,
    processor: cpu?.model.trim() ?? "unknown",
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    load: loadavg().map((load) => Math.round(load * 100) / 100),
    fsyncMs: syncTime(),
    folder: tmpdir(),
    fileSystem: fileSystemOf(tmpdir()),
  };
}

/** Milliseconds for a page written and synced, the price of every promise to keep something. */
function syncTime() {
  const folder = mkdtempSync(join(tmpdir(), "svc-bench-"));
  const handle = openSync(join(folder, "page"), "w");
  try {
    const times = Array.from({ length: 51 }, () => {
      const began = performance.now();
      writeSync(handle, Buffer.alloc(4096, 1), 0, 4096, 0);
      fsyncSync(handle);
      return performance.now() - began;
    });
    return Math.round(times.toSorted((one, other) => one - other)[25] * 1000) / 1000;
  } finally {
    closeSync(handle);
    rmSync(folder, { recursive: true });
  }
}

function fileSystemOf(path) {
  try {
    const mounts = readFileSync("/proc/mounts", "utf8")
      .split("\n")
      .map((line) => line.split(" "))
      .filter(([, at]) => at !== undefined && `${path}/`.startsWith(at.endsWith("/") ? at : `${at}/`));
    return mounts.toSorted(([, one], [, other]) => other.length - one.length)[0]?.[2] ?? "unknown";
  } catch {
    return "unknown";
  }
}
