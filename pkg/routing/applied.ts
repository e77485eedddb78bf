// The `applied` annotation: what was set on an object, written down on the object itself so that exactly that can be reverted.
import { defined } from '../apis/defined.ts';
import { isFields, parseJson } from '../apis/fields.ts';
import type { StringMap } from '../apis/meta.ts';
import { isRoutingKey } from './slots.ts';
import type { AppliedRecord } from './types.ts';

/** A malformed annotation claims nothing; the caller reports it. */
export interface ParsedApplied {
  readonly record: AppliedRecord;
  readonly malformed: boolean;
}

// Keys that this project never sets are passed over: the author of a hand-written annotation must not be able to have
// the reconciler remove, say, a label that a selector needs.
const readMap = (value: unknown, section: 'labels' | 'annotations'): StringMap | undefined => {
  if (value === undefined) return {};
  if (!isFields(value)) return undefined;
  const entries = Object.entries(value);
  if (!entries.every((entry): entry is [string, string] => typeof entry[1] === 'string')) return undefined;
  return Object.fromEntries(entries.filter(([key]) => isRoutingKey(section, key)));
};

const readRecord = (value: unknown): AppliedRecord | undefined => {
  if (!isFields(value)) return undefined;
  const labels = readMap(value['labels'], 'labels');
  const annotations = readMap(value['annotations'], 'annotations');
  const removedAnnotations = readMap(value['removedAnnotations'], 'annotations');
  const { trafficDistribution } = value;
  if (labels === undefined || annotations === undefined || removedAnnotations === undefined) return undefined;
  if (trafficDistribution !== undefined && typeof trafficDistribution !== 'string') return undefined;
  return {
    labels,
    annotations,
    removedAnnotations,
    ...defined({ trafficDistribution }),
  };
};

/** Reads the annotation's value; absent means: nothing was applied. */
export const parseApplied = (text: string | undefined): ParsedApplied => {
  if (text === undefined) return { record: {}, malformed: false };
  const record = readRecord(parseJson(text));
  return record === undefined ? { record: {}, malformed: true } : { record, malformed: false };
};

const sorted = (map: Readonly<StringMap> | undefined): StringMap | undefined => {
  const entries = Object.entries(map ?? {});
  if (entries.length === 0) return undefined;
  return Object.fromEntries(entries.sort(([left], [right]) => (left < right ? -1 : 1)));
};

/** The annotation's value with keys in a fixed order, so that equal records are equal text; undefined for an empty one. */
export const formatApplied = (record: AppliedRecord): string | undefined => {
  const text = JSON.stringify({
    labels: sorted(record.labels),
    annotations: sorted(record.annotations),
    trafficDistribution: record.trafficDistribution,
    removedAnnotations: sorted(record.removedAnnotations),
  });
  return text === '{}' ? undefined : text;
};

/**
 * The record of a text that is exactly as `formatApplied` writes it; undefined for any other. That one was written by hand, and
 * admission concludes nothing from it.
 */
export const canonicalRecord = (text: string | undefined): AppliedRecord | undefined => {
  const { record } = parseApplied(text);
  return text !== undefined && formatApplied(record) === text ? record : undefined;
};
