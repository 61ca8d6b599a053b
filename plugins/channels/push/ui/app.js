// The page on a phone: adds it, keeps its registration good, and shows the last notices.
const BEARER = "svc.push.bearer";
const at = (id) => document.getElementById(id);
const say = (text) => {
  at("state").textContent = text;
};

const bearer = () => localStorage.getItem(BEARER);

async function ask(method, path, body) {
  const headers = { "content-type": "application/json", ...(bearer() ? { authorization: `Bearer ${bearer()}` } : {}) };
  const answer = await fetch(path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok) throw Object.assign(new Error(said.error ?? `the daemon answered ${answer.status}`), { status: answer.status });
  return said;
}

function bytesOf(text) {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
}

const sameBytes = (one, other) => one.length === other.length && one.every((byte, index) => byte === other[index]);

/** The subscription of this browser with the key that the daemon has now; another one is given up. */
async function subscribe(registration) {
  const key = bytesOf((await ask("GET", "api/key")).publicKey);
  const known = await registration.pushManager.getSubscription();
  const used = known?.options.applicationServerKey;
  if (known && used && sameBytes(new Uint8Array(used), key)) return known;
  await known?.unsubscribe();
  return registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
}

async function add(registration, code, name) {
  if ((await Notification.requestPermission()) !== "granted") throw new Error("this browser does not allow notices: allow them for this page in its settings");
  const subscription = (await subscribe(registration)).toJSON();
  const added = await ask("POST", "api/pair", { code, name, subscription: { endpoint: subscription.endpoint, keys: subscription.keys } });
  localStorage.setItem(BEARER, added.bearer);
}

/** A browser may change its subscription, and the daemon its key: each visit puts both right. */
async function renew(registration) {
  const subscription = (await subscribe(registration)).toJSON();
  await ask("PUT", "api/device", { subscription: { endpoint: subscription.endpoint, keys: subscription.keys } });
}

async function showNotices() {
  const { notices } = await ask("GET", "api/recent");
  at("notices").replaceChildren(
    ...notices.map(({ id, at: time, title, text }) => {
      const item = document.createElement("li");
      item.id = `n-${id}`;
      const head = document.createElement("h2");
      head.textContent = title;
      const when = document.createElement("time");
      when.dateTime = new Date(time).toISOString();
      when.textContent = new Date(time).toLocaleString();
      const words = document.createElement("div");
      words.textContent = text;
      item.append(head, when, words);
      return item;
    }),
  );
}

function show(state) {
  at("form").hidden = state !== "new";
  at("off").hidden = state !== "added";
}

async function start() {
  if (!("serviceWorker" in navigator) || !("PushManager" in window)) {
    const hint = window.isSecureContext ? "On an iPhone, add this page to the home screen and open it from there." : "It must be opened over https.";
    say(`This browser cannot get notices. ${hint}`);
    return;
  }
  await navigator.serviceWorker.register("sw.js");
  const registration = await navigator.serviceWorker.ready;
  const code = location.hash.startsWith("#n-") ? "" : location.hash.slice(1);
  if (code !== "") history.replaceState(undefined, "", location.pathname);
  at("code").value = code;
  at("name").value = /Android|iPhone|iPad|Windows|Macintosh|Linux/.exec(navigator.userAgent)?.[0] ?? "phone";

  const added = async () => {
    try {
      await renew(registration);
      await showNotices();
      show("added");
      say("This phone gets notices.");
    } catch (error) {
      if (error.status !== 401) throw error;
      // The daemon knows this phone no longer.
      localStorage.removeItem(BEARER);
      show("new");
      say("This phone gets no notices any more. Type a new code: svc push add shows one.");
    }
  };
  const failed = (error) => say(`That did not work: ${error.message}`);

  at("form").addEventListener("submit", (event) => {
    event.preventDefault();
    add(registration, at("code").value, at("name").value).then(added).catch(failed);
  });
  at("off").addEventListener("click", async () => {
    try {
      await ask("DELETE", "api/device");
      await (await registration.pushManager.getSubscription())?.unsubscribe();
      localStorage.removeItem(BEARER);
      at("notices").replaceChildren();
      show("new");
      say("This phone gets no notices any more.");
    } catch (error) {
      failed(error);
    }
  });
  navigator.serviceWorker.addEventListener("message", ({ data }) => {
    showNotices()
      .then(() => {
        location.hash = `n-${data.notice}`;
      })
      .catch(failed);
  });
  if (bearer() && code === "") await added();
  else {
    show("new");
    say(code === "" ? "Type the code that svc push add shows." : "Tap the button to get notices on this phone.");
  }
}

start().catch((error) => say(`That did not work: ${error.message}`));
