// Compares the hints that an endpoint carries with those it should carry.
import type { EndpointHints } from '../apis/core.ts';
import type { Fields } from '../apis/fields.ts';
import { isFields } from '../apis/fields.ts';

type Names = readonly { readonly name: string }[];

const sameNames = (current: unknown, wanted: Names): boolean => {
  if (current === undefined || current === null) return wanted.length === 0;
  if (!Array.isArray(current) || current.length !== wanted.length) return false;
  for (let index = 0; index < wanted.length; index += 1) {
    const entry: unknown = current[index];
    if (!isFields(entry) || entry['name'] !== wanted[index]?.name) return false;
    for (const key in entry) if (key !== 'name') return false;
  }
  return true;
};

const nothing: Names = [];

/** True where writing `wanted` would change nothing. Any field beside the two known ones counts as a difference. */
export const sameHints = (current: Fields, wanted: EndpointHints): boolean => {
  for (const key in current) if (key !== 'forZones' && key !== 'forNodes') return false;
  return (
    sameNames(current['forZones'], wanted.forZones ?? nothing) &&
    sameNames(current['forNodes'], wanted.forNodes ?? nothing)
  );
};
