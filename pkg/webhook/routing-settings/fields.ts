// Checks the few fields of a Service that carry routing settings, in an object that may hold anything.
import { isAbsent, isFields } from '../../apis/fields.ts';
import type { ServiceLike } from '../../routing/index.ts';

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

/** A Service whose routing settings, labels and annotations have the types of the API. */
export type Checked = ServiceLike & { metadata?: { name?: string } };

/** The Service, or a message that names the first field of a wrong type. */
export const readObject = (object: unknown): Checked | string => {
  if (!isFields(object)) return 'object is not a JSON object';
  return problemOfMaps(object['metadata'], 'metadata') ?? problemOfDistribution(object['spec'], 'spec') ?? object;
};
