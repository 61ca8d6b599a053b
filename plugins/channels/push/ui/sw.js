// Shows what is pushed, with the page closed too. The words come encrypted from the daemon; the push service in between cannot read them.
self.addEventListener("push", (event) => {
  event.waitUntil(show(event.data));
});

async function show(data) {
  let notice = { id: "unreadable", title: "svc", text: "A notice came that could not be read. Open to see it." };
  try {
    notice = { ...notice, ...data.json() };
  } catch {
    // Something must be shown: a browser that is pushed to in silence takes the permission away.
  }
  const body = notice.more ? `${notice.text}\n(open to read all)` : notice.text;
  // The same notice again replaces the first one and makes no second sound.
  await self.registration.showNotification(notice.title, { body, tag: notice.id, icon: "icon.svg", timestamp: notice.at });
  for (const page of await self.clients.matchAll({ type: "window" })) page.postMessage({ notice: notice.id });
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(`index.html#n-${event.notification.tag}`));
});

async function open(address) {
  const [page] = await self.clients.matchAll({ type: "window" });
  if (page === undefined) return self.clients.openWindow(address);
  page.postMessage({ notice: address.split("#n-")[1] });
  return page.focus();
}
