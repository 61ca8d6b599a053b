import type { AddressInfo } from "node:net";
import { createServer, type Socket } from "node:net";
import type { Plugin } from "@svc/sdk";
import { expect, it, vi } from "vitest";
import { read } from "../house/house.ts";
import { runKernel } from "../kit/kernel.ts";
import lines from "./lines-example.ts";

it("AUT-A3 AUT-A4 the worked channel of lines on a socket is the one that runs here", () => {
  expect(read("sdk/README.md")).toContain(read("test/contract/lines-example.ts").trim());
});

it("AUT-A3 AUT-A4 a line-based server: an answer of two lines is two messages, over a cut too", async () => {
  const said: string[] = [];
  const clients: Socket[] = [];
  const server = createServer((socket) => {
    clients.push(socket);
    socket.setEncoding("utf8").on("data", (data: string) => {
      for (const line of data.split("\r\n").filter((one) => one !== "")) {
        said.push(line);
        if (line.startsWith("USER")) socket.write("PING :1\r\n:irc.test 001 bot :welcome\r\n");
      }
    });
    socket.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const section = { host: "127.0.0.1", port, nick: "bot", agent: "a", allowFrom: ["mia"] };
  try {
    const { tier } = await runKernel({ inline: [lines as Plugin<never>], config: { channels: { lines: section } } });
    await vi.waitFor(() => expect(said).toContain("PONG :1"));
    clients[0]?.write(":eve!e@x PRIVMSG bot :let me in\r\n:mia!m@x PRIVMSG bot :hold it\r\n");
    await vi.waitFor(() => expect(tier.held).toBe(1));
    expect(tier.prompts.join()).not.toContain("let me in");
    clients[0]?.destroy();
    await vi.waitFor(() => expect(clients).toHaveLength(2), 10_000);
    tier.release("first line\nsecond line");
    await vi.waitFor(
      () => expect(said.filter((line) => line.startsWith("PRIVMSG"))).toEqual(["PRIVMSG mia :begun first line", "PRIVMSG mia :second line"]),
      10_000,
    );
  } finally {
    for (const socket of clients) socket.destroy();
    server.close();
  }
}, 30_000);
