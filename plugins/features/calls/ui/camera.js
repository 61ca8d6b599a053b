import { addLine, at, join, listen, show, whyNoDevice } from "./session.js";

const QUALITY = 0.85;
const begin = at("begin");
const end = at("end");
const turn = at("turn");
const view = at("view");
let session;
let stream;
let sent = 0;
let facing = "environment";
let over = false;

function finish(state, words) {
  if (over) return;
  over = true;
  show(state, words);
  for (const track of stream?.getTracks() ?? []) track.stop();
  view.srcObject = null;
  begin.hidden = true;
  turn.hidden = true;
  end.hidden = true;
}

async function openCamera() {
  const { width, height, frameRate } = session.camera;
  for (const track of stream?.getTracks() ?? []) track.stop();
  stream = await navigator.mediaDevices.getUserMedia({
    audio: false,
    video: { width: { ideal: width }, height: { ideal: height }, frameRate: { ideal: frameRate }, facingMode: { ideal: facing } },
  });
  view.srcObject = stream;
  await view.play();
}

async function begins() {
  begin.disabled = true;
  show("waiting", "Asking for the camera");
  try {
    await openCamera();
  } catch (error) {
    show("failed", whyNoDevice(error, "camera"));
    begin.disabled = false;
    return;
  }
  try {
    if (session.call.state === "ringing") await session.ask("POST", "answer", { body: {} });
    begin.hidden = true;
    turn.hidden = false;
    end.textContent = "End";
    show("running", "The agent may ask for pictures");
  } catch (error) {
    finish("failed", sentence(error.message));
  }
}

/** The picture of this moment, scaled so that no edge is longer than asked for. */
async function pictureOf(maxEdge) {
  const scale = Math.min(1, maxEdge / Math.max(view.videoWidth, view.videoHeight));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.floor(view.videoWidth * scale));
  canvas.height = Math.max(1, Math.floor(view.videoHeight * scale));
  canvas.getContext("2d").drawImage(view, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", QUALITY));
}

async function send({ n, maxEdge }) {
  if (over || stream === undefined || view.videoWidth === 0) return;
  try {
    const picture = await pictureOf(maxEdge);
    await session.ask("POST", `frame?n=${n}`, { body: picture, type: "image/jpeg" });
    sent += 1;
    at("count").textContent = `${sent} ${sent === 1 ? "picture was" : "pictures were"} sent, the last at ${new Date().toLocaleTimeString()}.`;
  } catch (error) {
    at("count").textContent = `A picture was not sent: ${error.message}`;
  }
}

function hear(name, data) {
  if (name === "frame") void send(data);
  if (name === "message") addLine({ who: data.agent, text: data.text });
  if (name === "ended") finish(data.end?.reason === "failed" || data.refused ? "failed" : "ended", sentence(data.words));
}

const sentence = (words = "the session is over") => words.charAt(0).toUpperCase() + words.slice(1);

begin.addEventListener("click", () => void begins());
turn.addEventListener("click", () => {
  facing = facing === "environment" ? "user" : "environment";
  openCamera().catch((error) => show("failed", whyNoDevice(error, "camera")));
});
end.addEventListener("click", () => {
  end.disabled = true;
  void session.ask("POST", "end").catch((error) => finish("ended", sentence(error.message)));
});

try {
  session = await join();
  const { call } = session;
  document.title = `Camera: ${call.agent}`;
  at("title").textContent = `${call.agent} asks to see something`;
  if (call.why !== undefined) {
    at("why").textContent = call.why;
    at("why").hidden = false;
  }
  show("waiting", "Press the button to begin");
  begin.disabled = false;
  end.disabled = false;
  void listen(hear);
} catch (error) {
  finish("failed", sentence(error.message));
}
