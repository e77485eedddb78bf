// The annotation on a Node that remembers which zone we gave it and which it had before, so that this one can come back.
import { defined } from '../apis/defined.ts';
import { parseJson } from '../apis/fields.ts';
import { isLabelValue } from './membership.ts';

export interface ZoneRecord {
  /** The zone that was written: the name of the group. */
  readonly zone: string;
  /** The zone label that it replaced; absent where there was none. */
  readonly previous?: string;
  /** How often another writer changed or removed the label since. */
  readonly losses: number;
  /** The last time that it was written again, seconds since 1970. */
  readonly lostAt?: number;
}

/** Undefined without an annotation, and for one that says nothing that could be acted upon. */
export const parseRecord = (text: string | undefined): ZoneRecord | undefined => {
  const value = text === undefined ? undefined : parseJson(text);
  if (typeof value !== 'object' || value === null) return undefined;
  const { zone, previous, losses, lostAt } = value as Record<string, unknown>;
  if (typeof zone !== 'string' || !isLabelValue(zone)) return undefined;
  return {
    zone,
    ...(typeof previous === 'string' && isLabelValue(previous) ? { previous } : {}),
    losses: typeof losses === 'number' && losses >= 0 ? Math.floor(losses) : 0,
    ...(typeof lostAt === 'number' ? { lostAt } : {}),
  };
};

/** Equal records are equal texts. */
export const formatRecord = ({ zone, previous, losses, lostAt }: ZoneRecord): string =>
  JSON.stringify({
    zone,
    ...defined({ previous }),
    ...(losses === 0 ? {} : { losses, lostAt }),
  });
