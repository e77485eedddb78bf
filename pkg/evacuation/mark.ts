// What an evacuated slice says in its annotation: enough to keep it evacuated, and to undo that, without looking elsewhere.
import { isZoneName, MAX_HINTS } from '../hints/names.ts';
import { isFields, parseJson } from '../apis/fields.ts';
import type { Fields } from '../apis/fields.ts';
import { parseBase } from './base-hints.ts';

/** Endpoints of one zone that leave: all, or those with these first addresses. */
export type Leaving = 'all' | ReadonlySet<string>;

/** Hints without the evacuation: what most endpoints have, and what the others have, by first address. */
export interface Recorded {
  readonly usual: 'own' | 'none';
  /** Texts of base hints. */
  readonly except: ReadonlyMap<string, string>;
}

export interface EvacuationMark {
  /** By zone. */
  readonly out: ReadonlyMap<string, Leaving>;
  /** Zones that every endpoint that stays serves, beside those that it serves anyway. In name order. */
  readonly cover: readonly string[];
  readonly was: Recorded;
}

const byName = <V>([left]: readonly [string, V], [right]: readonly [string, V]): number => (left < right ? -1 : 1);

/** One text for one meaning. */
export const printMark = ({ out, cover, was }: EvacuationMark): string =>
  JSON.stringify({
    out: Object.fromEntries(
      [...out].sort(byName).map(([zone, leaving]) => [zone, leaving === 'all' ? true : [...leaving].sort()]),
    ),
    cover: [...cover].sort(),
    was: was.usual,
    ...(was.except.size === 0 ? {} : { except: Object.fromEntries([...was.except].sort(byName)) }),
  });

const leavingOf = (value: unknown): Leaving | undefined => {
  if (value === true) return 'all';
  return Array.isArray(value) && value.every((address) => typeof address === 'string') ? new Set(value) : undefined;
};

const outOf = (value: unknown): ReadonlyMap<string, Leaving> | undefined => {
  if (!isFields(value)) return undefined;
  const out = new Map<string, Leaving>();
  for (const [zone, said] of Object.entries(value)) {
    const leaving = leavingOf(said);
    if (leaving === undefined || !isZoneName(zone)) return undefined;
    out.set(zone, leaving);
  }
  return out.size === 0 ? undefined : out;
};

const exceptOf = (value: unknown): ReadonlyMap<string, string> | undefined => {
  if (value === undefined) return new Map();
  if (!isFields(value)) return undefined;
  const entries = Object.entries(value);
  const isText = (text: unknown): boolean => typeof text === 'string' && parseBase(text) !== undefined;
  return entries.every(([, text]) => isText(text)) ? new Map(entries as [string, string][]) : undefined;
};

/** Undefined where there is none, or none that we could have written: the owner of a slice may write anything there. */
export const parseMark = (text: unknown): EvacuationMark | undefined => {
  const value = typeof text === 'string' ? parseJson(text) : undefined;
  if (!isFields(value)) return undefined;
  const { cover, was: usual }: Fields = value;
  const out = outOf(value['out']);
  const except = exceptOf(value['except']);
  if (out === undefined || except === undefined || (usual !== 'own' && usual !== 'none')) return undefined;
  if (!Array.isArray(cover) || cover.length > MAX_HINTS || !cover.every(isZoneName)) return undefined;
  return { out, cover: [...new Set(cover)].sort(), was: { usual, except } };
};

/** The mark with the zones that are still being left; undefined: with none of them. */
export const stillLeft = (mark: EvacuationMark, isLeft: (zone: string) => boolean): EvacuationMark | undefined => {
  const out = new Map([...mark.out].filter(([zone]) => isLeft(zone)));
  return out.size === 0 ? undefined : { ...mark, out };
};
