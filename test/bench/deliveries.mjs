import { createHmac } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";

const CONNECTIONS = 64;

/** That many requests of that many bytes each, signed and numbered, as they go over the wire. */
export function signedDeliveries({ count, bytes, secret }) {
  const filler = "a build log line, ".repeat(Math.ceil(bytes / 18));
  return Array.from({ length: count }, (_, at) => {
    const head = `{"type":"build","number":${at},"log":"`;
    const body = `${head}${filler.slice(0, bytes - head.length - 2)}"}`;
    const signature = createHmac("sha256", secret).update(body).digest("hex");
    return Buffer.from(
      `POST /webhook/echo/ci HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nx-delivery-id: build-${at}\r\n` +
        `x-forge-signature-256: sha256=${signature}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  });
}

/** Sends them all, 64 at a time, each connection its next one after an answer. Throws where one is not taken with 202. */
export async function burst(port, requests) {
  let next = 0;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const socket = connect({ host: "127.0.0.1", port, noDelay: true });
      await once(socket, "connect");
      while (next < requests.length) {
        const request = requests[next];
        next += 1;
        const answer = await exchange(socket, request);
        if (!answer.startsWith("HTTP/1.1 202")) throw new Error(`a delivery was not taken: ${answer}`);
      }
      socket.destroy();
    }),
  );
  return requests.length / ((performance.now() - began) / 1000);
}

/** Writes a request and answers with head and body of what comes back; answers have a length. */
function exchange(socket, request) {
  return new Promise((resolve, reject) => {
    let text = "";
    const ended = () => reject(new Error(`the server closed the connection after: ${text}`));
    const heard = (chunk) => {
      text += chunk.toString("latin1");
      const head = text.indexOf("\r\n\r\n");
      if (head < 0) return;
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1]);
      if (text.length < head + 4 + length) return;
      socket.off("data", heard).off("close", ended);
      resolve(text);
    };
    socket.on("data", heard).on("close", ended);
    socket.write(request);
  });
}
