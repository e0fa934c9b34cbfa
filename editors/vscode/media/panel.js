// Shows a picture that the extension sends, and says which node was clicked. Runs in the page of a panel.
(() => {
  const editor = acquireVsCodeApi();
  const picture = document.getElementById("picture");
  const message = document.getElementById("message");
  let scale = editor.getState()?.scale ?? 0;

  /** The picture as elements. It is parsed as XML and not as a page, and what could act is taken out. */
  function read(text) {
    const found = new DOMParser().parseFromString(text, "image/svg+xml");
    if (found.querySelector("parsererror") || found.documentElement.localName !== "svg") return undefined;
    for (const element of found.querySelectorAll("script, foreignObject")) element.remove();
    return document.importNode(found.documentElement, true);
  }

  function size() {
    const svg = picture.querySelector("svg");
    const box = svg?.viewBox.baseVal;
    if (!box || box.width === 0) return;
    const fit = Math.min(1, (picture.clientWidth - 32) / box.width, (picture.clientHeight - 32) / box.height);
    const factor = scale === 0 ? fit : scale;
    svg.setAttribute("width", String(box.width * factor));
    svg.setAttribute("height", String(box.height * factor));
  }

  function zoom(factor) {
    const svg = picture.querySelector("svg");
    if (!svg) return;
    const now = svg.clientWidth / (svg.viewBox.baseVal.width || 1);
    scale = factor === 0 ? 0 : Math.min(8, Math.max(0.05, now * factor));
    editor.setState({ ...editor.getState(), scale });
    size();
  }

  const nodeOf = (target) => target.closest?.("[data-node]")?.getAttribute("data-node");
  const elementOf = (name) => picture.querySelector(`[data-node="${CSS.escape(name)}"]`);

  function mark(current, path) {
    for (const element of picture.querySelectorAll(".current, .path")) element.classList.remove("current", "path");
    const names = new Set(path);
    for (const name of names) elementOf(name)?.classList.add("path");
    for (const edge of picture.querySelectorAll(".edge.flow")) {
      const ends = [edge.getAttribute("data-from"), edge.getAttribute("data-to")];
      edge.classList.toggle("path", ends.every((end) => names.has(end)));
    }
    const element = current === undefined ? null : elementOf(current);
    element?.classList.add("current");
    return element;
  }

  window.addEventListener("message", ({ data }) => {
    if (data.type === "picture") {
      const svg = read(data.svg);
      if (!svg) {
        message.textContent = "The language server sent no picture.";
        return;
      }
      const { scrollLeft, scrollTop } = picture;
      picture.replaceChildren(svg);
      size();
      picture.scrollTo(scrollLeft, scrollTop);
      message.textContent = "";
      mark(data.current, data.path);
      for (const element of picture.querySelectorAll("[data-node]")) {
        element.setAttribute("tabindex", "0");
        element.setAttribute("role", "link");
        element.setAttribute("aria-label", element.getAttribute("data-node"));
      }
    } else if (data.type === "mark") {
      mark(data.current, data.path)?.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else if (data.type === "message") {
      // The last picture stays: a text is broken at every other key.
      message.textContent = data.text;
    }
  });

  function open(event) {
    const node = nodeOf(event.target);
    if (node !== undefined && node !== null) {
      event.preventDefault();
      editor.postMessage({ type: "open", node });
    }
  }
  picture.addEventListener("click", open);
  picture.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") open(event);
    else if (event.key === "+") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else if (event.key === "0") zoom(0);
  });
  picture.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(event.deltaY < 0 ? 1.1 : 0.9);
    },
    { passive: false },
  );
  document.getElementById("in").addEventListener("click", () => zoom(1.25));
  document.getElementById("out").addEventListener("click", () => zoom(0.8));
  document.getElementById("fit").addEventListener("click", () => zoom(0));
  window.addEventListener("resize", size);
  editor.postMessage({ type: "ready" });
})();
