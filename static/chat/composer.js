/* The message field: Enter, growing, the draft, one send per message, and every error said.
   The field is emptied only when the server has the text. */
(() => {
  const SAVE_MS = 300;
  const MAX_DRAFT_CHARS = 100000; // a browser keeps about 5 MB for a site
  const HUGE_CHARS = 30000; // measuring a longer text at each key is felt
  const WARN_SHARE = 0.9; // of the limit
  const HUGE_PASTE = 10; // times the limit
  const MESSAGES = {
    0: "No connection to the site when this was sent. Your text is kept: try again.",
    401: "You are logged out. Log in again: your text is kept.",
    403: "Refused. Reload the page and try again: your text is kept.",
    404: "This conversation is no longer here.",
    413: "Too long: 20 kB at most.",
    429: "Too much at once. Wait a moment and try again.",
    timeout: "The site did not answer. Try again: nothing is sent twice.",
    other: "The site could not do this. Try again in a moment.",
  };

  const main = document.querySelector("main[data-conversation]");
  const form = document.getElementById("composer");
  const field = form.elements.text;
  const counter = document.getElementById("limit");
  const limit = Number(form.dataset.limit);
  const drafts = `draft:${main.dataset.user}:`;
  const draftKey = drafts + main.dataset.conversation;
  const touch = matchMedia("(pointer: coarse)");
  const grows = CSS.supports("field-sizing", "content");
  const encoder = new TextEncoder();
  let attempt = null; // {text, id}: what was sent and is not known to be accepted
  let again = false; // send once more when the one under way is done
  let gone = false; // logged out: nothing is kept any more

  /* crypto.randomUUID is missing without HTTPS, as on a phone in the LAN. */
  const newId = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (n) => n.toString(16).padStart(2, "0")).join("");

  const busy = () => form.classList.contains("htmx-request");

  function say(text) {
    document.getElementById("composer-error").textContent = text;
  }

  const size = (bytes) => (bytes < 1e6 ? Math.ceil(bytes / 100) / 10 + " kB" : (bytes / 1e6).toFixed(1) + " MB");

  /** Bytes of the text in UTF-8: exact where it matters, at least that many where it is far over. */
  function bytes() {
    const text = field.value;
    if (text.length * 3 < limit * WARN_SHARE || text.length > limit) return text.length;
    return encoder.encode(text).length;
  }

  function measure() {
    const text = field.value;
    const used = bytes();
    counter.hidden = used < limit * WARN_SHARE;
    counter.classList.toggle("over", used > limit);
    counter.textContent = counter.hidden ? "" : `${size(used)} of ${limit / 1000} kB at most`;
    const huge = text.length > HUGE_CHARS;
    field.classList.toggle("huge", huge);
    field.dir = huge ? "ltr" : "auto"; // finding the direction of 3 MB takes half a minute
    if (grows) return;
    field.style.height = "";
    if (!huge && text) field.style.height = field.scrollHeight + "px";
  }

  /* The draft: for this user and this conversation, on this device */
  let saving = 0;
  function save() {
    clearTimeout(saving);
    saving = 0;
    if (gone) return;
    try {
      const text = field.value;
      if (!text || text.length > MAX_DRAFT_CHARS) localStorage.removeItem(draftKey);
      else localStorage.setItem(draftKey, JSON.stringify({ text, attempt }));
    } catch {
      // storage is full or forbidden: the text is still in the field
    }
  }

  function restore() {
    try {
      const draft = JSON.parse(localStorage.getItem(draftKey));
      if (!draft || field.value) return;
      field.value = draft.text;
      attempt = draft.attempt;
      known();
    } catch {
      // no storage, no draft
    }
  }

  function forgetAll() {
    gone = true;
    try {
      for (const key of Object.keys(localStorage)) if (key.startsWith(drafts)) localStorage.removeItem(key);
    } catch {
      // nothing was kept
    }
  }

  /** What was typed after the sent text, while it was on its way, is the next message. */
  function accepted() {
    if (field.value.startsWith(attempt.text)) field.value = field.value.slice(attempt.text.length);
    attempt = null;
    save();
    measure();
    document.dispatchEvent(new Event("chat:end"));
  }

  /** Its bubble shows that the site has it, although the answer that says so was lost: not to be sent again (C05). */
  function known() {
    if (!attempt || busy() || !document.querySelector(`[data-client="${CSS.escape(attempt.id)}"]`)) return false;
    say("");
    accepted();
    return true;
  }
  main.addEventListener("chat:upsert", known);

  function send() {
    if (!field.value.trim()) return;
    form.requestSubmit();
  }

  form.addEventListener("submit", (event) => {
    const text = field.value;
    const tooLong = bytes() > limit;
    if (tooLong) say(`Too long: ${limit / 1000} kB at most, this is ${size(bytes())}.`);
    else if (busy()) again = Boolean(attempt) && text !== attempt.text;
    if (tooLong || busy() || !text.trim()) {
      event.preventDefault();
      event.stopImmediatePropagation();
      return;
    }
    if (!attempt || attempt.text !== text) attempt = { text, id: newId() };
    form.elements.client_id.value = attempt.id;
    save();
    document.dispatchEvent(new Event("chat:end"));
  }, true);

  field.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229) return; // an input method's own key (C84)
    const stop = event.key === "Escape" && document.querySelector("main:not(:has(.menu[open])) [data-stop]");
    if (stop) stop.click();
    if (event.key !== "Enter" || event.shiftKey || event.altKey) return;
    if (touch.matches && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    if (!event.repeat) send();
  });

  /* A browser needs seconds to lay out megabytes in a field, and nothing so long can be sent (C80). */
  function refuseHuge(event) {
    const text = (event.clipboardData || event.dataTransfer).getData("text/plain");
    if (text.length < limit * HUGE_PASTE) return;
    event.preventDefault();
    say(`That text has ${size(text.length)}, and a message can have ${limit / 1000} kB at most: nothing was pasted.`);
  }
  field.addEventListener("paste", refuseHuge);
  field.addEventListener("drop", refuseHuge);

  field.addEventListener("input", () => {
    measure();
    if (!saving) saving = setTimeout(save, SAVE_MS);
  });
  window.addEventListener("pagehide", save);
  document.addEventListener("visibilitychange", () => document.hidden && save());

  /* Every request of the page: what is wrong is said, and by the server's words if it gave any */
  main.addEventListener("htmx:configRequest", (event) => {
    const { headers, parameters, elt } = event.detail;
    const cookie = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/);
    if (cookie) {
      // The cookie is newer than the page when someone logged in elsewhere meanwhile.
      headers["X-CSRFToken"] = cookie[1];
      delete parameters.csrfmiddlewaretoken;
    }
    if (elt.closest("[data-suggest]")) parameters.client_id = newId();
  });
  main.addEventListener("htmx:beforeRequest", () => say(""));
  const report = (key) => {
    if (known()) return;
    if (!document.getElementById("composer-error").textContent) say(MESSAGES[key] || MESSAGES.other);
  };
  main.addEventListener("htmx:responseError", (event) => report(event.detail.xhr.status));
  main.addEventListener("htmx:sendError", () => report(0));
  main.addEventListener("htmx:timeout", () => report("timeout"));
  main.addEventListener("htmx:afterRequest", (event) => {
    const { elt, successful } = event.detail;
    const more = again;
    if (elt === form) again = false;
    if (!successful) return;
    if (elt.querySelector("[data-clear]")) closeMenus();
    if (elt.hasAttribute("data-suggest")) document.dispatchEvent(new Event("chat:end"));
    if (elt !== form) return;
    accepted();
    if (more) queueMicrotask(send); // after htmx has let go of the form
  });

  /* Nothing that is pushed takes the field and its text away (C32) */
  main.addEventListener("htmx:oobBeforeSwap", (event) => form.contains(event.target) && event.preventDefault());

  /* The menu closes like one: Escape, or a press elsewhere */
  function closeMenus() {
    for (const menu of document.querySelectorAll(".menu, .menu details")) menu.open = false;
  }
  document.addEventListener("pointerdown", (event) => event.target.closest("details") || closeMenus());
  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && document.querySelector(".menu[open]");
    if (!menu) return;
    closeMenus();
    menu.querySelector("summary").focus();
  });
  document.querySelector("[data-logout]").addEventListener("submit", forgetAll);

  restore();
  measure();
  if (!touch.matches) field.focus({ preventScroll: true });
})();
