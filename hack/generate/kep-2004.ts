// The page and the figure about KEP-2004's evaluation, from the last kept results of test/bench/kep-2004.
import { kepMarkdown } from '../../test/bench/kep-2004/table.ts';
import type { KepResults } from '../../test/bench/kep-2004/types.ts';
import { readResults } from './results.ts';
import type { Generator } from './types.ts';

const read = (): KepResults => readResults('bench', 'kep-2004');

const INTRODUCTION = `# The evaluation of KEP-2004, and the planner in it

[k8s-topology-simulator](https://github.com/googleinterns/k8s-topology-simulator) is the tool that topology aware hints were
chosen with ([KEP-2004](https://github.com/kubernetes/enhancements/pull/2005), later 2433): 39,273,145 Services in three zones, with 1 to 10
nodes and 0 to 100 endpoints in each, or 30 nodes and 100 to 1,000 endpoints. Clients are taken to be where the nodes are. The
score is 45 % in-zone share, 40 % evenness (100 less half of the largest and of the mean deviation from the fair load, in
percent) and 15 % for few EndpointSlices; hints need no slices of their own, so contenders that write hints have that part in full.

\`npm run bench:kep-2004\` computes it again; *no hints* and the LP bound at θ = 0 (the published *local-weighted*) agree with the published in-zone
shares. The planner has another goal than the score: as much in-zone share as possible while no endpoint is above (1 + θ) times its fair share, as
capacity demands it. With the score as its objective it shows what hints could reach there.

![In-zone share by allowed overload: the planner lies on the integrality bound](kep-2004.svg)
`;

const NOTES = `## How it is measured

- *no hints %*: cases in which every endpoint serves every zone. *largest deviation*: the worst endpoint of all cases.
- *LP bound*: the in-zone share if traffic could be divided at will; *integrality bound*: if each zone's traffic is divided evenly over
  a whole number of endpoints, as proxies do it. No plan within θ beats them: [bounds.ts](../../pkg/flow/bounds.ts).
- The published rows come from the simulator's README; some of its algorithms add slices, which costs them points.
- The EndpointSlice controller's row is our model of it, which the end-to-end tests compare with the real one.
- Every case is computed. \`--every N\` takes a sample, \`--resume FILE\` goes on after an interruption, \`--keep\` keeps the results.
`;

const WIDTH = 760;
const HEIGHT = 420;
const LEFT = 64;
const RIGHT = 190;
const TOP = 24;
const BOTTOM = 56;
const LOW = 80;

const x = (theta: number): number => LEFT + theta * (WIDTH - LEFT - RIGHT);
const y = (percent: number): number => TOP + ((100 - percent) / (100 - LOW)) * (HEIGHT - TOP - BOTTOM);
const at = (value: number): string => value.toFixed(1);

const text = (left: number, top: number, words: string, anchor = 'start'): string =>
  `<text x="${at(left)}" y="${at(top)}" text-anchor="${anchor}">${words}</text>`;

const line = (points: readonly (readonly [number, number])[], name: string): string =>
  `<polyline class="${name}" points="${points.map(([theta, share]) => `${at(x(theta))},${at(y(share))}`).join(' ')}"/>`;

const axes = (): string[] => [
  ...[80, 85, 90, 95, 100].flatMap((percent) => [
    `<line class="grid" x1="${LEFT}" x2="${at(x(1))}" y1="${at(y(percent))}" y2="${at(y(percent))}"/>`,
    text(LEFT - 8, y(percent) + 4, `${percent} %`, 'end'),
  ]),
  ...[0, 0.2, 0.4, 0.6, 0.8, 1].map((theta) => text(x(theta), HEIGHT - BOTTOM + 20, theta.toFixed(1), 'middle')),
  text((LEFT + x(1)) / 2, HEIGHT - 12, 'θ: how far an endpoint may be above its fair share', 'middle'),
  text(LEFT, 14, 'in-zone share'),
];

const level = (share: number, words: string, name: string): string[] => [
  `<line class="${name}" x1="${LEFT}" x2="${at(x(1))}" y1="${at(y(share))}" y2="${at(y(share))}"/>`,
  text(x(1) + 10, y(share) + 4, words),
];

const STYLE = `text { font: 13px system-ui, sans-serif; fill: #24292f; }
.grid { stroke: #d0d7de; }
polyline { fill: none; stroke-width: 2.5; }
.planner { stroke: #0969da; } .dot { fill: #0969da; }
.lp { stroke: #8250df; stroke-dasharray: 6 4; }
.upstream { stroke: #bc4c00; stroke-width: 2; } .own { stroke: #1a7f37; stroke-width: 2; stroke-dasharray: 2 4; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .grid { stroke: #30363d; } .planner { stroke: #58a6ff; } .dot { fill: #58a6ff; } .lp { stroke: #bc8cff; }
  .upstream { stroke: #f0883e; } .own { stroke: #3fb950; }
}`;

const figure = ({ sample }: KepResults): string => {
  const { plans, upstream, sameZone } = sample;
  const last = plans.at(-1);
  if (last === undefined) throw new Error('test/bench/results/kep-2004.json has no plans');
  const title = `In-zone share by theta: ${plans.map(({ theta, inZone }) => `${theta}: ${inZone.toFixed(1)} %`).join(', ')}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}">`,
    `<title>${title}</title>`,
    `<style>${STYLE}</style>`,
    ...axes(),
    ...level(upstream.inZone, 'EndpointSlice controller', 'upstream'),
    ...level(sameZone.inZone, 'own zones (overloads)', 'own'),
    line(
      plans.map(({ theta, lp }) => [theta, lp] as const),
      'lp',
    ),
    line(
      plans.map(({ theta, inZone }) => [theta, inZone] as const),
      'planner',
    ),
    ...plans.map(({ theta, inZone }) => `<circle class="dot" cx="${at(x(theta))}" cy="${at(y(inZone))}" r="3.5"/>`),
    text(x(1) + 10, y(last.lp) - 4, 'LP bound'),
    text(x(1) + 10, y(last.inZone) + 14, 'planner'),
    '</svg>',
  ].join('\n');
};

export const kep2004Page: Generator = {
  path: 'docs/development/kep-2004.md',
  render: () => `${INTRODUCTION}\n${kepMarkdown(read())}\n\n${NOTES}`,
};

export const kep2004Figure: Generator = { path: 'docs/development/kep-2004.svg', render: () => figure(read()) };
