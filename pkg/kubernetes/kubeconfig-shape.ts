// SPDX-License-Identifier: Apache-2.0
// Says which field of a kubeconfig has a value that it must not have: client-node checks hardly any.
import type { Cluster, Context, User } from '@kubernetes/client-node';

/** Names in messages; longer ones are a mistake. */
const MAX_SHOWN = 100;

/** A name in quotes, cut where it is long; anything else by its type, because it may be a credential in the wrong place. */
export const shown = (name: unknown): string => {
  if (name === undefined || name === null) return '""';
  if (typeof name !== 'string') return `(${Array.isArray(name) ? 'a list' : `a value of type ${typeof name}`})`;
  return JSON.stringify(name.length > MAX_SHOWN ? `${name.slice(0, MAX_SHOWN)}…` : name);
};

/** What client-node calls it, and what kubeconfigs call it. */
type Fields<T> = readonly (readonly [keyof T, string])[];

const CONTEXT: Fields<Context> = [
  ['cluster', 'cluster'],
  ['user', 'user'],
  ['namespace', 'namespace'],
];

const CLUSTER: Fields<Cluster> = [
  ['name', 'name'],
  ['server', 'server'],
  ['caData', 'certificate-authority-data'],
  ['caFile', 'certificate-authority'],
  ['tlsServerName', 'tls-server-name'],
  ['proxyUrl', 'proxy-url'],
];

const USER: Fields<User> = [
  ['name', 'name'],
  ['certData', 'client-certificate-data'],
  ['certFile', 'client-certificate'],
  ['keyData', 'client-key-data'],
  ['keyFile', 'client-key'],
  ['token', 'token'],
  ['username', 'username'],
  ['password', 'password'],
  ['impersonateUser', 'as'],
];

const isAbsent = (value: unknown): boolean => value === undefined || value === null;
const isText = (value: unknown): boolean => isAbsent(value) || typeof value === 'string';

const textProblem = <T>(where: string, entry: T, fields: Fields<T>): string | undefined => {
  const wrong = fields.find(([key]) => !isText(entry[key]));
  return wrong === undefined ? undefined : `${where}.${wrong[1]} is not a string`;
};

const isVariable = (entry: unknown): boolean =>
  typeof entry === 'object' &&
  entry !== null &&
  ['name', 'value'].every((key) => typeof Reflect.get(entry, key) === 'string');

const isListOf = (value: unknown, is: (item: unknown) => boolean): boolean =>
  isAbsent(value) || (Array.isArray(value) && value.every((item) => is(item)));

/** A plug-in is a program that is run: nothing of it is guessed. */
const execProblem = (exec: unknown): string | undefined => {
  if (isAbsent(exec)) return undefined;
  if (typeof exec !== 'object' || exec === null || Array.isArray(exec)) return 'user.exec is not an object';
  const { command, args, env } = exec as Record<string, unknown>;
  if (typeof command !== 'string' || command === '') return 'user.exec.command is not the name of a program';
  if (!isListOf(args, (item) => typeof item === 'string')) return 'user.exec.args is not a list of strings';
  return isListOf(env, isVariable) ? undefined : 'user.exec.env is not a list of names and values';
};

const providerProblem = (provider: unknown): string | undefined => {
  if (isAbsent(provider)) return undefined;
  const isObject = typeof provider === 'object' && !Array.isArray(provider);
  return isObject ? undefined : 'user.auth-provider is not an object';
};

export interface Chosen {
  readonly context: Context;
  readonly cluster: Cluster;
  readonly user: User;
}

/** The first field of a wrong type in what was chosen; undefined where there is none. */
export const shapeProblem = ({ context, cluster, user }: Chosen): string | undefined =>
  textProblem('context', context, CONTEXT) ??
  textProblem('cluster', cluster, CLUSTER) ??
  textProblem('user', user, USER) ??
  execProblem(user.exec) ??
  providerProblem(user.authProvider);
