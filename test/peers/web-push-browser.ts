import { type ChildProcess, spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { WebSocket, WebSocketServer } from "ws";
import { temporaryFolder } from "../kit/kernel.ts";

/** Debian's Firefox, where it is installed. */
export const FIREFOX = ["/usr/bin/firefox-esr", "/usr/bin/firefox"].find((path) => existsSync(path));

/** A push service on loopback that the real Firefox talks to: HTTP for the sender, the WebSocket protocol of its browsers on the other side. */
export interface PushService {
  readonly origin: string;
  readonly browserAddress: string;
  /** Channels that the browser has registered. */
  readonly channels: Map<string, string>;
  /** What the browser said it did with each notice. 100 is "shown to a service worker". */
  readonly acknowledged: number[];
  /** Requests of the sender, as the status they were answered with. */
  readonly answered: number[];
  /** From now on the browser's address is gone. */
  gone: boolean;
  close(): Promise<void>;
}

interface Hello {
  readonly messageType: string;
  readonly channelID?: string;
  readonly uaid?: string;
  readonly updates?: readonly { readonly code?: number }[];
}

export async function startPushService(): Promise<PushService> {
  const channels = new Map<string, string>();
  const acknowledged: number[] = [];
  const answered: number[] = [];
  const state = { gone: false };
  let browser: WebSocket | undefined;
  const http: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const channelID = [...channels].find(([, path]) => path === request.url)?.[0];
    const status = state.gone || channelID === undefined || browser === undefined ? 410 : 201;
    if (status === 201) {
      const notification = {
        messageType: "notification",
        channelID,
        version: randomUUID(),
        data: Buffer.concat(chunks).toString("base64url"),
        headers: { encoding: String(request.headers["content-encoding"]) },
      };
      browser?.send(JSON.stringify(notification));
    }
    answered.push(status);
    response.writeHead(status).end();
  });
  const sockets = new WebSocketServer({ server: http });
  sockets.on("connection", (socket) => {
    browser = socket;
    socket.on("message", (data) => {
      const said = JSON.parse(String(data)) as Hello;
      const say = (answer: object) => socket.send(JSON.stringify(answer));
      if (said.messageType === "hello")
        say({ messageType: "hello", uaid: said.uaid || randomUUID().replaceAll("-", ""), status: 200, use_webpush: true, broadcasts: {} });
      if (said.messageType === "register") {
        const path = `/wpush/v2/${createHash("sha256").update(String(said.channelID)).digest("hex")}`;
        channels.set(String(said.channelID), path);
        say({ messageType: "register", channelID: said.channelID, status: 200, pushEndpoint: `${origin()}${path}` });
      }
      if (said.messageType === "unregister") {
        channels.delete(String(said.channelID));
        say({ messageType: "unregister", channelID: said.channelID, status: 200 });
      }
      if (said.messageType === "ack") acknowledged.push(...(said.updates ?? []).map(({ code }) => code ?? 0));
      if (said.messageType === "ping") say({ messageType: "ping" });
    });
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const origin = () => `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  return {
    origin: origin(),
    browserAddress: origin().replace("http", "ws"),
    channels,
    acknowledged,
    answered,
    get gone() {
      return state.gone;
    },
    set gone(gone) {
      state.gone = gone;
    },
    async close() {
      for (const socket of sockets.clients) socket.terminate();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

/** A real Firefox without a window, told what to do by WebDriver BiDi. */
export interface Firefox {
  open(address: string): Promise<void>;
  /** Runs an expression in the page and resolves with its JSON. */
  ask<T>(expression: string): Promise<T>;
  screenshot(): Promise<Buffer>;
  close(): Promise<void>;
}

export async function startFirefox(pushService: string): Promise<Firefox> {
  const profile = await temporaryFolder();
  const settings = {
    "dom.push.serverURL": pushService,
    "dom.push.testing.allowInsecureServerURL": true,
    "dom.push.testing.ignorePermission": true,
    "dom.push.connection.enabled": true,
    "dom.push.userAgentID": "",
    "permissions.default.desktop-notification": 1,
    "dom.webnotifications.requireuserinteraction": false,
    // Without a desktop the browser draws notices by itself; they must stay long enough to be asked about.
    "alerts.useSystemBackend": false,
    "alerts.totalOpenTime": 600_000,
    "browser.shell.checkDefaultBrowser": false,
    "datareporting.policy.dataSubmissionEnabled": false,
    "app.update.enabled": false,
    "network.captive-portal-service.enabled": false,
    "network.connectivity-service.enabled": false,
    "remote.active-protocols": 1,
  };
  const lines = Object.entries(settings).map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});`);
  writeFileSync(join(profile, "user.js"), lines.join("\n"));
  const program = spawn(FIREFOX as string, ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0", "about:blank"], {
    env: { ...process.env, HOME: profile, MOZ_HEADLESS: "1" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const address = await addressOf(program);
  const socket = new WebSocket(`${address}/session`);
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  const waiting = new Map<number, (answer: { result?: unknown; error?: string; message?: string }) => void>();
  socket.on("message", (data) => {
    const answer = JSON.parse(String(data)) as { id?: number; result?: unknown; error?: string; message?: string };
    waiting.get(answer.id ?? -1)?.(answer);
  });
  let last = 0;
  const call = <T>(method: string, params: object): Promise<T> => {
    last += 1;
    const id = last;
    return new Promise((resolve, reject) => {
      waiting.set(id, ({ result, error, message }) => {
        waiting.delete(id);
        if (error === undefined) resolve(result as T);
        else reject(new Error(`${method}: ${error}: ${message}`));
      });
      socket.send(JSON.stringify({ id, method, params }));
    });
  };
  await call("session.new", { capabilities: {} });
  const { contexts } = await call<{ contexts: { context: string }[] }>("browsingContext.getTree", {});
  const context = contexts[0]?.context;
  return {
    open: async (url) => void (await call("browsingContext.navigate", { context, url, wait: "complete" })),
    async ask<T>(expression: string) {
      const { result, exceptionDetails } = await call<{ result?: { value?: string }; exceptionDetails?: { text: string } }>("script.evaluate", {
        expression: `(async () => JSON.stringify(await (${expression}) ?? null))()`,
        target: { context },
        awaitPromise: true,
      });
      if (exceptionDetails !== undefined) throw new Error(exceptionDetails.text);
      return JSON.parse(result?.value ?? "null") as T;
    },
    async screenshot() {
      const { data } = await call<{ data: string }>("browsingContext.captureScreenshot", { context });
      return Buffer.from(data, "base64");
    },
    async close() {
      await call("browser.close", {}).catch(() => undefined);
      socket.terminate();
      if (program.exitCode === null) program.kill("SIGKILL");
    },
  };
}

/** Firefox says where it listens on its error stream. */
function addressOf(program: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    program.stderr?.on("data", (chunk) => {
      text += chunk;
      const found = /WebDriver BiDi listening on (ws:\S+)/.exec(text)?.[1];
      if (found !== undefined) resolve(found);
    });
    program.once("exit", (code) => reject(new Error(`Firefox ended with ${code}: ${text.slice(-500)}`)));
  });
}
