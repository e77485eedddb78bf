// Three things on their way through the files, as tables and as a picture.
import { existsSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { layerOf, LAYERS } from '../lib/layers.ts';
import { TRIPS } from '../lib/trips.ts';
import type { Step, Trip } from '../lib/trips.ts';
import { drawArrow, drawBox, drawKey, drawPicture } from './boxes.ts';
import type { LabelledBox } from './boxes.ts';
import type { Generator } from './types.ts';

const root = resolve(import.meta.dirname, '../..');

const rowOf = ({ file, detail }: Step): string => {
  if (!existsSync(resolve(root, file)))
    throw new Error(`docs/development/architecture.md names ${file}, which is not there`);
  return `| [${file}](../../${file}) | ${detail} |`;
};

const tableOf = ({ name, example, steps }: Trip): string =>
  [`### ${name}`, '', example, '', '| file | what it does |', '|---|---|', ...steps.map(rowOf)].join('\n');

export const trips: Generator = {
  path: 'docs/development/architecture.md',
  section: 'trips',
  render: () =>
    [
      '![A setting, an admission review and a sample of load on their way through the files; decisions are pure](trips.svg)',
      ...TRIPS.map(tableOf),
    ].join('\n\n'),
};

const SIZE = { width: 150, height: 48 };
const [COLUMN, ROW, TOP] = [172, 104, 92];

const isPure = (file: string): boolean => LAYERS[layerOf(file) ?? '']?.pure === true;

const boxOf = ({ file, does }: Step, column: number, row: number): LabelledBox => ({
  ...SIZE,
  x: 90 + column * COLUMN,
  y: TOP + row * ROW,
  kind: isPure(file) ? 'second' : 'first',
  name: basename(file, '.ts'),
  caption: does,
});

const drawTrip = ({ name, steps }: Trip, row: number): string[] => {
  const boxes = steps.map((one, column) => boxOf(one, column, row));
  const arrows = boxes
    .slice(1)
    .map(({ x, y }) => drawArrow(`M${x - COLUMN + SIZE.width / 2},${y} L${x - SIZE.width / 2 - 7},${y}`));
  return [`<text class="key" x="15" y="${TOP + row * ROW - 36}">${name}</text>`, ...arrows, ...boxes.map(drawBox)];
};

export const tripsFigure: Generator = {
  path: 'docs/development/trips.svg',
  render: () => {
    const columns = Math.max(...TRIPS.map(({ steps }) => steps.length));
    return drawPicture(
      'A setting, an admission review and a sample of load on their way through the files',
      30 + columns * COLUMN,
      TOP + TRIPS.length * ROW - 40,
      [drawKey('first', 20, 'reads and writes'), drawKey('second', 170, 'decides; pure'), ...TRIPS.flatMap(drawTrip)],
    );
  },
};
