// Flags of the commands that evacuate zones, and how their values are read.
import { type Command, InvalidArgumentError } from 'commander';
import type { LabelSelector, LabelSelectorRequirement } from '../../../pkg/apis/admission.ts';
import type { InputFlags } from '../flags.ts';

/** How the cluster is reached; there is nothing to evacuate in a file. */
export const addClusterFlags = (command: Command): Command =>
  command
    .option('--kubeconfig <file>', 'how to reach the cluster; default: $KUBECONFIG, then ~/.kube/config')
    .option('--context <name>', 'context of the kubeconfig');

export type ClusterFlags = Pick<InputFlags, 'kubeconfig' | 'context'>;

const DURATION = /^(?:\d+(?:\.\d+)?[hms])+$/;
const DAYS = /^(\d{1,2})d$/;
const HOURS_PER_DAY = 24;

/** As Go prints durations; whole days as well, which Go does not know. The API server bounds it. */
export const durationFlag = (text: string): string => {
  const days = DAYS.exec(text)?.[1];
  if (days !== undefined) return `${Number(days) * HOURS_PER_DAY}h`;
  if (!DURATION.test(text)) throw new InvalidArgumentError('expected a duration such as 30m, 2h or 1d, at most 7d.');
  return text;
};

/** Whole numbers, with or without the sign. */
export const sharePercent = (text: string): number => {
  const value = Number(/^(\d{1,3})%?$/.exec(text)?.[1] ?? Number.NaN);
  if (!(value >= 1 && value <= 100)) throw new InvalidArgumentError('expected a whole percentage from 1 to 100.');
  return value;
};

const KEY = '[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?';
const VALUE = '(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?';
const SET = new RegExp(`^(${KEY})\\s+(in|notin)\\s+\\(\\s*(${VALUE}(?:\\s*,\\s*${VALUE})*)\\s*\\)$`);
const EQUAL = new RegExp(`^(${KEY})\\s*(==|=|!=)\\s*(${VALUE})$`);
const EXISTS = new RegExp(`^(!?)\\s*(${KEY})$`);

const requirement = (text: string): LabelSelectorRequirement => {
  const [, setKey, word, values = ''] = SET.exec(text) ?? [];
  if (setKey !== undefined) {
    return {
      key: setKey,
      operator: word === 'in' ? 'In' : 'NotIn',
      values: values.split(',').map((one) => one.trim()),
    };
  }
  const [, key, sign, value = ''] = EQUAL.exec(text) ?? [];
  if (key !== undefined) return { key, operator: sign === '!=' ? 'NotIn' : 'In', values: [value] };
  const [, not, name] = EXISTS.exec(text) ?? [];
  if (name === undefined) {
    throw new InvalidArgumentError(`expected labels such as app=web,tier!=db,env in (a, b), found "${text}".`);
  }
  return { key: name, operator: not === '!' ? 'DoesNotExist' : 'Exists' };
};

/** A selector as kubectl takes it, `app=web,tier in (a, b),!legacy`, as objects have it. */
export const selectorFlag = (text: string): LabelSelector => {
  const parts = text.split(/,(?![^(]*\))/).map((part) => part.trim());
  return { matchExpressions: parts.map(requirement) };
};
