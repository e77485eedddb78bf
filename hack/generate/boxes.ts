// Boxes and arrows as SVG, for screens in light and dark.

/** A number as coordinates have it. */
export const at = (value: number): string => value.toFixed(1);

export interface LabelledBox {
  /** Centre. */
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** A class of the style: `first`, `second` or `others`. */
  readonly kind: string;
  readonly name: string;
  /** Beneath the name, smaller. */
  readonly caption: string;
}

export const drawBox = ({ x, y, width, height, kind, name, caption }: LabelledBox): string =>
  [
    `<rect class="${kind}" x="${at(x - width / 2)}" y="${at(y - height / 2)}" width="${width}" height="${height}" rx="7"/>`,
    `<text class="name" x="${at(x)}" y="${at(y - 4)}">${name}</text>`,
    `<text class="small" x="${at(x)}" y="${at(y + 14)}">${caption}</text>`,
  ].join('\n');

/** Along a path, with a head at its end; `more` adds classes. */
export const drawArrow = (path: string, more = ''): string =>
  `<path class="arrow${more}" d="${path}" marker-end="url(#head)"/>`;

/** A line of the key: a small box and what it means. */
export const drawKey = (kind: string, x: number, words: string): string =>
  [
    `<rect class="${kind}" x="${x}" y="12" width="16" height="16" rx="4"/>`,
    `<text class="key" x="${x + 24}" y="25">${words}</text>`,
  ].join('\n');

const STYLE = `text { font: 14px system-ui, sans-serif; fill: #24292f; text-anchor: middle; }
.name { font-weight: 600; } .small { font-size: 12px; fill: #57606a; } .key { text-anchor: start; font-size: 13px; }
.first { fill: #ddf4ff; stroke: #54aeff; } .second { fill: #fff8c5; stroke: #d4a72c; } .others { fill: #f6f8fa; stroke: #d0d7de; }
.arrow { fill: none; stroke: #8c959f; stroke-width: 1.4; } .asks { stroke-dasharray: 4 3; } .head { fill: #8c959f; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .small { fill: #9198a1; } .others { fill: #151b23; stroke: #3d444d; }
  .first { fill: #121d2f; stroke: #388bfd; } .second { fill: #272115; stroke: #9e6a03; }
  .arrow { stroke: #6e7681; } .head { fill: #6e7681; }
}`;

const HEAD =
  '<defs><marker id="head" viewBox="0 0 8 8" refX="1" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="head" d="M0,0 L8,4 L0,8 z"/></marker></defs>';

/** The whole picture; what is drawn last lies on top. */
export const drawPicture = (title: string, width: number, height: number, drawn: readonly string[]): string =>
  [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}">`,
    `<title>${title}</title>`,
    `<style>${STYLE}</style>`,
    HEAD,
    ...drawn,
    '</svg>',
  ].join('\n');
