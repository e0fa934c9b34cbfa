// The page that the panels show. The picture itself comes later, as a message, so that the page is loaded once.

/** Escapes text for an attribute or a text node. */
export function escape(text: string): string {
  const names: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text.replace(/[&<>"']/g, (letter) => names[letter] ?? letter);
}

export interface Resources {
  /** What a panel may load from, as VS Code names it (`webview.cspSource`). */
  source: string;
  script: string;
  style: string;
}

/** A page that runs one script of ours and loads nothing from elsewhere. */
export function page(title: string, resources: Resources): string {
  const source = escape(resources.source);
  // Pictures carry their style in an element and in attributes.
  const policy = `default-src 'none'; img-src ${source} data:; script-src ${source}; style-src ${source} 'unsafe-inline'`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${escape(resources.style)}">
<title>${escape(title)}</title>
</head>
<body>
<div id="tools" role="toolbar" aria-label="Zoom">
<button id="out" title="Zoom out" aria-label="Zoom out">−</button>
<button id="fit" title="Fit to the panel" aria-label="Fit to the panel">Fit</button>
<button id="in" title="Zoom in" aria-label="Zoom in">+</button>
</div>
<p id="message" role="status">Waiting for the language server…</p>
<main id="picture" tabindex="0"></main>
<script src="${escape(resources.script)}"></script>
</body>
</html>
`;
}
