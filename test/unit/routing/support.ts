// Shared by the routing tests: deep freezing, RFC 7396 merge patches, and arbitrary prior states of Services and Etcds.
import fc from 'fast-check';
import type { ServiceLike } from '../../../pkg/routing/types.ts';
import { applyMergePatch } from '../../sandbox/patch-json.ts';

export const HINTS = 'service.kubernetes.io/topology-aware-hints';
export const MODE = 'service.kubernetes.io/topology-mode';
export const CONSIDER = 'endpoint-slice-hints.resources.gardener.cloud/consider';
export const STRATEGY = 'topology.extensions.gardener.cloud/strategy';
export const APPLIED = 'topology.extensions.gardener.cloud/applied';
export const KEEP = 'networking.resources.gardener.cloud/namespace-selectors';

/** A write to the result throws in strict mode, so that mutation of an input fails the test. */
export const deepFreeze = <T>(value: T): T => {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const child of Object.values(value)) deepFreeze(child);
  }
  return value;
};

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** JSON merge patch of RFC 7396, as the API server applies it. */
export const mergePatch = <T>(target: T, patch: unknown): T => applyMergePatch(target, patch) as T;

/** Without empty maps: the API server omits them, so they are no difference. */
export const withoutEmpty = <T>(value: T): T => {
  if (!isMap(value)) return value;
  const entries = Object.entries(value)
    .map(([key, child]) => [key, withoutEmpty(child)] as const)
    .filter(([, child]) => !(isMap(child) && Object.keys(child).length === 0));
  return Object.fromEntries(entries) as T;
};

const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined });
const present = <T>(map: Record<string, T | undefined>): Record<string, T> =>
  Object.fromEntries(Object.entries(map).filter((entry): entry is [string, T] => entry[1] !== undefined));

export const modeValues = [
  'auto',
  'Auto',
  'Disabled',
  'example.com/heuristic',
  'topology.extensions.gardener.cloud/proportional',
];
const fieldValues = ['PreferClose', 'PreferSameZone', 'PreferSameNode'];
const otherKeys = fc.dictionary(fc.constantFrom('app', 'role', KEEP, '__proto__x'), fc.string({ maxLength: 5 }));

/** Every routing setting that an object may carry, each with any value, beside other people's keys. */
export const arbitrarySettings = fc
  .record({
    consider: optional(fc.constantFrom('true', 'false')),
    strategy: optional(fc.constantFrom('same-zone', 'load-aware', 'nonsense')),
    hints: optional(fc.constantFrom(...modeValues)),
    mode: optional(fc.constantFrom(...modeValues)),
    trafficDistribution: optional(fc.constantFrom(...fieldValues)),
    labels: otherKeys,
    annotations: otherKeys,
  })
  .map(({ consider, strategy, hints, mode, trafficDistribution, labels, annotations }) => ({
    labels: present({ ...labels, [CONSIDER]: consider, [STRATEGY]: strategy }),
    annotations: present({ ...annotations, [HINTS]: hints, [MODE]: mode }),
    trafficDistribution,
  }));

type Settings = typeof arbitrarySettings extends fc.Arbitrary<infer T> ? T : never;

export const serviceFrom = ({ labels, annotations, trafficDistribution }: Settings): ServiceLike => ({
  metadata: { name: 'server', namespace: 'default', labels, annotations },
  spec: { ports: [{ port: 443 }], ...(trafficDistribution === undefined ? {} : { trafficDistribution }) },
});

/** A prior state that its API server would hold: from 1.27 both topology annotations must agree. */
export const storableOn = (minor: number, { annotations }: Settings): boolean => {
  const hints = annotations[HINTS];
  const mode = annotations[MODE];
  return hints === undefined || mode === undefined || (minor >= 27 && hints === mode);
};

export const allMinors = Array.from({ length: 14 }, (_, index) => 24 + index);
