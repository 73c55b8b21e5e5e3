// Keeps the page as the server's newest rendering of it: what changed is put in place, so that focus, selection,
// scrolling and opened tables stay. Without this script the page reloads itself.
"use strict";

const link = document.getElementById("link");
const words = document.getElementById("link-words");

function say(state, text) {
  if (link.dataset.state !== state) {
    link.dataset.state = state;
    words.textContent = text;
  }
}

function same(old, fresh) {
  return old.nodeType === fresh.nodeType && old.nodeName === fresh.nodeName && (old.id || "") === (fresh.id || "");
}

function attributes(old, fresh) {
  for (const { name } of [...old.attributes]) {
    // Whether a table is unfolded is the reader's choice.
    if (!fresh.hasAttribute(name) && !(name === "open" && old.nodeName === "DETAILS")) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (name === "open" && old.nodeName === "DETAILS") continue;
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}

function children(old, fresh) {
  const before = [...old.childNodes];
  const after = [...fresh.childNodes];
  after.forEach((node, index) => {
    if (index >= before.length) old.append(document.importNode(node, true));
    else become(before[index], node);
  });
  before.slice(after.length).forEach((node) => node.remove());
}

function become(old, fresh) {
  if (!same(old, fresh)) return old.replaceWith(document.importNode(fresh, true));
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE || old.isEqualNode(fresh)) return;
  attributes(old, fresh);
  children(old, fresh);
}

function put(name, html) {
  const place = document.querySelector(`[data-live="${CSS.escape(name)}"]`);
  if (place) children(place, new DOMParser().parseFromString(html, "text/html").body);
}

function listen() {
  const source = new EventSource(`/live/${encodeURIComponent(document.body.dataset.page)}`);
  source.addEventListener("sections", (event) => {
    for (const [name, html] of Object.entries(JSON.parse(event.data))) put(name, html);
    document.body.dataset.version = event.lastEventId;
    say("live", "Live");
  });
  source.addEventListener("error", () => {
    // Closed for good: signed out, or too many viewers. Everything else the browser tries again by itself.
    if (source.readyState === EventSource.CLOSED) say("lost", "Not live; reload the page");
    else say("trying", "Connection lost, trying again");
  });
  addEventListener("pagehide", () => source.close());
}

addEventListener("pageshow", (event) => {
  if (event.persisted) listen();
});
listen();
