/* What a script adds to the tables of structured content: sorting, a filter, and pages (CANVAS 56-58).
   Without it all rows stand there. A table that a push replaces keeps how the reader had set it. */
(() => {
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const states = new WeakMap(); // by grid
  const originals = new WeakMap(); // blocks as the server sent them
  const transcript = document.getElementById("transcript");

  function make(tag, className, before) {
    const element = document.createElement(tag);
    element.className = className;
    if (tag === "button") element.type = "button";
    before.before(element);
    return element;
  }

  function dress(grid) {
    if (states.has(grid)) return;
    const block = grid.closest(".block");
    if (block) originals.set(block, block.cloneNode(true));
    const body = grid.querySelector("tbody");
    const state = { body, rows: Array.from(body.rows), column: -1, sign: 1, page: Number(grid.dataset.page) || 0 };
    state.count = state.page || state.rows.length;
    states.set(grid, state);
    for (const header of grid.querySelectorAll("th.sortable")) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...header.childNodes);
      header.append(button);
    }
    const table = grid.querySelector(".table-wrap");
    if (grid.classList.contains("filterable")) {
      state.filter = make("input", "filter", table);
      state.filter.type = "search";
      state.filter.placeholder = state.filter.ariaLabel = "Filter rows";
      state.found = make("p", "found quiet", table);
      state.found.role = "status";
    }
    if (state.page) {
      state.more = make("button", "more button small", table);
      table.after(state.more);
    }
    draw(grid);
  }

  function compare(one, other) {
    const difference = one - other; // of numbers; NaN where one is none
    return one && other && !Number.isNaN(difference) ? difference : collator.compare(one, other);
  }

  function draw(grid) {
    const { body, rows, column, sign, count, filter, found, more } = states.get(grid);
    let sorted = rows;
    if (column >= 0) {
      const words = new Map(rows.map((row) => [row, row.cells[column].textContent.trim()]));
      sorted = [...rows].sort((one, other) => sign * compare(words.get(one), words.get(other)));
    }
    const needle = filter ? filter.value.trim().toLowerCase() : "";
    let shown = 0;
    sorted.forEach((row, index) => {
      row.hidden = needle ? !row.textContent.toLowerCase().includes(needle) : index >= count;
      if (!row.hidden) shown += 1;
    });
    if (sorted.some((row, index) => row !== body.rows[index])) body.replaceChildren(...sorted);
    if (found) found.textContent = needle ? `${shown} of ${rows.length}` : "";
    if (more) {
      more.hidden = Boolean(needle) || count >= rows.length;
      more.textContent = `Show more (${rows.length - count})`;
    }
    for (const header of grid.querySelectorAll("th.sortable")) {
      header.ariaSort = header.cellIndex !== column ? "none" : sign > 0 ? "ascending" : "descending";
    }
  }

  /* none, ascending, descending, none; another column begins at ascending */
  function sort(grid, column) {
    const state = states.get(grid);
    if (state.column !== column) Object.assign(state, { column, sign: 1 });
    else if (state.sign > 0) state.sign = -1;
    else state.column = -1;
    draw(grid);
  }

  const headers = (grid) => Array.from(grid.querySelectorAll("th"), (header) => header.textContent).join("\n");

  /** The fresh block takes over how the reader has set the old one, and where they write. */
  function carry(old, fresh) {
    const [from, to] = [old, fresh].map((block) => block.querySelector(".grid"));
    const before = from && states.get(from);
    if (!before || !to || headers(from) !== headers(to)) return;
    dress(to);
    const state = states.get(to);
    if (to.querySelectorAll("th")[before.column]?.matches(".sortable")) Object.assign(state, { column: before.column, sign: before.sign });
    if (state.page) state.count = Math.max(state.count, before.count);
    if (state.filter && before.filter) {
      const { value, selectionStart, selectionEnd } = before.filter;
      state.filter.value = value;
      if (document.activeElement === before.filter) {
        queueMicrotask(() => {
          state.filter.focus({ preventScroll: true });
          state.filter.setSelectionRange(selectionStart, selectionEnd);
        });
      }
    }
    draw(to);
  }

  transcript.addEventListener("click", (event) => {
    const button = event.target.closest(".sort, .more");
    if (!button) return;
    const grid = button.closest(".grid");
    if (button.matches(".sort")) return sort(grid, button.parentElement.cellIndex);
    const state = states.get(grid);
    state.count += state.page;
    draw(grid);
  });
  transcript.addEventListener("input", (event) => {
    if (event.target.matches(".filter")) draw(event.target.closest(".grid"));
  });

  window.chatGrids = {
    carry,
    dressAll: (root) => root.querySelectorAll(".grid").forEach(dress),
    original: (block) => originals.get(block) || block,
  };
})();
