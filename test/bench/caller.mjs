import { once } from "node:events";
import { connect } from "node:net";
import { quantile } from "./rounds.mjs";

const END = Buffer.from("0\r\n\r\n");

/**
 * One connection that sends a request and waits for the end of its chunked answer. It knows just enough HTTP for that: a full client
 * would cost more than the servers that are measured, and so make them look alike.
 */
async function openConnection(port) {
  const socket = connect({ host: "127.0.0.1", port, noDelay: true });
  await once(socket, "connect");
  let tail = Buffer.alloc(0);
  let done;
  let keep;
  socket.on("data", (chunk) => {
    if (keep !== undefined) keep.push(chunk);
    tail = chunk.length >= END.length ? chunk.subarray(-END.length) : Buffer.concat([tail, chunk]).subarray(-END.length);
    if (tail.equals(END)) {
      tail = Buffer.alloc(0);
      done.resolve();
    }
  });
  socket.on("error", (error) => done?.reject(error));
  socket.on("close", () => done?.reject(new Error("the server closed the connection")));
  return {
    send(bytes) {
      if (socket.destroyed) throw new Error("the server closed the connection before it was used");
      done = Promise.withResolvers === undefined ? deferred() : Promise.withResolvers();
      socket.write(bytes);
      return done.promise;
    },
    /** As `send`, with the whole answer as text. */
    async ask(bytes) {
      keep = [];
      await this.send(bytes);
      const text = Buffer.concat(keep).toString("utf8");
      keep = undefined;
      return text;
    },
    close: () => socket.removeAllListeners("close").destroy(),
  };
}

function deferred() {
  let resolve;
  let reject;
  const promise = new Promise((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

const taskRequest = (chat) => {
  const body = JSON.stringify({ agent: "echo", message: "a short message in a few words", context: { channel: "http", chatId: chat } });
  return Buffer.from(`POST /task HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
};

/** Callers that each hold a connection and a conversation, which is called `<name>-<number>`. A task that another node runs is answered without text frames: there none is expected. */
export async function openCallers(port, count, name = "caller", expected = 3) {
  const callers = await Promise.all(
    Array.from({ length: count }, async (_, at) => ({ connection: await openConnection(port), request: taskRequest(`${name}-${at}`) })),
  );
  const [first] = callers;
  const answer = await first.connection.ask(first.request);
  const frames = answer.match(/event: text/g)?.length ?? 0;
  if (!answer.startsWith("HTTP/1.1 200") || frames < expected) throw new Error(`the answer does not have ${expected} text frames:\n${answer}`);
  return {
    /** Each caller sends its next request when it has the last answer. Answers how many, requests a second and latencies in milliseconds. */
    async run(forMs) {
      const times = [];
      const began = performance.now();
      const end = began + forMs;
      await Promise.all(
        callers.map(async ({ connection, request }) => {
          for (let now = performance.now(); now < end; ) {
            await connection.send(request);
            const later = performance.now();
            times.push(later - now);
            now = later;
          }
        }),
      );
      const seconds = (performance.now() - began) / 1000;
      times.sort((one, other) => one - other);
      return { count: times.length, perSecond: times.length / seconds, p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
    },
    /** So many requests in all, each caller one after the other. */
    async times(total) {
      let left = total;
      await Promise.all(
        callers.map(async ({ connection, request }) => {
          while (left > 0) {
            left -= 1;
            await connection.send(request);
          }
        }),
      );
    },
    /** Sends `perSecond` requests a second whatever the answers do, as long as a caller is free. Answers how many were sent. */
    async pace(perSecond, forMs) {
      const free = [...callers];
      const under = new Set();
      const began = performance.now();
      let sent = 0;
      while (performance.now() - began < forMs) {
        const due = Math.floor(((performance.now() - began) / 1000) * perSecond);
        for (; sent < due && free.length > 0; sent += 1) {
          // Each in its turn: the server closes a connection on which nothing comes.
          const caller = free.shift();
          const work = caller.connection.send(caller.request).then(() => {
            free.push(caller);
            under.delete(work);
          });
          under.add(work);
        }
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      await Promise.all(under);
      return sent;
    },
    close() {
      for (const { connection } of callers) connection.close();
    },
  };
}
