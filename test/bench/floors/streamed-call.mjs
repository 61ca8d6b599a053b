/** The least that a streamed answer of a model takes: a request over a kept connection, its lines split by hand, its text joined. */
import { Agent, request } from "node:http";

/** What a conversation at the cap of svc's history sends along: as many characters, in messages as short as those of the bench. */
const CAP = 24_000;
const said = [
  { role: "user", content: "a short message in a few words" },
  { role: "assistant", content: Array.from({ length: 8 }, (_, at) => `word ${at} `).join("") },
];
const history = Array.from({ length: Math.floor(CAP / said.reduce((sum, { content }) => sum + content.length, 0)) }, () => said).flat();

/** Calls to one model in a long conversation: each tells its pieces to `say` and resolves with the whole text. */
export function streamedCall(endpoint) {
  const url = new URL(`${endpoint}/chat/completions`);
  const agent = new Agent({ keepAlive: true });
  return (message, say = () => {}) =>
    new Promise((resolve, reject) => {
      const body = Buffer.from(JSON.stringify({ model: "bench", stream: true, messages: [...history, { role: "user", content: message }] }));
      const headers = { "content-type": "application/json", "content-length": body.length, authorization: "Bearer a-key" };
      const sent = request(url, { method: "POST", agent, headers }, (response) => {
        let [rest, text] = ["", ""];
        response.setEncoding("utf8");
        response.on("data", (chunk) => {
          const lines = (rest + chunk).split("\n");
          rest = lines.pop();
          for (const line of lines) {
            const piece = line.startsWith("data: {") ? JSON.parse(line.slice(6)).choices[0]?.delta.content : undefined;
            if (piece === undefined) continue;
            text += piece;
            say(piece);
          }
        });
        response.on("end", () => resolve(text));
      });
      sent.on("error", reject);
      sent.end(body);
    });
}
