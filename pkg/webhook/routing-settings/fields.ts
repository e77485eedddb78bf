// SPDX-License-Identifier: Apache-2.0
// Checks the few fields of a Service or Etcd that carry routing settings, in an object that may hold anything.
import type { EtcdLike, ServiceLike, SettingsTarget } from '../../routing/index.ts';

type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isAbsent = (value: unknown): value is undefined | null => value === undefined || value === null;

const isStringMap = (value: unknown): boolean =>
  isAbsent(value) || (isFields(value) && Object.values(value).every((entry) => typeof entry === 'string'));

/** Names the first field of a wrong type in something with labels and annotations. */
const problemOfMaps = (holder: unknown, path: string): string | undefined => {
  if (isAbsent(holder)) return undefined;
  if (!isFields(holder)) return `${path} is not an object`;
  if (!isStringMap(holder['labels'])) return `${path}.labels is not a map of strings`;
  return isStringMap(holder['annotations']) ? undefined : `${path}.annotations is not a map of strings`;
};

const problemOfDistribution = (holder: unknown, path: string): string | undefined => {
  if (isAbsent(holder)) return undefined;
  if (!isFields(holder)) return `${path} is not an object`;
  const { trafficDistribution } = holder;
  if (isAbsent(trafficDistribution) || typeof trafficDistribution === 'string') return undefined;
  return `${path}.trafficDistribution is not a string`;
};

const CLIENT_SERVICE = 'spec.etcd.clientService';

const problemOfEtcd = (object: Fields): string | undefined => {
  const { spec } = object;
  if (isAbsent(spec)) return undefined;
  if (!isFields(spec)) return 'spec is not an object';
  const { etcd } = spec;
  if (isAbsent(etcd)) return undefined;
  if (!isFields(etcd)) return 'spec.etcd is not an object';
  const { clientService } = etcd;
  return problemOfMaps(clientService, CLIENT_SERVICE) ?? problemOfDistribution(clientService, CLIENT_SERVICE);
};

/** An object whose routing settings, labels and annotations have the types of the API. */
export type Checked = ServiceLike & EtcdLike & { metadata?: { name?: string } };

/** The object, or a message that names the first field of a wrong type. */
export const readObject = (target: SettingsTarget, object: unknown): Checked | string => {
  if (!isFields(object)) return 'object is not a JSON object';
  const own = target === 'Etcd' ? problemOfEtcd(object) : problemOfDistribution(object['spec'], 'spec');
  return problemOfMaps(object['metadata'], 'metadata') ?? own ?? object;
};
