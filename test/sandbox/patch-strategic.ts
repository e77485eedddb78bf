// Strategic merge patch for the built-in kinds, as far as kubectl needs it: lists merged by key, $patch, $setElementOrder ignored.
import { isDeepStrictEqual } from 'node:util';
import { asArray, clone, isRecord, type JsonRecord } from './object.ts';

/** Merge key of each list field that upstream merges; by field name, which is unambiguous for the kinds served here. */
const MERGE_KEYS: Readonly<Record<string, readonly string[]>> = {
  ownerReferences: ['uid'],
  conditions: ['type'],
  containers: ['name'],
  initContainers: ['name'],
  volumes: ['name'],
  volumeMounts: ['mountPath'],
  env: ['name'],
  imagePullSecrets: ['name'],
  secrets: ['name'],
  podIPs: ['ip'],
  webhooks: ['name'],
  matchConditions: ['name'],
  addresses: ['type'],
  taints: ['key'],
};
/** `ports` has another key in a container than in a Service. */
const PORT_KEYS = { service: ['port'], container: ['containerPort'] } as const;
/** Lists of plain values that merge as sets. */
const SETS = new Set(['finalizers']);
const DIRECTIVES = /^\$(patch|setElementOrder\/|retainKeys|deleteFromPrimitiveList\/)/;

const mergeKeyOf = (field: string, patch: readonly unknown[]): string | undefined => {
  if (field !== 'ports') return MERGE_KEYS[field]?.[0];
  return patch.some((item) => isRecord(item) && 'containerPort' in item)
    ? PORT_KEYS.container[0]
    : PORT_KEYS.service[0];
};

const mergeKeyedList = (current: readonly unknown[], patch: readonly unknown[], key: string): unknown[] => {
  if (patch.some((item) => isRecord(item) && item['$patch'] === 'replace'))
    return patch.filter((item) => !(isRecord(item) && '$patch' in item)).map((item) => clone(item));
  const result = [...current];
  for (const item of patch) {
    if (!isRecord(item)) continue;
    const index = result.findIndex((other) => isRecord(other) && isDeepStrictEqual(other[key], item[key]));
    if (item['$patch'] === 'delete') {
      if (index >= 0) result.splice(index, 1);
    } else if (index >= 0) result[index] = applyStrategicMergePatch(result[index], item);
    else result.push(applyStrategicMergePatch({}, item));
  }
  return result;
};

const mergeList = (field: string, current: unknown, patch: readonly unknown[]): unknown[] => {
  if (SETS.has(field)) return [...new Set([...asArray(current), ...patch])];
  const key = mergeKeyOf(field, patch);
  return key === undefined ? clone([...patch]) : mergeKeyedList(asArray(current), patch, key);
};

const removeFromSets = (result: JsonRecord, patch: JsonRecord): void => {
  const prefix = '$deleteFromPrimitiveList/';
  for (const [directive, values] of Object.entries(patch)) {
    if (!directive.startsWith(prefix)) continue;
    const field = directive.slice(prefix.length);
    const gone = asArray(values);
    if (Array.isArray(result[field])) result[field] = result[field].filter((value) => !gone.includes(value));
  }
};

/** Applies a strategic merge patch to a copy of the target. */
export const applyStrategicMergePatch = (target: unknown, patch: unknown): unknown => {
  if (!isRecord(patch)) return clone(patch);
  if (patch['$patch'] === 'delete') return {};
  const result: JsonRecord = isRecord(target) && patch['$patch'] !== 'replace' ? { ...target } : {};
  removeFromSets(result, patch);
  for (const [key, value] of Object.entries(patch)) {
    if (DIRECTIVES.test(key)) continue;
    if (value === null) delete result[key];
    else if (Array.isArray(value)) result[key] = mergeList(key, result[key], value);
    else result[key] = applyStrategicMergePatch(result[key], value);
  }
  const retained = patch['$retainKeys'];
  if (!Array.isArray(retained)) return result;
  return Object.fromEntries(Object.entries(result).filter(([key]) => retained.includes(key)));
};
