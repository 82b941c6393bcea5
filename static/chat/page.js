/* The page's own connection: says hello, comes back whatever the reason it was lost, and says so.
   The htmx extension makes the socket and applies what it brings; when to connect is decided here alone. */
(() => {
  const FIRST_MS = 500; // before the first new try, doubling
  const MAX_MS = 15000;
  const STEADY_MS = 5000; // a connection that held this long starts the count anew
  const OPEN_MS = 10000; // to connect
  const PONG_MS = 3000; // to answer a ping
  const PING_EVERY_MS = 30000; // a phone's network can die without a word
  const NEVER_MS = 2147483647; // the longest a timer can wait, about 25 days
  const BOUNCE_MS = 30000;
  const PATIENT_TRIES = 5; // so many make the wait the longest

  const main = document.querySelector("main[data-conversation]");
  /* The codes by which the site says that this page is over: what to say, and where to go */
  const ENDS = {
    4401: ["You are logged out.", () => location.assign(`${main.dataset.login}?next=${encodeURIComponent(location.pathname)}`)],
    4404: ["This conversation is no longer here.", () => location.reload()],
  };

  let socket = null; // the one that counts; what an older one says is ignored
  let wrapper = null; // the extension's handle, to connect again
  let tries = 0;
  let why; // the socket was closed, if the site said so
  let openedAt = 0;
  let dueAt = 0; // of the next try
  let heard = false; // anything since the last ping
  let leaving = false;
  let serverSaid = null; // the status of the agent-server's link, while we show our own
  let own = null;
  let announced = "";
  let timed = null; // the status element whose count-down runs
  let serverDueAt = 0;
  let retryTimer = 0;
  let openTimer = 0;
  let pongTimer = 0;

  /* The extension would try again by itself on some close codes: there must be one policy only (C31). */
  htmx.config.wsReconnectDelay = () => NEVER_MS;
  htmx.createWebSocket = (url) => {
    const fresh = new WebSocket(url);
    if (socket) socket.close();
    socket = fresh;
    fresh.addEventListener("message", (event) => {
      if (fresh !== socket) {
        event.stopImmediatePropagation();
        return;
      }
      heard = true;
      showServer(); // not when it opens: the site may refuse what it has accepted
    });
    clearTimeout(openTimer);
    openTimer = setTimeout(() => fresh.readyState === WebSocket.CONNECTING && fresh.close(), OPEN_MS);
    return fresh;
  };

  main.addEventListener("htmx:wsOpen", ({ detail }) => {
    wrapper = detail.socketWrapper;
    if (detail.event.target !== socket) return;
    openedAt = Date.now();
    const revision = Number(document.getElementById("revision").dataset.revision);
    socket.send(JSON.stringify({ type: "hello", revision }));
  });

  main.addEventListener("htmx:wsClose", ({ detail }) => {
    wrapper = detail.socketWrapper;
    if (detail.event.target !== socket) return;
    socket = null;
    if (leaving) return;
    const { code } = detail.event;
    const [said, leave] = ENDS[code] || [];
    if (leave && mayLeave(code)) leave();
    why = said;
    if (why) tries = Math.max(tries, PATIENT_TRIES);
    retryLater();
  });

  /** Not if it was done a moment ago and brought us back here: then it would never end. */
  function mayLeave(code) {
    const key = "bounced:" + code;
    try {
      if (Date.now() - Number(sessionStorage.getItem(key)) < BOUNCE_MS) return false;
      sessionStorage.setItem(key, String(Date.now()));
    } catch {
      // no storage: go
    }
    return true;
  }

  function retryLater() {
    if (openedAt && Date.now() - openedAt > STEADY_MS && !why) tries = 0;
    openedAt = 0;
    const wait = Math.min(MAX_MS, FIRST_MS * 2 ** tries) * (0.5 + Math.random() / 2);
    tries += 1;
    dueAt = Date.now() + wait;
    clearTimeout(retryTimer);
    retryTimer = setTimeout(connect, wait);
    showOwn("reconnecting");
  }

  function connect() {
    clearTimeout(retryTimer);
    dueAt = 0;
    if (leaving || socket) return;
    if (!wrapper) {
      location.reload();
      return;
    }
    if (serverSaid) showOwn("reconnecting");
    wrapper.reconnect();
  }

  /** A socket may be dead and not know it (C29): no answer in time means connect anew. */
  function probe() {
    const asked = socket;
    if (!asked || asked.readyState !== WebSocket.OPEN) return;
    heard = false;
    asked.send('{"type":"ping"}');
    clearTimeout(pongTimer);
    pongTimer = setTimeout(() => {
      if (asked !== socket || heard || leaving) return;
      socket = null;
      asked.close();
      connect();
    }, PONG_MS);
  }

  function wake() {
    if (document.hidden || leaving) return;
    if (socket) probe();
    else if (dueAt) connect();
  }

  for (const name of ["visibilitychange", "resume"]) document.addEventListener(name, wake);
  window.addEventListener("online", wake);
  window.addEventListener("offline", probe);
  window.addEventListener("pagehide", () => {
    leaving = true;
    clearTimeout(retryTimer);
    const old = socket;
    socket = null;
    if (old) old.close();
  });
  window.addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    leaving = false;
    if (socket) probe();
    else connect();
  });
  setInterval(() => document.hidden || probe(), PING_EVERY_MS);

  /* What the header says. The server tells of its link to the agent-server; while we cannot hear it,
     we tell of ours to the server, in an element of our own. */
  const status = () => document.getElementById("connection");
  const inSeconds = (seconds) => (seconds > 0.2 ? `Reconnecting in ${Math.ceil(seconds)} s` : "Reconnecting…");

  function makeOwn() {
    const element = document.createElement("div");
    element.id = "connection";
    element.innerHTML = '<p class="status"><span data-text></span> <span data-left></span></p><button type="button" class="button small"><span>Retry<span class="wide"> now</span></span></button>';
    element.lastElementChild.addEventListener("click", connect);
    return element;
  }

  function showOwn(state) {
    const long = tries > 1; // a first try that succeeds at once needs no fuss
    if (!serverSaid) {
      own = makeOwn();
      serverSaid = status();
      serverSaid.replaceWith(own);
    }
    own.dataset.state = state;
    const text = why || (navigator.onLine ? "No connection to the site." : "You are offline.");
    own.querySelector("[data-text]").textContent = long ? text : "Reconnecting…";
    own.lastElementChild.hidden = !long;
    if (long) announce(text);
    countDown();
  }

  function showServer() {
    if (!serverSaid) return;
    own.replaceWith(serverSaid);
    serverSaid = null;
    if (announced) announce("Connected to the site again.");
    announced = "";
  }

  function announce(text) {
    if (text !== announced) document.getElementById("link-announce").textContent = text;
    announced = text;
  }

  function countDown() {
    const now = Date.now();
    const element = status();
    const left = element.querySelector("[data-left]");
    if (element !== timed) {
      timed = element;
      serverDueAt = now + element.dataset.retryIn * 1000;
    }
    if (!left) return;
    if (!serverSaid) left.textContent = inSeconds((serverDueAt - now) / 1000);
    else left.textContent = tries > 1 ? inSeconds((dueAt - now) / 1000) : "";
  }
  countDown();
  setInterval(countDown, 1000);

  /* A swap that takes the focused control away leaves the focus in the message field. */
  main.addEventListener("htmx:oobBeforeSwap", (event) => {
    const { target } = event;
    if (!target.contains(document.activeElement) || target.id === "transcript" || target.matches("[data-body]")) return;
    queueMicrotask(() => {
      if (document.activeElement === document.body) document.getElementById("text").focus({ preventScroll: true });
    });
  });
})();
