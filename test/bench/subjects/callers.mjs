/**
 * People who call the agent of a daemon and talk, and the server that is asked for their words: `{port, people, seconds}` a line, answered with
 * how much of what was said did not arrive there.
 */
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createJiti } from "jiti";

const jiti = createJiti(import.meta.url);
const load = (path) => jiti.import(join(import.meta.dirname, "../../../", path));
const { callAgent } = await load("test/kit/caller.ts");
const { startSpeechServer } = await load("test/kit/speech-server.ts");
const { bursts } = await load("plugins/channels/webrtc/caller.harness.ts");

const RATE = 16_000;
const FRAME = RATE / 50;
const HEADER = 44;
const [BURST_MS, PAUSE_MS] = [1_000, 1_000];
/** Far above what a codec makes of silence, far below speech. */
const LOUD = 500;
const PATIENCE_MS = 30_000;

let heard = [];

/** Milliseconds of a recording that are no silence. */
function loudMs(wav) {
  let frames = 0;
  for (let at = HEADER; at + FRAME * 2 <= wav.length; at += FRAME * 2) {
    let sum = 0;
    for (let n = 0; n < FRAME; n += 1) sum += wav.readInt16LE(at + n * 2) ** 2;
    if (Math.sqrt(sum / FRAME) > LOUD) frames += 1;
  }
  return frames * 20;
}

const speech = await startSpeechServer({
  hear(wav) {
    heard.push(loudMs(wav));
    return "words";
  },
});

async function talk({ port, people, seconds }) {
  heard = [];
  const each = Math.floor((seconds * 1_000) / (BURST_MS + PAUSE_MS));
  const calls = [];
  for (let n = 0; n < people; n += 1) calls.push(await callAgent(`http://127.0.0.1:${port}`, "echo", `person ${n}`));
  const sound = bursts(each, BURST_MS, PAUSE_MS);
  await Promise.all(calls.map(({ person }) => person.speak(sound)));
  for (const end = Date.now() + PATIENCE_MS; heard.length < people * each && Date.now() < end; ) await new Promise((done) => setTimeout(done, 50));
  await Promise.all(calls.map(({ end }) => end()));
  const missing = people * each - heard.length;
  return { lostMs: missing * BURST_MS + heard.reduce((sum, ms) => sum + Math.max(0, BURST_MS - ms), 0) };
}

console.log(JSON.stringify({ speech: speech.url }));
for await (const line of createInterface({ input: process.stdin })) {
  const answer = await talk(JSON.parse(line)).catch((error) => ({ error: String(error) }));
  console.log(JSON.stringify(answer));
}
