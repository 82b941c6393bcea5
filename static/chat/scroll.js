/* Where the reader is: follow the end only when they are there, else offer to go there.
   A scroll event is ours when it lands where we sent it; no timers decide (C87). */
(() => {
  const NEAR_PX = 8;
  const KEYS_UP = ["PageUp", "ArrowUp", "Home"];

  const scroller = document.getElementById("scroller");
  const transcript = document.getElementById("transcript");
  const pill = document.getElementById("newer");
  const root = document.documentElement;
  let pinned = true; // the reader is at the end
  let last = 0; // where the scroller was last seen or sent
  let height = 0; // of what is in it, then

  const gap = () => scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop;

  function mark() {
    last = scroller.scrollTop;
    height = scroller.scrollHeight;
  }

  function toEnd() {
    scroller.scrollTop = scroller.scrollHeight;
    mark();
  }

  function pin() {
    pinned = true;
    pill.hidden = true;
    toEnd();
  }

  function unpin() {
    if (scroller.scrollHeight > scroller.clientHeight + 1) pinned = false;
  }

  /* Until now the reversed column showed the end without a script. Upright, what grows below the
     reader moves nothing they read, in browsers without scroll anchoring too. */
  const above = -scroller.scrollTop;
  root.classList.add("js-scroll");
  toEnd();
  if (above > NEAR_PX) {
    pinned = false;
    scroller.scrollTop -= above;
    mark();
  }

  scroller.addEventListener("scroll", () => {
    const top = scroller.scrollTop;
    if (Math.abs(top - last) < 1) return;
    const up = top < last;
    const resized = scroller.scrollHeight !== height; // then it may be the browser that moved, not the reader
    mark();
    if (gap() > NEAR_PX) {
      if (up && !resized) unpin();
    } else if (!up) {
      pinned = true;
      pill.hidden = true;
    }
  }, { passive: true });

  scroller.addEventListener("wheel", (event) => event.deltaY < 0 && unpin(), { passive: true });
  let touchY = 0;
  scroller.addEventListener("touchstart", (event) => (touchY = event.touches[0].clientY), { passive: true });
  scroller.addEventListener("touchmove", (event) => {
    const y = event.touches[0].clientY;
    if (y > touchY) unpin();
    touchY = y;
  }, { passive: true });
  document.addEventListener("keydown", (event) => {
    if (event.target.closest("textarea, input")) {
      const page = { PageUp: -0.9, PageDown: 0.9 }[event.key];
      if (!page || event.target.scrollHeight > event.target.clientHeight + 1) return;
      event.preventDefault(); // the field has no pages of its own: move the messages
      if (page < 0) unpin();
      scroller.scrollBy(0, page * scroller.clientHeight);
    } else if (scroller.contains(event.target) && (KEYS_UP.includes(event.key) || (event.key === " " && event.shiftKey))) unpin();
  });

  /* Who pages or filters a table reads that, not the end. */
  for (const name of ["click", "input"]) {
    transcript.addEventListener(name, (event) => event.target.closest(".more, .filter") && unpin(), true);
  }

  /* Runs between layout and paint, so a growing reply never shows one frame out of place. */
  const watch = new ResizeObserver(() => pinned && toEnd());
  watch.observe(scroller);
  watch.observe(transcript.parentElement);

  /** Whether the new thing stands below what the reader sees. */
  transcript.addEventListener("chat:upsert", (event) => {
    if (pinned || !event.detail.fresh || !pill.hidden) return;
    if (event.detail.node.getBoundingClientRect().bottom > scroller.getBoundingClientRect().bottom) pill.hidden = false;
  });
  pill.addEventListener("click", () => {
    pin();
    scroller.focus({ preventScroll: true });
  });
  document.addEventListener("chat:end", pin);

  /* Earlier messages come in above: what the reader looks at stays where it is. At the very top
     the browser's own anchoring does nothing, so it is done here. */
  const main = transcript.closest("main");
  let anchor = null;
  main.addEventListener("htmx:beforeSwap", (event) => {
    if (!event.detail.elt.closest("#earlier")) return;
    scroller.style.overflowAnchor = "none";
    unpin();
    const node = transcript.firstElementChild;
    anchor = node && { node, top: node.getBoundingClientRect().top };
  });
  main.addEventListener("htmx:afterRequest", () => {
    if (!anchor) return;
    scroller.scrollTop += anchor.node.getBoundingClientRect().top - anchor.top;
    mark();
    scroller.style.overflowAnchor = "";
    anchor = null;
  });

  /* iOS lays its keyboard over the page: keep the composer above it (C85). */
  const view = window.visualViewport;
  function fit() {
    const covered = view.scale < 1.01 && window.innerHeight - view.height > 60;
    document.body.classList.toggle("fitted", covered);
    if (covered) {
      root.style.setProperty("--fit", view.height + "px");
      window.scrollTo(0, 0);
    }
  }
  if (view) view.addEventListener("resize", fit);
})();
