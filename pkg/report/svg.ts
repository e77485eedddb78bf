// Pictures of an audit as SVG: the zone matrix as a heat map, and a bar of what stays, could stay, and crosses.
import { largestOf, percentText } from './text.ts';
import { type Markup, markup } from './html/document.ts';

type ZoneMatrix = Readonly<Record<string, Readonly<Record<string, number>>>>;

const [CELL_HEIGHT, HEAD_HEIGHT, GAP, PADDING] = [52, 56, 3, 16];
const [CHARACTER, MIN_CELL, LABELS_MIN, LONGEST] = [8, 84, 64, 24];
/** Larger pictures are too large for browsers and readers. */
const MOST_ZONES = 60;
const LEVELS = 4;

const zoneText = (zone: string): string => (zone === '' ? 'no zone' : zone);
const shorten = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);
const widthOf = (zones: readonly string[]): number =>
  largestOf(zones, (zone) => shorten(zoneText(zone)).length) * CHARACTER + PADDING;

/** 0 for nothing, then by quarters of the largest cell. */
const levelOf = (share: number, largest: number): number =>
  share <= 0 || largest <= 0 ? 0 : Math.min(LEVELS, Math.ceil((share / largest) * LEVELS));

const cellOf = (
  from: string,
  to: string,
  share: number,
  largest: number,
  x: number,
  y: number,
  width: number,
): Markup => {
  const stays = from !== '' && from === to;
  const kind = `${stays ? 'stay' : 'cross'}-${levelOf(share, largest)}`;
  const label = `From ${zoneText(from)} to ${zoneText(to)}: ${percentText(share)} of all connections, ${stays ? 'in the zone' : 'crossing'}`;
  const height = CELL_HEIGHT - GAP;
  return markup`<g class="cell ${kind}" role="img" aria-label="${label}"
    ><title>${label}</title>
    <rect x="${x}" y="${y}" width="${width}" height="${height}" rx="6" />
    <text x="${x + width / 2}" y="${y + height / 2}">${percentText(share)}</text></g
  >`;
};

/** Rows are zones of clients, columns zones of endpoints; every cell carries its value as text and as a label. */
export const heatMap = (matrix: ZoneMatrix): Markup => {
  const from = Object.keys(matrix);
  const zones = [...new Set(from.flatMap((zone) => Object.keys(matrix[zone] ?? {})))];
  if (zones.length === 0) return markup`<p>There are no connections between zones.</p>`;
  if (Math.max(from.length, zones.length) > MOST_ZONES) {
    return markup`<p>${zones.length} zones are too many for a picture; <code>-o json</code> holds all of them.</p>`;
  }
  const largest = largestOf(
    from.flatMap((zone) => Object.values(matrix[zone] ?? {})),
    (share) => share,
  );
  const [left, cell] = [Math.max(LABELS_MIN, widthOf(from)), Math.max(MIN_CELL, widthOf(zones))];
  const [width, height] = [left + zones.length * cell, HEAD_HEIGHT + from.length * CELL_HEIGHT];
  const heads = zones.map(
    (zone, column) =>
      markup`<text class="label head" x="${left + column * cell + (cell - GAP) / 2}" y="${HEAD_HEIGHT - 14}"
        >${shorten(zoneText(zone))}</text
      >`,
  );
  const rows = from.map((zone, index) => {
    const y = HEAD_HEIGHT + index * CELL_HEIGHT;
    const cells = zones.map((to, column) =>
      cellOf(zone, to, matrix[zone]?.[to] ?? 0, largest, left + column * cell, y, cell - GAP),
    );
    return markup`<text class="label" x="0" y="${y + (CELL_HEIGHT - GAP) / 2}">${shorten(zoneText(zone))}</text> ${cells}`;
  });
  return markup`<svg
    class="heat-map"
    viewBox="0 0 ${width} ${height}"
    width="${width}"
    height="${height}"
    role="group"
    aria-label="Shares of connections by zone of client and zone of endpoint"
  >
    <text class="axis" x="0" y="${HEAD_HEIGHT - 14}">from ↓</text>
    <text class="axis head" x="${left + (zones.length * cell - GAP) / 2}" y="14">to endpoints in</text>
    ${heads} ${rows}
  </svg>`;
};

export interface BarPart {
  readonly kind: 'stays' | 'routing' | 'endpoints' | 'rest';
  readonly label: string;
  /** 0..1; together at most 1. */
  readonly share: number;
}

const [BAR_WIDTH, BAR_HEIGHT] = [1000, 36];

/** Parts beside each other; what they are stands in the legend below, and in a label. */
export const shareBar = (parts: readonly BarPart[]): Markup => {
  const label = parts.map((part) => `${part.label}: ${percentText(part.share)}`).join('; ');
  let x = 0;
  const rects = parts.map(({ kind, share }) => {
    const rect = markup`<rect class="bar-${kind}" x="${x}" y="0" width="${share * BAR_WIDTH}" height="${BAR_HEIGHT}" />`;
    x += share * BAR_WIDTH;
    return rect;
  });
  return markup`<svg
    class="bar"
    viewBox="0 0 ${BAR_WIDTH} ${BAR_HEIGHT}"
    preserveAspectRatio="none"
    role="img"
    aria-label="${label}"
  >
    ${rects}
  </svg>`;
};
