// The table of layers in docs/development/architecture.md, from the rule that the check enforces.
import { LAYERS } from '../lib/layers.ts';
import type { Generator } from './types.ts';

const label = (name: string): string => (name === 'cmd' ? 'cmd/*' : `pkg/${name}`);

const rows = Object.entries(LAYERS).map(([name, { layers, packages, pure }]) => {
  const below = layers.map((layer) => `\`${layer}\``).join(', ') || '–';
  const registry = packages.map((entry) => `\`${entry}\``).join(', ') || '–';
  return `| \`${label(name)}\` | ${pure ? 'pure' : 'I/O'} | ${below} | ${registry} |`;
});

const reachable = (from: string): Set<string> => {
  const found = new Set<string>();
  for (const layer of LAYERS[from]?.layers ?? []) {
    found.add(layer);
    for (const further of reachable(layer)) found.add(further);
  }
  return found;
};

/** Layers that this one points to in the picture: those that another of them reaches are left out, for cmd reaches all. */
export const neededArrows = (name: string): readonly string[] => {
  const layers = LAYERS[name]?.layers ?? [];
  return layers.filter((layer) => !layers.some((other) => other !== layer && reachable(other).has(layer)));
};

export const architecture: Generator = {
  path: 'docs/development/architecture.md',
  section: 'layers',
  render: () =>
    [
      '![The layers: commands on top, names and types at the bottom; arrows say who imports whom](architecture.svg)',
      '',
      '| layer | kind | may import | packages from the registry |',
      '|---|---|---|---|',
      ...rows,
    ].join('\n'),
};
