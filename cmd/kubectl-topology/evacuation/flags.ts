// Flags of the commands that evacuate zones, and how their values are read.
import { InvalidArgumentError } from 'commander';
import type { LabelSelector, LabelSelectorRequirement } from '../../../pkg/apis/admission.ts';
import { type FlagsOf, choiceFlag, flag, switchFlag } from '../command.ts';
import { CLUSTER_FLAGS, OUTPUT_FLAG, expecting, numberFlag } from '../flags.ts';
import { measuredFlags } from '../measured-flags.ts';
import { LIMIT_FLAGS } from '../without.ts';

const DURATION = /^(?:\d+(?:\.\d+)?[hms])+$/;
const DAYS = /^(\d{1,2})d$/;
const HOURS_PER_DAY = 24;

/** As Go prints durations; whole days as well, which Go does not know. The API server bounds it. */
const durationFlag = expecting('a duration such as 30m, 2h or 1d, at most 7d', (text) => {
  const days = DAYS.exec(text)?.[1];
  if (days !== undefined) return `${Number(days) * HOURS_PER_DAY}h`;
  return DURATION.test(text) ? text : undefined;
});

const sharePercent = numberFlag(
  'a whole percentage from 1 to 100',
  (text) => Number(/^(\d{1,3})%?$/.exec(text)?.[1]),
  (value) => value >= 1 && value <= 100,
);

const KEY = '[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?';
const VALUE = '(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?';
/** `key`, `!key`, `key=value`, `key!=value`, `key in (a, b)` and `key notin (a, b)`. */
const REQUIREMENT = new RegExp(
  `^(?<not>!?)\\s*(?<key>${KEY})(?:\\s*(?<sign>==?|!=)\\s*(?<value>${VALUE})|\\s+(?<word>in|notin)\\s+\\(\\s*(?<list>${VALUE}(?:\\s*,\\s*${VALUE})*)\\s*\\))?$`,
);

const requirement = (text: string): LabelSelectorRequirement => {
  const { not, key, sign, value = '', word, list } = REQUIREMENT.exec(text)?.groups ?? {};
  const operator = sign ?? word;
  if (key === undefined || (not === '!' && operator !== undefined))
    throw new InvalidArgumentError(`expected labels such as app=web,tier!=db,env in (a, b), found "${text}".`);
  if (operator === undefined) return { key, operator: not === '!' ? 'DoesNotExist' : 'Exists' };
  const values = list?.split(',').map((one) => one.trim()) ?? [value];
  return { key, operator: operator === '!=' || operator === 'notin' ? 'NotIn' : 'In', values };
};

/** A selector as kubectl takes it, `app=web,tier in (a, b),!legacy`, as objects have it. */
const selectorFlag = (text: string): LabelSelector => {
  const parts = text.split(/,(?![^(]*\))/).map((part) => part.trim());
  return { matchExpressions: parts.map(requirement) };
};

export const EVACUATE_FLAGS = {
  ...CLUSTER_FLAGS,
  ...OUTPUT_FLAG,
  ...LIMIT_FLAGS,
  ...measuredFlags('check with clients as measured, and show new connections that still arrive in the zone'),
  for: flag(
    '--for <duration>',
    'ends by itself after this time, such as 30m, 2h or 1d; at most 7d; required, but for one that runs',
    durationFlag,
  ),
  percent: flag(
    '--percent <percent>',
    "share of each Service's endpoints in the zone; default: 100; of a zone that is evacuated already, the new share",
    sharePercent,
  ),
  round: choiceFlag('--round <up|down>', 'if that is not a whole number of endpoints; default: up', ['up', 'down']),
  reason: flag('--reason <text>', 'why; shown to all who list evacuations'),
  namespace: flag('-n, --namespace <namespace>', 'Services of this namespace only; default: all, also kube-system'),
  selector: flag('-l, --selector <selector>', 'only Services with these labels', selectorFlag),
  dryRun: switchFlag('--dry-run', 'check, ask the API server, and write nothing'),
  force: switchFlag('--force', 'proceed even if endpoints would be overloaded or routers could lose connections'),
  wait: switchFlag('--no-wait', 'exit as soon as the evacuation is created'),
};

export type EvacuateFlags = FlagsOf<typeof EVACUATE_FLAGS>;

export const RETURN_FLAGS = {
  ...CLUSTER_FLAGS,
  direct: switchFlag('--direct', 'write the slices from here instead of leaving that to the settings-reconciler'),
  wait: switchFlag('--no-wait', 'exit as soon as the evacuation is deleted'),
};

export const OFF_FLAGS = { ...CLUSTER_FLAGS, dryRun: switchFlag('--dry-run', 'only count what would be removed') };
