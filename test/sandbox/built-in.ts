// The resources that every sandbox serves.
import {
  CLUSTERS,
  DAEMON_SETS,
  ENDPOINT_SLICES,
  ETCDS,
  EVENTS,
  EXTENSIONS,
  GARDENS,
  LEASES,
  MUTATING_WEBHOOK_CONFIGURATIONS,
  NAMESPACES,
  NODES,
  PODS,
  SECRETS,
  SEEDS,
  SERVICES,
} from '../../pkg/apis/resources.ts';
import { CUSTOM_RESOURCE_DEFINITIONS, SHOOTS } from '../fixtures/crds.ts';
import type { Resource } from '../../pkg/apis/resources.ts';
import { asRecord, asString, isRecord, nameOf, type JsonRecord, type StoredObject } from './object.ts';
import { SERVICE_RULES } from './rules-service.ts';
import { SLICE_RULES } from './rules-slice.ts';
import { served, servedCustom, type KindRules, type ServedResource } from './served-resource.ts';

const field =
  (...path: string[]) =>
  (object: StoredObject): string => {
    let value: unknown = object;
    for (const part of path) value = asRecord(value)[part];
    return asString(value);
  };

const NAMESPACE_RULES: KindRules = {
  normalize(object) {
    const labels = { ...object.metadata.labels };
    // On create the name may still be generated; the label follows once it is known.
    if (nameOf(object) !== '') labels['kubernetes.io/metadata.name'] = nameOf(object);
    object.metadata.labels = labels;
    if (!isRecord(object['spec'])) object['spec'] = { finalizers: ['kubernetes'] };
  },
  prepareCreate(object) {
    object['status'] = { phase: 'Active' };
  },
};

const POD_RULES: KindRules = {
  prepareCreate(object) {
    object['status'] = { phase: 'Pending', qosClass: 'BestEffort' };
  },
};

const WEBHOOK_DEFAULTS = {
  failurePolicy: 'Fail',
  matchPolicy: 'Equivalent',
  timeoutSeconds: 10,
  reinvocationPolicy: 'Never',
};

const WEBHOOK_RULES: KindRules = {
  normalize(object) {
    if (!Array.isArray(object['webhooks'])) return;
    object['webhooks'] = object['webhooks'].map((webhook: unknown) => {
      if (!isRecord(webhook)) return webhook;
      const filled: JsonRecord = { namespaceSelector: {}, objectSelector: {}, ...WEBHOOK_DEFAULTS, ...webhook };
      const config = asRecord(filled['clientConfig']);
      if (isRecord(config['service']))
        filled['clientConfig'] = { ...config, service: { port: 443, ...config['service'] } };
      if (Array.isArray(filled['rules']))
        filled['rules'] = filled['rules'].map((rule: unknown) => (isRecord(rule) ? { scope: '*', ...rule } : rule));
      return filled;
    });
  },
  validate(object) {
    const webhooks: unknown[] = Array.isArray(object['webhooks']) ? object['webhooks'] : [];
    return webhooks.flatMap((webhook, index) => {
      const effects = asRecord(webhook)['sideEffects'];
      if (effects === 'None' || effects === 'NoneOnDryRun') return [];
      const message = `Unsupported value: ${JSON.stringify(effects)}: supported values: "None", "NoneOnDryRun"`;
      return [{ field: `webhooks[${index}].sideEffects`, reason: 'FieldValueNotSupported' as const, message }];
    });
  },
};

const EVENT_FIELDS = {
  'involvedObject.kind': field('involvedObject', 'kind'),
  'involvedObject.namespace': field('involvedObject', 'namespace'),
  'involvedObject.name': field('involvedObject', 'name'),
  'involvedObject.uid': field('involvedObject', 'uid'),
  'involvedObject.apiVersion': field('involvedObject', 'apiVersion'),
  reason: field('reason'),
  type: field('type'),
  source: field('source', 'component'),
};

const plain = (group: string, version: string, kind: string, plural: string, namespaced: boolean): Resource => ({
  group,
  version,
  kind,
  plural,
  namespaced,
});

const CORE: ServedResource[] = [
  served(SERVICES, {
    shortNames: ['svc'],
    status: true,
    createOnUpdate: true,
    rules: SERVICE_RULES,
    fields: { 'spec.clusterIP': field('spec', 'clusterIP'), 'spec.type': field('spec', 'type') },
  }),
  served(NAMESPACES, {
    shortNames: ['ns'],
    status: true,
    rules: NAMESPACE_RULES,
    fields: { 'status.phase': field('status', 'phase') },
  }),
  served(NODES, { shortNames: ['no'], status: true, statusOnCreate: true }),
  served(PODS, {
    shortNames: ['po'],
    status: true,
    rules: POD_RULES,
    fields: {
      'spec.nodeName': field('spec', 'nodeName'),
      'status.phase': field('status', 'phase'),
      'status.podIP': field('status', 'podIP'),
    },
  }),
  served(SECRETS, { fields: { type: field('type') } }),
  served(EVENTS, { shortNames: ['ev'], createOnUpdate: true, fields: EVENT_FIELDS }),
  served(plain('', 'v1', 'ConfigMap', 'configmaps', true), { shortNames: ['cm'] }),
  served(plain('', 'v1', 'ServiceAccount', 'serviceaccounts', true), { shortNames: ['sa'] }),
  served(plain('', 'v1', 'Endpoints', 'endpoints', true), {
    shortNames: ['ep'],
    singular: 'endpoints',
    createOnUpdate: true,
  }),
];

const GROUPS: ServedResource[] = [
  served(DAEMON_SETS, { shortNames: ['ds'], status: true, generation: 'content' }),
  served(ENDPOINT_SLICES, { generation: 'labels', rules: SLICE_RULES }),
  served(plain('apps', 'v1', 'Deployment', 'deployments', true), { status: true, generation: 'content' }),
  served(plain('rbac.authorization.k8s.io', 'v1', 'ClusterRole', 'clusterroles', false)),
  served(plain('rbac.authorization.k8s.io', 'v1', 'ClusterRoleBinding', 'clusterrolebindings', false)),
  served(plain('rbac.authorization.k8s.io', 'v1', 'Role', 'roles', true)),
  served(plain('rbac.authorization.k8s.io', 'v1', 'RoleBinding', 'rolebindings', true)),
  served(LEASES, { unconditionalUpdate: false, createOnUpdate: true }),
  served(MUTATING_WEBHOOK_CONFIGURATIONS, { generation: 'content', unconditionalUpdate: false, rules: WEBHOOK_RULES }),
  served(
    plain(
      'admissionregistration.k8s.io',
      'v1',
      'ValidatingWebhookConfiguration',
      'validatingwebhookconfigurations',
      false,
    ),
    { generation: 'content', unconditionalUpdate: false },
  ),
  served(CUSTOM_RESOURCE_DEFINITIONS, {
    shortNames: ['crd', 'crds'],
    status: true,
    generation: 'content',
    unconditionalUpdate: false,
  }),
];

const GARDENER: ServedResource[] = [
  servedCustom(SEEDS, { status: true }),
  servedCustom(SHOOTS, { status: true }),
  servedCustom(GARDENS, { status: true }),
  servedCustom(CLUSTERS),
  servedCustom(EXTENSIONS, { status: true, shortNames: ['ext'] }),
  servedCustom(ETCDS, { status: true }),
];

export const BUILT_IN: readonly ServedResource[] = [...CORE, ...GROUPS, ...GARDENER];
