// What an API server stores of a document: fields of another type than its schema's never get there, all values do.
import type { AnySchemaObject } from 'ajv';
import { FLOW_POLICY_STATUS_SCHEMA } from '../../pkg/apis/flow-policy.ts';
import { isFields } from '../../pkg/apis/values.ts';
import { LABEL_VALUE } from '../sandbox/metadata.ts';

/** `text`, `number` or `flag`; a list of one schema; `map` of texts; `labels`, whose values are checked; `any`; an object of fields. */
export type Shape =
  'text' | 'number' | 'flag' | 'map' | 'labels' | 'any' | readonly [Shape] | { readonly [field: string]: Shape };

const texts = (value: unknown, pattern = /^/): object | undefined =>
  isFields(value)
    ? Object.fromEntries(Object.entries(value).filter(([, text]) => typeof text === 'string' && pattern.test(text)))
    : undefined;

const isList = (shape: Shape): shape is readonly [Shape] => Array.isArray(shape);

/** The value as it would be stored; undefined where it would be refused. */
export const stored = (shape: Shape, value: unknown): unknown => {
  if (shape === 'any') return value;
  if (shape === 'text') return typeof value === 'string' ? value : undefined;
  if (shape === 'number') return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
  if (shape === 'flag') return typeof value === 'boolean' ? value : undefined;
  if (shape === 'map') return texts(value);
  if (shape === 'labels') return texts(value, LABEL_VALUE) ?? {};
  if (isList(shape)) {
    if (!Array.isArray(value)) return undefined;
    return value.map((item: unknown) => stored(shape[0], item)).filter((item) => item !== undefined);
  }
  if (!isFields(value)) return undefined;
  const fields = Object.entries(shape).map(([key, inner]) => {
    const own = Object.hasOwn(value, key) ? value[key] : undefined;
    return [key, stored(inner, own)] as const;
  });
  return Object.fromEntries(fields.filter(([, inner]) => inner !== undefined));
};

/** An object without a name is none. */
export const isNamed = (object: unknown): boolean => {
  const metadata = isFields(object) ? object['metadata'] : undefined;
  return isFields(metadata) && typeof metadata['name'] === 'string' && metadata['name'] !== '';
};

const METADATA: Shape = {
  name: 'text',
  namespace: 'text',
  uid: 'text',
  resourceVersion: 'text',
  generation: 'number',
  deletionTimestamp: 'text',
  labels: 'labels',
  annotations: 'map',
};
const HINT: Shape = [{ name: 'text' }];
const CONDITIONS: Shape = [{ type: 'text', status: 'text' }];
const RESOURCES: Shape = { requests: 'map', limits: 'map' };
const CONTAINERS: Shape = [{ name: 'text', restartPolicy: 'text', resources: RESOURCES }];

export const SERVICE: Shape = {
  metadata: METADATA,
  spec: { type: 'text', clusterIP: 'text', ipFamilies: ['text'], trafficDistribution: 'text', selector: 'map' },
};

export const SLICE: Shape = {
  metadata: METADATA,
  addressType: 'text',
  endpoints: [
    {
      addresses: ['text'],
      conditions: { ready: 'flag', serving: 'flag', terminating: 'flag' },
      nodeName: 'text',
      zone: 'text',
      targetRef: { kind: 'text', name: 'text', namespace: 'text', uid: 'text' },
      hints: { forZones: HINT, forNodes: HINT },
    },
  ],
};

export const NODE: Shape = {
  metadata: METADATA,
  status: { conditions: CONDITIONS, allocatable: 'map', nodeInfo: { kubeletVersion: 'text' } },
};

export const POD: Shape = {
  metadata: METADATA,
  spec: { containers: CONTAINERS, initContainers: CONTAINERS, resources: RESOURCES },
};

export const NAMESPACE: Shape = { metadata: METADATA };

export const ETCD: Shape = {
  metadata: METADATA,
  spec: { etcd: { clientService: { labels: 'map', annotations: 'map', trafficDistribution: 'text' } } },
};

/** Gardener's resources: what stands in a Cluster is checked by nobody, and definitions change with every release. */
export const UNCHECKED: Shape = { metadata: METADATA, spec: 'any', status: 'any' };

export const EXTENSION: Shape = {
  metadata: { ...(METADATA as object), finalizers: ['text'] },
  spec: { type: 'text', class: 'text', providerConfig: 'any' },
  status: {
    observedGeneration: 'number',
    lastOperation: { type: 'text', state: 'text', progress: 'number', description: 'text', lastUpdateTime: 'text' },
    conditions: [{ type: 'text', status: 'text', reason: 'text', message: 'text' }],
  },
};

const shapeOf = ({ type, properties = {}, items }: AnySchemaObject): Shape => {
  if (type === 'array') return [shapeOf(items as AnySchemaObject)];
  if (type === 'object') {
    const fields = Object.entries(properties as Record<string, AnySchemaObject>);
    return Object.fromEntries(fields.map(([name, field]) => [name, shapeOf(field)]));
  }
  if (type === 'boolean') return 'flag';
  return type === 'string' ? 'text' : 'number';
};

/** The spec may be older than the definition; the status has its types, and nothing in it is required. */
export const FLOW_POLICY: Shape = { metadata: METADATA, spec: 'any', status: shapeOf(FLOW_POLICY_STATUS_SCHEMA) };
