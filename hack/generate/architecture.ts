// SPDX-License-Identifier: Apache-2.0
// The table and picture of layers in docs/development/architecture.md, from the rule that the check enforces.
import { LAYERS } from '../lib/layers.ts';
import type { Generator } from './types.ts';

const label = (name: string): string => (name === 'cmd' ? 'cmd/*' : `pkg/${name}`);

const rows = Object.entries(LAYERS).map(([name, { layers, packages, pure }]) => {
  const below = layers.map((layer) => `\`${layer}\``).join(', ') || '–';
  const registry = packages.map((entry) => `\`${entry}\``).join(', ') || '–';
  return `| \`${label(name)}\` | ${pure ? 'pure' : 'I/O'} | ${below} | ${registry} |`;
});

// Arrows that another arrow already implies are left out of the picture: cmd reaches everything.
const reachable = (from: string): Set<string> => {
  const found = new Set<string>();
  for (const layer of LAYERS[from]?.layers ?? []) {
    found.add(layer);
    for (const further of reachable(layer)) found.add(further);
  }
  return found;
};

const arrows = Object.entries(LAYERS).flatMap(([name, { layers }]) =>
  layers
    .filter((layer) => !layers.some((other) => other !== layer && reachable(other).has(layer)))
    .map((layer) => `  ${name} --> ${layer}`),
);

export const architecture: Generator = {
  path: 'docs/development/architecture.md',
  section: 'layers',
  render: () =>
    [
      '```mermaid',
      'graph TD',
      ...arrows,
      '```',
      '',
      '| layer | kind | may import | packages from the registry |',
      '|---|---|---|---|',
      ...rows,
    ].join('\n'),
};
