// SPDX-License-Identifier: Apache-2.0
// Whether a cluster really has more than one zone: Gardener counts list entries, this counts distinct, non-empty names.

/** At least two distinct zones, or why not. `zones` are the distinct ones, in the order given. */
export type ZoneAssessment =
  | { readonly kind: 'multi'; readonly zones: readonly string[] }
  | {
      readonly kind: 'single';
      /** DuplicateZones: the list is long enough for Gardener's own check, but names one zone again and again. */
      readonly reason: 'SingleZone' | 'DuplicateZones';
      readonly zones: readonly string[];
    };

const named = (zones: readonly string[] | null | undefined): readonly string[] =>
  (Array.isArray(zones) ? zones : []).filter((zone) => typeof zone === 'string' && zone !== '');

/** The distinct, non-empty names, in the order given. */
export const distinctZones = (zones: readonly string[] | null | undefined): readonly string[] => [
  ...new Set(named(zones)),
];

export const assessZones = (zones: readonly string[] | null | undefined): ZoneAssessment => {
  const distinct = distinctZones(zones);
  if (distinct.length > 1) return { kind: 'multi', zones: distinct };
  return { kind: 'single', reason: named(zones).length > 1 ? 'DuplicateZones' : 'SingleZone', zones: distinct };
};
