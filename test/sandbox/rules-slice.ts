// What the API server does to an EndpointSlice: null lists, unknown fields dropped, limits checked.
import { isDeepStrictEqual } from 'node:util';
import type { FieldError } from './errors.ts';
import { LABEL_VALUE } from './metadata.ts';
import { asArray, asRecord, asString, isRecord, type JsonRecord, type StoredObject } from './object.ts';
import type { KindRules, RuleContext } from './served-resource.ts';

const MAX_ENDPOINTS = 1000;
const MAX_ADDRESSES = 100;
const MAX_HINTS = 8;
/** First minor that keeps hints.forNodes by default. */
const FOR_NODES_SINCE = 34;

const TOP_FIELDS = new Set(['apiVersion', 'kind', 'metadata', 'addressType', 'endpoints', 'ports']);
const ENDPOINT_FIELDS = new Set([
  'addresses',
  'conditions',
  'hostname',
  'targetRef',
  'deprecatedTopology',
  'nodeName',
  'zone',
  'hints',
]);
const CONDITION_FIELDS = new Set(['ready', 'serving', 'terminating']);
const PORT_FIELDS = new Set(['name', 'protocol', 'port', 'appProtocol']);

const keepOnly = (record: JsonRecord, fields: ReadonlySet<string>): void => {
  for (const key of Object.keys(record)) if (!fields.has(key) || record[key] === null) delete record[key];
};

const normalizeHints = (endpoint: JsonRecord, minor: number): void => {
  const hints = endpoint['hints'];
  if (!isRecord(hints)) {
    delete endpoint['hints'];
    return;
  }
  keepOnly(hints, new Set(minor < FOR_NODES_SINCE ? ['forZones'] : ['forZones', 'forNodes']));
  for (const list of Object.values(hints)) {
    for (const item of asArray(list)) if (isRecord(item)) keepOnly(item, new Set(['name']));
  }
};

const normalize = (object: StoredObject, { minor }: RuleContext): void => {
  for (const key of Object.keys(object)) if (!TOP_FIELDS.has(key)) delete object[key];
  object['endpoints'] ??= null;
  object['ports'] ??= null;
  for (const endpoint of asArray(object['endpoints'])) {
    if (!isRecord(endpoint)) continue;
    keepOnly(endpoint, ENDPOINT_FIELDS);
    endpoint['addresses'] ??= null;
    if (!isRecord(endpoint['conditions'])) endpoint['conditions'] = {};
    keepOnly(asRecord(endpoint['conditions']), CONDITION_FIELDS);
    normalizeHints(endpoint, minor);
  }
  for (const port of asArray(object['ports'])) {
    if (!isRecord(port)) continue;
    keepOnly(port, PORT_FIELDS);
    port['name'] ??= '';
    port['protocol'] ??= 'TCP';
  }
};

const tooMany = (field: string, count: number, limit: number): FieldError => ({
  field,
  reason: 'FieldValueTooMany',
  message: `Too many: ${count}: must have at most ${limit} items`,
});

const validateNames = (field: string, list: unknown): FieldError[] => {
  const items = asArray(list);
  if (items.length > MAX_HINTS) return [tooMany(field, items.length, MAX_HINTS)];
  const seen = new Set<string>();
  return items.flatMap((item, index): FieldError[] => {
    const name = asString(asRecord(item)['name']);
    const at = `${field}[${index}].name`;
    if (seen.has(name))
      return [{ field: at, reason: 'FieldValueDuplicate', message: `Duplicate value: ${JSON.stringify(name)}` }];
    seen.add(name);
    if (LABEL_VALUE.test(name)) return [];
    return [
      {
        field: at,
        reason: 'FieldValueInvalid',
        message: `Invalid value: ${JSON.stringify(name)}: must be a valid label value`,
      },
    ];
  });
};

const validateEndpoint = (endpoint: JsonRecord, at: string): FieldError[] => {
  const addresses = asArray(endpoint['addresses']);
  const hints = asRecord(endpoint['hints']);
  return [
    ...(addresses.length === 0
      ? [
          {
            field: `${at}.addresses`,
            reason: 'FieldValueRequired',
            message: 'Required value: must contain at least 1 address',
          } as const,
        ]
      : []),
    ...(addresses.length > MAX_ADDRESSES ? [tooMany(`${at}.addresses`, addresses.length, MAX_ADDRESSES)] : []),
    ...validateNames(`${at}.hints.forZones`, hints['forZones']),
    ...validateNames(`${at}.hints.forNodes`, hints['forNodes']),
  ];
};

const ADDRESS_TYPES = ['FQDN', 'IPv4', 'IPv6'];

const validateAddressType = (object: StoredObject, old: StoredObject | undefined): FieldError[] => {
  const value = object['addressType'];
  const field = 'addressType';
  if (value === undefined || value === '') return [{ field, reason: 'FieldValueRequired', message: 'Required value' }];
  if (!ADDRESS_TYPES.includes(asString(value))) {
    const supported = ADDRESS_TYPES.map((item) => JSON.stringify(item)).join(', ');
    return [
      {
        field,
        reason: 'FieldValueNotSupported',
        message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${supported}`,
      },
    ];
  }
  if (old !== undefined && old['addressType'] !== value)
    return [
      { field, reason: 'FieldValueInvalid', message: `Invalid value: ${JSON.stringify(value)}: field is immutable` },
    ];
  return [];
};

const validate = (object: StoredObject, old: StoredObject | undefined): FieldError[] => {
  const endpoints = asArray(object['endpoints']);
  const type = validateAddressType(object, old);
  if (endpoints.length > MAX_ENDPOINTS) return [...type, tooMany('endpoints', endpoints.length, MAX_ENDPOINTS)];
  return [
    ...type,
    ...endpoints.flatMap((endpoint, index) => validateEndpoint(asRecord(endpoint), `endpoints[${index}]`)),
  ];
};

export const SLICE_RULES: KindRules = { normalize, validate };

/** Equality as the generation rule sees it: `null` and an empty list are the same. */
export const sameContent = (left: StoredObject, right: StoredObject): boolean => {
  const content = ({ metadata: _, ...rest }: StoredObject): JsonRecord =>
    Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, value ?? []]));
  return isDeepStrictEqual(content(left), content(right));
};
