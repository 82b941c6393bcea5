/* The htmx extension by which pushes find their place: the swap styles `upsert`, `insert` and `manifest`.
   Applying the same push twice changes nothing. It also puts the copy buttons on code and data. */
(() => {
  const COPIED_MS = 1200;

  /** Put a node among its siblings by data-order; from the end, where most things happen. */
  function place(parent, node) {
    let next = null;
    for (let one = parent.lastElementChild; one && one.dataset.order > node.dataset.order;) {
      next = one;
      one = one.previousElementSibling;
    }
    parent.insertBefore(node, next);
  }

  function copyButton(label) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.ariaLabel = label; // drawn by the style sheet: the text of an answer is the answer only
    return button;
  }

  function decorate(root) {
    window.chatGrids.dressAll(root);
    for (const pre of root.querySelectorAll(".code > pre:last-child")) pre.after(copyButton("Copy"));
    for (const data of root.querySelectorAll(".data:empty")) data.append(copyButton("Copy data"));
  }

  function undecorate(root) {
    for (const button of root.querySelectorAll(".copy")) button.remove();
  }

  /** Replace what differs and nothing else: a reader's selection and place survive. */
  function update(old, fresh) {
    undecorate(old);
    if (!window.chatGrids.original(old).isEqualNode(fresh)) {
      window.chatGrids.carry(old, fresh);
      old.replaceWith(fresh);
      old = fresh;
    }
    decorate(old);
    return old;
  }

  function updateBody(old, fresh) {
    const kept = new Set(Array.from(fresh.children, (block) => block.id));
    for (const block of Array.from(old.children)) if (!kept.has(block.id)) block.remove();
    for (const block of Array.from(fresh.children)) {
      const known = old.querySelector(":scope > #" + CSS.escape(block.id));
      if (known) update(known, block);
      else {
        decorate(block);
        place(old, block);
      }
    }
  }

  function copyAttributes(old, fresh) {
    for (const { name } of Array.from(old.attributes)) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
    for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }

  function updateMessage(old, fresh) {
    copyAttributes(old, fresh);
    const parts = Array.from(fresh.children);
    Array.from(old.children).forEach((part, index) => {
      if (part.hasAttribute("data-body")) {
        copyAttributes(part, parts[index]);
        updateBody(part, parts[index]);
      } else if (!part.isEqualNode(parts[index])) part.replaceWith(parts[index]);
    });
  }

  function upsert(target, node) {
    let known = document.getElementById(node.id);
    const fresh = !known;
    if (known && node.hasAttribute("data-message")) {
      const moved = known.dataset.order !== node.dataset.order;
      updateMessage(known, node);
      if (moved) place(target, known);
      node = known;
    } else if (known) node = update(known, node);
    else {
      decorate(node);
      place(target, node);
    }
    htmx.trigger(target, "chat:upsert", { node, fresh });
    return node.hasAttribute("data-message") ? [node] : [];
  }

  /** Take away what the server no longer has; older messages than it lists stay (DESIGN: Retention). */
  function prune(transcript, { uids, firstOrder, reset }) {
    const kept = new Set(uids.split(" "));
    for (const message of Array.from(transcript.children)) {
      const listed = kept.has(message.dataset.message);
      const covered = reset === "1" || (firstOrder && message.dataset.order >= firstOrder);
      if (!listed && covered) message.remove();
    }
    if (!transcript.firstElementChild) transcript.textContent = ""; // so that :empty is true
    if (reset === "1") resets += 1;
    if (reset === "1" && !uids.trim()) document.getElementById("earlier").textContent = "";
    return [];
  }

  let resets = 0; // how often everything was cleared
  const askedAt = new WeakMap(); // requests by what `resets` was then

  htmx.defineExtension("upsert", {
    /** What was asked for before a clear is not shown after it: it may be what was cleared. */
    onEvent(name, { detail }) {
      if (name === "htmx:beforeSend") askedAt.set(detail.xhr, resets);
      else if (name === "htmx:beforeSwap" && !detail.isError && askedAt.get(detail.xhr) !== resets) detail.shouldSwap = false;
    },
    isInlineSwap: (style) => ["upsert", "insert", "manifest"].includes(style),
    handleSwap(style, target, fragment) {
      const node = fragment.firstElementChild;
      if (style === "insert" && document.getElementById(node.id)) return []; // what is there may be newer
      if (style === "upsert" || style === "insert") return upsert(target, node);
      return style === "manifest" && prune(target, node.dataset);
    },
  });

  /* Without HTTPS, as on a phone in the LAN, there is no navigator.clipboard. */
  async function copy(text) {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "visually-hidden";
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    if (!done) throw new Error("not copied");
  }

  const transcript = document.getElementById("transcript");
  decorate(transcript);
  transcript.addEventListener("click", (event) => {
    const button = event.target.closest(".copy");
    if (!button) return;
    const { raw } = button.parentElement.dataset;
    copy(raw || button.previousElementSibling.textContent).then(
      () => (button.ariaLabel = "Copied!"),
      () => (button.ariaLabel = "Not copied"),
    );
    setTimeout(() => (button.ariaLabel = raw ? "Copy data" : "Copy"), COPIED_MS);
  });
})();
