// What a rule of the table means for clients: what of a Service it looks at, what they get where no hint fits, and since when none fails.
import type { HintRule } from '../../upstream/proxy/hint-rule.ts';
import type { DataPlane } from './planes.ts';
import type { Behaviour } from './types.ts';

const needsText = ({ optIn }: HintRule): string => {
  if (optIn === undefined) return 'no setting makes it follow hints';
  if (optIn === 'hints') return 'hints alone';
  const keys = optIn.annotations.map((key) => key.replace(/^.*\//, '')).join(' or ');
  const values = optIn.distributions.join(', ');
  return [`annotation ${keys}`, ...(values === '' ? [] : [`trafficDistribution ${values}`])].join(' or ');
};

/** What a client gets where no endpoint is hinted for it, and where only those are that are not ready. */
const fallbacks = ({ optIn, partial, counts = [], readyOnly }: HintRule): Pick<Behaviour, 'unmatched' | 'unready'> => {
  const unmatched = optIn !== undefined && partial === 'each' ? 'none' : 'all';
  // What terminates and still serves is used by all but these; what starts or has stopped by none.
  const isLost = counts.some((state) => state !== 'terminating' || readyOnly === true);
  return { unmatched, unready: optIn !== undefined && (isLost || partial === 'each') ? 'none' : 'all' };
};

const isSafe = (rule: HintRule): boolean => Object.values(fallbacks(rule)).every((answer) => answer === 'all');

/** The release from which all that follow hints are as wanted; null: there is none. */
export const firstRelease = (versions: DataPlane['versions'], isWanted: (rule: HintRule) => boolean): string | null => {
  const other = versions.findIndex(({ rule }) => !isWanted(rule));
  const wanted = versions.slice(0, other < 0 ? undefined : other);
  const first = wanted.findLast(({ rule, when }) => rule.optIn !== undefined && when === undefined);
  return first?.since?.join('.') ?? null;
};

export const behaviourOf = (rule: HintRule, source: string, versions: DataPlane['versions'] = []): Behaviour => ({
  hints: rule.optIn === undefined ? 'none' : rule.sameNode === undefined ? 'zone' : 'zone-and-node',
  needs: needsText(rule),
  ...fallbacks(rule),
  safeSince: isSafe(rule) ? null : firstRelease(versions, isSafe),
  source,
});

export const UNKNOWN: Omit<Behaviour, 'source'> = {
  hints: 'unknown',
  needs: 'unknown',
  unmatched: 'unknown',
  unready: 'unknown',
  safeSince: null,
};
