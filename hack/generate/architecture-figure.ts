// The picture of the layers: a box each, those that decide apart from those that do I/O, and the arrows that the check allows.
import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { LAYERS } from '../lib/layers.ts';
import { neededArrows } from './architecture.ts';
import { at, drawArrow, drawBox, drawKey, drawPicture } from './boxes.ts';
import type { Generator } from './types.ts';

const WIDTH = 880;
const TOP = 46;
const ROW = 84;
const BOX = { width: 172, height: 48 };

/** What a layer is for, in a few words. */
const CAPTIONS: Readonly<Record<string, string>> = {
  apis: 'names, types, schemas',
  routing: 'settings by version',
  gardener: 'Seed, Garden, Shoot',
  hints: 'what slices carry',
  evacuation: 'zones that are left',
  upstream: 'models of Kubernetes',
  flow: 'plans that follow load',
  diagnosis: 'explain, simulate, audit',
  kubeedge: 'NodeGroups as zones',
  traffic: 'who talked to whom',
  telemetry: 'log, metrics, health',
  kubernetes: 'requests, caches, manager',
  installation: 'what one install owns',
  metrics: 'sources of load',
  webhook: 'admission server',
  controllers: 'watches and reconciles',
  report: 'tables, JSON, HTML',
};

/** Something in a row: a box, or the place where an arrow to a row further down passes. */
interface Slot {
  /** The layer; for a passing arrow both its ends. */
  readonly name: string;
  readonly depth: number;
  /** Names of slots of the next row that it leads to. */
  readonly down: readonly string[];
  /** Share of its row's width. */
  readonly weight: number;
  /** From 0 (decides) to 1 (gathers and applies): keeps the two apart. */
  readonly side: number;
}

interface Box {
  readonly name: string;
  /** Centre. */
  readonly x: number;
  readonly y: number;
}

const captionOf = (name: string): string => {
  const caption = CAPTIONS[name];
  if (caption === undefined) throw new Error(`hack/generate/architecture-figure.ts has no caption for pkg/${name}`);
  return caption;
};

const commands = (): string =>
  readdirSync(resolve(import.meta.dirname, '../../cmd'))
    .filter((name) => name !== 'shared')
    .sort()
    .join(' · ');

/** How far below the top: one more than the lowest that imports it. */
const depthOf = (name: string): number => {
  const above = Object.keys(LAYERS).filter((other) => LAYERS[other]?.layers.includes(name));
  return above.length === 0 ? 0 : 1 + Math.max(...above.map(depthOf));
};

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

const sideOf = (name: string): number => (LAYERS[name]?.pure === true ? 0 : 1);

const passing = (from: string, to: string, depth: number): string =>
  depth === depthOf(to) ? to : `${from}>${to}@${depth}`;

/** The boxes, and a slot in each row that an arrow crosses. */
const slots = (): Slot[] =>
  Object.keys(LAYERS).flatMap((name) => {
    const depth = depthOf(name);
    const targets = neededArrows(name);
    const down = targets.map((to) => passing(name, to, depth + 1));
    const own: Slot = { name, depth, down, weight: 1, side: sideOf(name) };
    const crossed = targets.flatMap((to) =>
      Array.from({ length: depthOf(to) - depth - 1 }, (_, index) => {
        const row = depth + 1 + index;
        const side = (sideOf(name) + sideOf(to)) / 2;
        return { name: passing(name, to, row), depth: row, down: [passing(name, to, row + 1)], weight: 0.3, side };
      }),
    );
    return [own, ...crossed];
  });

/** Spreads the slots of a row over the width, those first that lean to the left. */
const spread = (row: readonly Slot[], leaning: (slot: Slot) => number): [string, number][] => {
  const total = row.reduce((sum, { weight }) => sum + weight, 0);
  let taken = 0;
  return [...row]
    .sort((left, right) => leaning(left) - leaning(right))
    .map(({ name, weight }) => {
      taken += weight;
      return [name, (WIDTH * (taken - weight / 2)) / total];
    });
};

/** Where the middle of each slot is: rows from the bottom, then again with what is above known as well. */
const place = (): Map<string, Box> => {
  const all = slots();
  const x = new Map<string, number>();
  const deepest = Math.max(...all.map(({ depth }) => depth));
  const leaning = ({ name, down, side }: Slot): number => {
    const above = all.filter((other) => other.down.includes(name)).map((other) => other.name);
    const known = [...down, ...above].flatMap((other) => x.get(other) ?? []);
    return side * WIDTH + (known.length === 0 ? WIDTH / 2 : mean(known));
  };
  for (const _ of Array.from({ length: 4 }))
    for (let depth = deepest; depth >= 0; depth -= 1) {
      const row = all.filter((slot) => slot.depth === depth);
      for (const [name, middle] of spread(row, leaning)) x.set(name, middle);
    }
  return new Map(
    all.map(({ name, depth }) => [name, { name, x: x.get(name) ?? 0, y: TOP + depth * ROW + BOX.height / 2 }]),
  );
};

const draw = ({ name, x, y }: Box): string => {
  const isCommand = name === 'cmd';
  return drawBox({
    x,
    y,
    width: isCommand ? WIDTH - 60 : BOX.width,
    height: BOX.height,
    kind: LAYERS[name]?.pure === true ? 'first' : 'second',
    name: isCommand ? 'cmd' : `pkg/${name}`,
    caption: isCommand ? commands() : captionOf(name),
  });
};

/** From the lower edge of a box to the upper edge of another, upright at both ends and wherever it passes a row. */
const lead = (boxes: ReadonlyMap<string, Box>, from: Box, target: string): string => {
  const half = BOX.height / 2;
  const path: string[] = [];
  let [left, top] = [from.x, from.y + half];
  for (let depth = depthOf(from.name) + 1; depth <= depthOf(target); depth += 1) {
    const next = boxes.get(passing(from.name, target, depth));
    if (next === undefined) throw new Error(`no place for the arrow from ${from.name} to ${target}`);
    const last = next.name === target;
    // Arrows leave the wide box above what they lead to.
    if (from.name === 'cmd' && path.length === 0) left = next.x;
    const bottom = next.y - half - (last ? 7 : 0);
    if (path.length === 0) path.push(`M${at(left)},${at(top)}`);
    const middle = (bottom - top) / 2;
    path.push(`C${at(left)},${at(top + middle)} ${at(next.x)},${at(bottom - middle)} ${at(next.x)},${at(bottom)}`);
    if (!last) path.push(`V${at(next.y + half)}`);
    [left, top] = [next.x, next.y + half];
  }
  return drawArrow(path.join(' '));
};

export const architectureFigure: Generator = {
  path: 'docs/development/architecture.svg',
  render() {
    const places = place();
    const boxes = [...places.values()].filter(({ name }) => name in LAYERS);
    const arrows = boxes.flatMap((from) => neededArrows(from.name).map((name) => lead(places, from, name)));
    const height = Math.max(...boxes.map(({ y }) => y)) + BOX.height / 2 + 12;
    const title =
      'The layers of the project: commands on top, names and types at the bottom; arrows say who imports whom';
    return drawPicture(title, WIDTH, height, [
      drawKey('first', 30, 'decides: no I/O, no clock, no randomness'),
      drawKey('second', 330, 'gathers and applies'),
      '<text class="key" x="530" y="25">→ may import (shortcuts left out)</text>',
      ...arrows,
      ...boxes.map(draw),
    ]);
  },
};
