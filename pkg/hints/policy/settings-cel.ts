// SPDX-License-Identifier: Apache-2.0
// Writes the CEL that keeps routing settings: what is recorded, what was dropped, and the operations that put it back.
import { ANNOTATION_APPLIED } from '../../apis/names.ts';
import type { KeptSlot } from '../../routing/keep.ts';
import type { Slot } from '../../routing/slots.ts';
import { pathOf } from '../../routing/slots.ts';
import { celText } from './cel.ts';
import type { NamedExpression } from './types.ts';

type Path = readonly string[];

const APPLIED_PATH: Path = ['metadata', 'annotations', ANNOTATION_APPLIED];

/** `service.kubernetes.io/topology-mode` as `TopologyMode`. */
const wordOf = (slot: Slot): string =>
  (slot.section === 'trafficDistribution' ? slot.section : (slot.key.split('/').at(-1) ?? ''))
    .split('-')
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join('');

const holderOf = (slot: Slot): Path => pathOf(slot).slice(0, -1);

const variableOf = (prefix: 'next' | 'old', path: Path): string =>
  `${prefix}${path.map((part) => part.charAt(0).toUpperCase() + part.slice(1)).join('')}`;

/** The map at a path; absent and null, anywhere on the way, read as an empty one. */
const mapAt = (root: 'object' | 'oldObject', path: Path): string => {
  const missing = path.map((part, index) => {
    const parent = [root, ...path.slice(0, index)].join('.');
    return `${parent}.?${part}.orValue(null) == null`;
  });
  return `${missing.join(' || ')} ? {} : ${[root, ...path].join('.')}`;
};

const unique = (paths: readonly Path[]): Path[] => [
  ...new Map(paths.map((path) => [path.join('.'), path] as const)).values(),
];

/** Every map that may have to be there before a value can be put into it, outermost first. */
const parentsOf = (slots: readonly KeptSlot[]): Path[] =>
  unique(
    [...slots.map(({ slot }) => pathOf(slot)), APPLIED_PATH].flatMap((path) =>
      path.slice(1).map((_, index) => path.slice(0, index + 1)),
    ),
    // Every object has metadata.
  ).filter((path) => path.join('.') !== 'metadata');

/** The new object's maps, all of them, and the stored object's, those that hold values. */
export const mapVariables = (slots: readonly KeptSlot[]): NamedExpression[] => [
  ...parentsOf(slots).map((path) => ({
    name: variableOf('next', path),
    expression: mapAt('object', path),
  })),
  ...unique(slots.map(({ slot }) => holderOf(slot))).map((path) => ({
    name: variableOf('old', path),
    expression: mapAt('oldObject', path),
  })),
];

/** Text between two marks; empty where the first is not there. */
const between = (value: string, from: string, to: string): string =>
  `${value}.contains(${celText(from)}) ? ${value}.split(${celText(from)})[1].split(${celText(to)})[0] : ""`;

/** The parts of the canonical text in which keys repeat: no value holds a quote or a brace. */
export const RECORDED_MAPS: readonly NamedExpression[] = (['labels', 'annotations'] as const).map((section) => ({
  name: `recorded${section.charAt(0).toUpperCase()}${section.slice(1)}`,
  expression: between('variables.applied', `"${section}":{`, '}'),
}));

const recordedOf = (slot: Slot): string => {
  if (slot.section === 'trafficDistribution') return between('variables.applied', '"trafficDistribution":"', '"');
  const section = slot.section === 'labels' ? 'variables.recordedLabels' : 'variables.recordedAnnotations';
  return between(section, `"${slot.key}":"`, '"');
};

const recordedIn = (slot: Slot): string => `variables.recorded${wordOf(slot)}`;
const droppedIn = (slot: Slot): string => `variables.dropped${wordOf(slot)}`;

/** The value of a slot among the maps of the new or the stored object; `otherwise` where it has none. */
const valueIn = (prefix: 'next' | 'old', slot: Slot, otherwise: string): string =>
  `variables.${variableOf(prefix, holderOf(slot))}[?${celText(pathOf(slot).at(-1) ?? '')}].orValue(${otherwise})`;

const droppedExpression = ({ slot, yieldsToHeuristic }: KeptSlot): string => {
  const ours = recordedIn(slot);
  const current = valueIn('next', slot, '""');
  return [
    `${ours} != ""`,
    `${valueIn('old', slot, '""')} == ${ours}`,
    `${current} != ${ours}`,
    ...(yieldsToHeuristic ? [`!${current}.contains("/")`] : []),
  ].join(' &&\n');
};

/** Whether the value is to be restored; the slot that it must agree with counts as it will be. */
const isPutBack = ({ slot, agreesWith }: KeptSlot): string => {
  if (agreesWith === undefined) return droppedIn(slot);
  const other = valueIn('next', agreesWith, recordedIn(slot));
  return `${droppedIn(slot)} && (${droppedIn(agreesWith)} ? ${recordedIn(agreesWith)} : ${other}) == ${recordedIn(slot)}`;
};

/** What is recorded for each slot, and whether it was dropped. */
export const slotVariables = (slots: readonly KeptSlot[]): NamedExpression[] =>
  slots.flatMap((kept) => [
    { name: `recorded${wordOf(kept.slot)}`, expression: recordedOf(kept.slot) },
    { name: `dropped${wordOf(kept.slot)}`, expression: droppedExpression(kept) },
  ]);

/** RFC 6901. */
const pointerOf = (path: Path): string =>
  path.map((part) => `/${part.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

const addWhere = (condition: string, path: Path, value: string): string =>
  `(${condition} ? [JSONPatch{op: "add", path: ${celText(pointerOf(path))}, value: ${value}}] : [])`;

const isWithin = (parent: Path, path: Path): boolean => parent.every((part, index) => path[index] === part);

/** The patch: maps that are missing, then values; no operation where nothing was dropped. */
export const putBack = (slots: readonly KeptSlot[]): string => {
  const values = [
    ...slots.map((kept) => ({
      needed: droppedIn(kept.slot),
      condition: isPutBack(kept),
      path: pathOf(kept.slot),
      value: recordedIn(kept.slot),
    })),
    { needed: 'variables.lost', condition: 'variables.lost', path: APPLIED_PATH, value: 'variables.applied' },
  ];
  const parents = parentsOf(slots).map((parent) => {
    const needed = values.filter(({ path }) => isWithin(parent, path)).map((value) => value.needed);
    return addWhere(`variables.${variableOf('next', parent)}.size() == 0 && (${needed.join(' || ')})`, parent, '{}');
  });
  return [...parents, ...values.map(({ condition, path, value }) => addWhere(condition, path, value))].join(' +\n');
};
