import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, it } from "vitest";
import { holderOf } from "../kit/default-port.ts";

it.runIf(process.platform === "linux")("the process that holds a port is named, so that a suite whose port is taken says by whom", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  expect(holderOf(port)).toEqual({ pid: process.pid, command: expect.stringContaining("node") });
  server.close();
  await once(server, "close");
  expect(holderOf(port)).toBeUndefined();
});
