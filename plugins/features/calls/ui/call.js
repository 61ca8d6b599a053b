import { addLine, at, join, listen, show, whyNoDevice } from "./session.js";

const begin = at("begin");
const end = at("end");
const mute = at("mute");
/** A connection that hangs often comes back by itself. */
const HANGS_MS = 2_000;
/** Another way is looked for so long; the daemon gives up then, too. */
const RESTART_MS = 15_000;
const TRY_MS = 5_000;
/** Browsers refuse candidates that come before the answer. */
const early = [];
/** The daemon knows what to do with ours once it has the offer that they belong to. */
const own = [];
let answered = false;
let session;
let peer;
let microphone;
let over = false;
let hanging;
let restarting = false;

/** Shows the loudness of the microphone: whoever speaks sees that he is heard. */
function showLevel(stream) {
  const audio = new AudioContext();
  const analyser = audio.createAnalyser();
  analyser.fftSize = 512;
  audio.createMediaStreamSource(stream).connect(analyser);
  const samples = new Float32Array(analyser.fftSize);
  at("microphone").hidden = false;
  const timer = setInterval(() => {
    if (over) {
      clearInterval(timer);
      void audio.close();
      at("microphone").hidden = true;
      return;
    }
    analyser.getFloatTimeDomainData(samples);
    at("level").value = Math.min(1, 4 * Math.sqrt(samples.reduce((sum, one) => sum + one * one, 0) / samples.length));
  }, 100);
}

function finish(state, words) {
  if (over) return;
  over = true;
  show(state, words);
  for (const track of microphone?.getTracks() ?? []) track.stop();
  peer?.close();
  begin.hidden = true;
  mute.hidden = true;
  end.hidden = true;
}

const send = (candidate) =>
  void session
    .ask("POST", "candidate", { body: { candidate: candidate === null || candidate.candidate === "" ? null : candidate.toJSON() } })
    .catch(() => undefined);

async function take(answer) {
  answered = true;
  for (const candidate of own.splice(0)) send(candidate);
  await peer.setRemoteDescription({ type: "answer", sdp: answer });
  for (const candidate of early.splice(0)) await peer.addIceCandidate(candidate).catch(() => undefined);
}

function lost(words) {
  if (over) return;
  finish("failed", words);
  void session.ask("POST", "end").catch(() => undefined);
}

/** The network has changed: the same connection by another way. */
async function restart() {
  if (over || restarting) return;
  restarting = true;
  show("waiting", "Looking for another way");
  const until = Date.now() + RESTART_MS;
  try {
    while (!over && peer.connectionState !== "connected" && Date.now() < until) {
      try {
        answered = false;
        own.length = 0;
        await peer.setLocalDescription(await peer.createOffer({ iceRestart: true }));
        const { answer } = await (await session.ask("POST", "restart", { body: { offer: peer.localDescription.sdp } })).json();
        await take(answer);
        const soon = Math.min(until, Date.now() + TRY_MS);
        while (!over && peer.connectionState !== "connected" && Date.now() < soon) await new Promise((resolve) => setTimeout(resolve, 200));
      } catch (error) {
        // The daemon has refused it; without an answer it is asked again.
        if (error.status !== undefined) return lost(`The connection was lost: ${error.message} Call again.`);
        if (peer.signalingState === "have-local-offer") await peer.setLocalDescription({ type: "rollback" }).catch(() => undefined);
        await new Promise((resolve) => setTimeout(resolve, 1_000));
      }
    }
    if (peer.connectionState !== "connected") lost("The connection was lost, and there is no other way to the daemon; call again.");
    else if (!over) show("running", "Talk now");
  } finally {
    restarting = false;
  }
}

async function talk() {
  begin.disabled = true;
  show("waiting", "Asking for the microphone");
  try {
    microphone = await navigator.mediaDevices.getUserMedia({ audio: { echoCancellation: true, noiseSuppression: true }, video: false });
  } catch (error) {
    show("failed", whyNoDevice(error, "microphone"));
    begin.disabled = false;
    return;
  }
  show("waiting", "Connecting");
  try {
    const relayOnly = new URLSearchParams(location.search).get("relay") === "only";
    peer = new RTCPeerConnection({ iceServers: session.iceServers, ...(relayOnly ? { iceTransportPolicy: "relay" } : {}) });
    for (const track of microphone.getAudioTracks()) peer.addTransceiver(track, { direction: "sendonly", streams: [microphone] });
    let wasConnected = false;
    peer.onicecandidate = ({ candidate }) => (answered ? send(candidate) : own.push(candidate));
    peer.onicecandidateerror = ({ url, errorCode, errorText }) => {
      // The relay's own refusal, such as of a wrong password.
      if (errorCode >= 300 && errorCode < 700 && !over) at("note").textContent = `${url} refused: ${errorCode} ${errorText}`;
    };
    peer.onconnectionstatechange = () => {
      const state = peer.connectionState;
      if (state !== "disconnected") clearTimeout(hanging);
      if (state === "connected") {
        wasConnected = true;
        show("running", "Talk now");
      }
      if (over) return;
      if (state === "disconnected") {
        show("waiting", "The connection hangs");
        hanging = setTimeout(() => void restart(), HANGS_MS);
      }
      if (state === "failed" && wasConnected) void restart();
      else if (state === "failed") lost("No connection came about; the operator sets channels.webrtc.turnServers.");
    };
    await peer.setLocalDescription(await peer.createOffer());
    const { answer } = await (await session.ask("POST", "answer", { body: { offer: peer.localDescription.sdp } })).json();
    await take(answer);
    showLevel(microphone);
    mute.hidden = false;
    begin.hidden = true;
    end.textContent = "Hang up";
  } catch (error) {
    finish("failed", error.message);
  }
}

function hear(name, data) {
  if (name === "call") document.title = `Call: ${data.agent}`;
  if (name === "line") addLine(data);
  if (name === "message") addLine({ who: data.agent, text: data.text });
  if (name === "candidate" && data !== null) {
    if (peer?.remoteDescription && peer.signalingState === "stable") void peer.addIceCandidate(data).catch(() => undefined);
    else early.push(data);
  }
  if (name === "ended") finish(data.end?.reason === "failed" || data.refused ? "failed" : "ended", sentence(data.words));
}

const sentence = (words = "the call is over") => words.charAt(0).toUpperCase() + words.slice(1);

begin.addEventListener("click", () => void talk());
mute.addEventListener("click", () => {
  const muted = mute.getAttribute("aria-pressed") !== "true";
  mute.setAttribute("aria-pressed", String(muted));
  for (const track of microphone.getAudioTracks()) track.enabled = !muted;
});
end.addEventListener("click", () => {
  end.disabled = true;
  void session.ask("POST", "end").catch((error) => finish("ended", sentence(error.message)));
});

try {
  session = await join();
  const { call } = session;
  at("title").textContent = call.direction === "in" ? `Call to ${call.agent}` : `${call.agent} is calling`;
  if (call.why !== undefined) {
    at("why").textContent = call.why;
    at("why").hidden = false;
  }
  if (call.direction === "in") end.textContent = "Hang up";
  show("waiting", "Press Talk to begin");
  begin.disabled = call.state !== "ringing";
  end.disabled = false;
  if (call.state === "running") show("waiting", "This call was begun on this page before it was loaded again; hang up and call anew");
  void listen(hear);
} catch (error) {
  finish("failed", sentence(error.message));
}
