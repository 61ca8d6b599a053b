import { addLine, at, join, listen, show, whyNoDevice } from "./session.js";

const begin = at("begin");
const end = at("end");
const mute = at("mute");
/** Browsers refuse candidates that come before the answer. */
const early = [];
let session;
let peer;
let microphone;
let over = false;

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
    const waiting = [];
    let sends = (candidate) => waiting.push(candidate);
    peer.onicecandidate = ({ candidate }) => sends(candidate);
    peer.onicecandidateerror = ({ url, errorCode, errorText }) => {
      // The relay's own refusal, such as of a wrong password.
      if (errorCode >= 300 && errorCode < 700 && !over) at("note").textContent = `${url} refused: ${errorCode} ${errorText}`;
    };
    peer.onconnectionstatechange = () => {
      if (peer.connectionState === "connected") show("running", "Talk now");
      if (peer.connectionState === "disconnected" && !over) show("waiting", "The connection hangs");
      if (peer.connectionState === "failed" && !over) {
        finish("failed", "No connection came about; the operator sets channels.webrtc.turnServers.");
        void session.ask("POST", "end").catch(() => undefined);
      }
    };
    await peer.setLocalDescription(await peer.createOffer());
    const { answer } = await (await session.ask("POST", "answer", { body: { offer: peer.localDescription.sdp } })).json();
    sends = (candidate) =>
      void session
        .ask("POST", "candidate", { body: { candidate: candidate === null || candidate.candidate === "" ? null : candidate.toJSON() } })
        .catch(() => undefined);
    for (const candidate of waiting) sends(candidate);
    await peer.setRemoteDescription({ type: "answer", sdp: answer });
    for (const candidate of early.splice(0)) await peer.addIceCandidate(candidate).catch(() => undefined);
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
    if (peer?.remoteDescription) void peer.addIceCandidate(data).catch(() => undefined);
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
