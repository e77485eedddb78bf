// What the API server does to a Service: defaults, virtual IPs, node ports and the validations that routing depends on.
import { isDeepStrictEqual } from 'node:util';
import { ANNOTATION_TOPOLOGY_AWARE_HINTS, ANNOTATION_TOPOLOGY_MODE } from '../../pkg/apis/names.ts';
import { DISTRIBUTION_NAMES } from '../../pkg/upstream/features.ts';
import { wishOf } from '../../pkg/upstream/index.ts';
import type { FieldError } from './errors.ts';
import { asArray, asRecord, asString, asStringMap, isRecord, type JsonRecord, type StoredObject } from './object.ts';
import type { KindRules, RuleContext } from './served-resource.ts';

const specOf = (object: StoredObject): JsonRecord => {
  if (!isRecord(object['spec'])) object['spec'] = {};
  return asRecord(object['spec']);
};

const setDefault = (record: JsonRecord, field: string, value: unknown): void => {
  if (record[field] === undefined || record[field] === null || record[field] === '') record[field] = value;
};

/** First minor whose API has the field at all; before 1.31 its gate is off, so it is dropped on write. */
const TRAFFIC_DISTRIBUTION_SINCE = 31;

const exposesNodePort = (spec: JsonRecord): boolean => spec['type'] === 'NodePort' || spec['type'] === 'LoadBalancer';

const normalizePorts = (spec: JsonRecord): void => {
  for (const port of asArray(spec['ports'])) {
    if (!isRecord(port)) continue;
    setDefault(port, 'protocol', 'TCP');
    if (port['targetPort'] === undefined || port['targetPort'] === 0 || port['targetPort'] === '')
      port['targetPort'] = port['port'];
  }
};

const normalize = (object: StoredObject, { minor }: RuleContext): void => {
  const spec = specOf(object);
  setDefault(spec, 'type', 'ClusterIP');
  setDefault(spec, 'sessionAffinity', 'None');
  if (spec['type'] !== 'ExternalName') setDefault(spec, 'internalTrafficPolicy', 'Cluster');
  if (exposesNodePort(spec)) setDefault(spec, 'externalTrafficPolicy', 'Cluster');
  if (spec['type'] === 'LoadBalancer') setDefault(spec, 'allocateLoadBalancerNodePorts', true);
  normalizePorts(spec);
  if (minor < TRAFFIC_DISTRIBUTION_SINCE || spec['trafficDistribution'] === null) delete spec['trafficDistribution'];
  if (!isRecord(object['status'])) object['status'] = { loadBalancer: {} };
};

const familiesOf = (spec: JsonRecord): ('IPv4' | 'IPv6')[] => {
  const wanted = asArray(spec['ipFamilies']).filter(
    (family): family is 'IPv4' | 'IPv6' => family === 'IPv4' || family === 'IPv6',
  );
  if (wanted.length > 0) return wanted;
  const address = asString(spec['clusterIP']);
  const first = address.includes(':') ? 'IPv6' : 'IPv4';
  const dual = spec['ipFamilyPolicy'] === 'RequireDualStack' || spec['ipFamilyPolicy'] === 'PreferDualStack';
  return dual ? [first, first === 'IPv4' ? 'IPv6' : 'IPv4'] : [first];
};

const allocate = (object: StoredObject, context: RuleContext): void => {
  const spec = specOf(object);
  if (spec['type'] === 'ExternalName') return;
  const families = familiesOf(spec);
  spec['ipFamilies'] = families;
  setDefault(spec, 'ipFamilyPolicy', families.length > 1 ? 'RequireDualStack' : 'SingleStack');
  if (spec['clusterIP'] === 'None') spec['clusterIPs'] = ['None'];
  else {
    const given = asArray(spec['clusterIPs']);
    const first = asString(spec['clusterIP']) || asString(given[0]);
    spec['clusterIPs'] = families.map((family, index) => {
      const wanted = index === 0 ? first : asString(given[index]);
      return wanted === '' ? context.allocateClusterIP(family) : wanted;
    });
    spec['clusterIP'] = asArray(spec['clusterIPs'])[0];
  }
  if (!exposesNodePort(spec)) return;
  for (const port of asArray(spec['ports'])) {
    if (isRecord(port) && typeof port['nodePort'] !== 'number') port['nodePort'] = context.allocateNodePort();
  }
};

/** A writer that leaves out what the server allocated gets it back, as upstream patches allocated values. */
const keepAllocated = (object: StoredObject, old: StoredObject, context: RuleContext): void => {
  const spec = specOf(object);
  const oldSpec = asRecord(old['spec']);
  if (spec['type'] !== 'ExternalName' && oldSpec['type'] !== 'ExternalName') {
    if (asString(spec['clusterIP']) === '' && asArray(spec['clusterIPs']).length === 0) {
      spec['clusterIP'] = oldSpec['clusterIP'];
      spec['clusterIPs'] = oldSpec['clusterIPs'];
    }
    if (spec['ipFamilies'] === undefined) spec['ipFamilies'] = oldSpec['ipFamilies'];
    setDefault(spec, 'ipFamilyPolicy', oldSpec['ipFamilyPolicy']);
  }
  if (exposesNodePort(spec)) {
    const oldPorts = asArray(oldSpec['ports']).filter((port) => isRecord(port));
    for (const port of asArray(spec['ports'])) {
      if (!isRecord(port) || typeof port['nodePort'] === 'number') continue;
      const before = oldPorts.find((other) => other['port'] === port['port'] && other['protocol'] === port['protocol']);
      if (typeof before?.['nodePort'] === 'number') port['nodePort'] = before['nodePort'];
    }
  }
  allocate(object, context);
};

const validateAnnotations = (object: StoredObject): FieldError[] => {
  const annotations = asStringMap(object.metadata.annotations);
  const hints = annotations[ANNOTATION_TOPOLOGY_AWARE_HINTS];
  const mode = annotations[ANNOTATION_TOPOLOGY_MODE];
  if (hints === undefined || mode === undefined || hints === mode) return [];
  return [
    {
      field: `metadata.annotations[${ANNOTATION_TOPOLOGY_MODE}]`,
      reason: 'FieldValueInvalid',
      message: `Invalid value: ${JSON.stringify(mode)}: must match annotations[${ANNOTATION_TOPOLOGY_AWARE_HINTS}] when both are specified`,
    },
  ];
};

const validateTrafficDistribution = (spec: JsonRecord, old: JsonRecord, minor: number): FieldError[] => {
  const value = spec['trafficDistribution'];
  if (value === undefined || value === old['trafficDistribution']) return [];
  const known = DISTRIBUTION_NAMES.filter(
    (name) => wishOf({ spec: { trafficDistribution: name } }, { major: 1, minor }).understood,
  );
  const accepted: readonly string[] = known.sort();
  if (accepted.includes(asString(value))) return [];
  return [
    {
      field: 'spec.trafficDistribution',
      reason: 'FieldValueNotSupported',
      message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${accepted.map((item) => JSON.stringify(item)).join(', ')}`,
    },
  ];
};

const validatePorts = (spec: JsonRecord): FieldError[] => {
  const ports = asArray(spec['ports']);
  if (ports.length === 0 && spec['clusterIP'] !== 'None' && spec['type'] !== 'ExternalName')
    return [{ field: 'spec.ports', reason: 'FieldValueRequired', message: 'Required value' }];
  return ports.flatMap((port, index): FieldError[] => {
    const number = asRecord(port)['port'];
    if (typeof number === 'number' && number >= 1 && number <= 65_535) return [];
    const message = `Invalid value: ${JSON.stringify(number ?? 0)}: must be between 1 and 65535, inclusive`;
    return [{ field: `spec.ports[${index}].port`, reason: 'FieldValueInvalid', message }];
  });
};

const validateClusterIP = (spec: JsonRecord, old: JsonRecord | undefined): FieldError[] => {
  if (old === undefined || spec['type'] === 'ExternalName' || old['type'] === 'ExternalName') return [];
  if (isDeepStrictEqual(spec['clusterIP'], old['clusterIP'])) return [];
  const message = `Invalid value: ${JSON.stringify(spec['clusterIPs'])}: may not change once set`;
  return [{ field: 'spec.clusterIPs[0]', reason: 'FieldValueInvalid', message }];
};

const TYPES = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];

const validate = (object: StoredObject, old: StoredObject | undefined, { minor }: RuleContext): FieldError[] => {
  const spec = specOf(object);
  const oldSpec = old === undefined ? undefined : asRecord(old['spec']);
  const type: FieldError[] = TYPES.includes(asString(spec['type']))
    ? []
    : [
        {
          field: 'spec.type',
          reason: 'FieldValueNotSupported',
          message: `Unsupported value: ${JSON.stringify(spec['type'])}: supported values: ${TYPES.map((item) => `"${item}"`).join(', ')}`,
        },
      ];
  return [
    ...validateAnnotations(object),
    ...validatePorts(spec),
    ...type,
    ...validateClusterIP(spec, oldSpec),
    ...validateTrafficDistribution(spec, oldSpec ?? {}, minor),
  ];
};

export const SERVICE_RULES: KindRules = {
  normalize,
  prepareCreate(object, context) {
    object['status'] = { loadBalancer: {} };
    allocate(object, context);
  },
  prepareUpdate: keepAllocated,
  validate,
};
