/** What both pages do: they join with the code behind the `#`, listen to the stream of their call, and show how it stands. */

/** How long is waited before the stream is asked for again. */
const AGAIN_MS = [500, 1_000, 2_000, 4_000, 8_000];
const ID = location.pathname.split("/").at(-1) ?? "";
const KEPT = `svc-call-${ID}`;

/** An element of the page. */
export const at = (id) => document.getElementById(id);

/** A request of this call. The bearer goes in a header: no address holds it. */
async function ask(bearer, method, path, { body, type = "application/json", signal } = {}) {
  const response = await fetch(`/calls/${encodeURIComponent(ID)}/${path}`, {
    method,
    cache: "no-store",
    headers: {
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
      ...(body === undefined ? {} : { "content-type": type }),
    },
    ...(body === undefined ? {} : { body: type === "application/json" ? JSON.stringify(body) : body }),
    ...(signal === undefined ? {} : { signal }),
  });
  if (response.ok) return response;
  const said = await response.json().catch(() => ({}));
  throw Object.assign(new Error(said.error ?? `the daemon answered ${response.status}`), { status: response.status });
}

/** Shows how the call stands: `waiting`, `running`, `ended` or `failed`, and a sentence. */
export function show(state, words) {
  const place = at("state");
  place.dataset.state = state;
  place.textContent = words;
}

/** Adds a line of the transcript, and keeps the newest in sight. */
export function addLine({ atMs, who, text }) {
  at("empty").hidden = true;
  const item = document.createElement("li");
  const time = document.createElement("time");
  const seconds = Math.max(0, Math.floor((atMs ?? 0) / 1000));
  time.textContent = atMs === undefined ? "" : `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  const words = document.createElement("span");
  const name = document.createElement("b");
  name.textContent = `${who}: `;
  words.append(name, text);
  item.append(time, words);
  at("lines").append(item);
  item.scrollIntoView({ block: "nearest" });
}

/**
 * Joins the call: once with the code of the link, and after a reload with what that gave. The code leaves the address at once: it is worth
 * nothing from then on.
 */
export async function join() {
  const code = location.hash.slice(1);
  if (code !== "") history.replaceState(null, "", location.pathname + location.search);
  let bearer = sessionStorage.getItem(KEPT) ?? undefined;
  let facts;
  if (bearer === undefined || code !== "") {
    facts = await (await ask(undefined, "POST", "join", { body: { code } })).json();
    bearer = facts.bearer;
    sessionStorage.setItem(KEPT, bearer);
  } else facts = await (await ask(bearer, "GET", "media")).json();
  return { ...facts, ask: (method, path, options) => ask(bearer, method, path, options) };
}

/** Hears what happens in the call until it ends; a stream that breaks goes on where it was. */
export async function listen(hear) {
  let last = "";
  for (let tries = 0; ; ) {
    try {
      const response = await fetch(`/calls/${encodeURIComponent(ID)}/stream`, {
        cache: "no-store",
        headers: { authorization: `Bearer ${sessionStorage.getItem(KEPT)}`, ...(last === "" ? {} : { "last-event-id": last }) },
      });
      if (!response.ok) {
        const said = await response.json().catch(() => ({}));
        hear("ended", { words: said.error ?? "the call is over", refused: true });
        return;
      }
      tries = 0;
      for await (const { id, event, data } of framesOf(response.body)) {
        if (id !== "") last = id;
        hear(event, data);
        if (event === "ended") return;
      }
    } catch {
      // The daemon is asked again.
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS[Math.min(tries, AGAIN_MS.length - 1)]));
    tries += 1;
  }
}

async function* framesOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    waiting += value;
    const frames = waiting.split("\n\n");
    waiting = frames.pop() ?? "";
    for (const frame of frames) {
      const fields = new Map(frame.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trimStart()]));
      if (fields.has("data")) yield { id: fields.get("id") ?? "", event: fields.get("event") ?? "message", data: JSON.parse(fields.get("data")) };
    }
  }
}

/** Why a camera or microphone was not given, for people. */
export function whyNoDevice(error, what) {
  if (!window.isSecureContext)
    return `No ${what}: browsers give it to pages by https alone. The operator sets channels.webrtc.callUrlBase to an https address.`;
  if (error.name === "NotAllowedError") return `No ${what}: allow it for this page in the browser, and try again.`;
  if (error.name === "NotFoundError") return `No ${what}: this device has none.`;
  return `No ${what}: ${error.message}`;
}
