// The AdmissionReviews that the load sends, shaped and worded as kube-apiserver sends them for a slice of three zones.
import type { Endpoint, EndpointSlice } from '../../../pkg/apis/core.ts';
import { ANNOTATION_APPLIED, LABEL_CONSIDER, LABEL_SERVICE_NAME } from '../../../pkg/apis/names.ts';

/** `write`: no endpoint has hints, all must be written. `keep`: all are right already. */
export type Scenario = 'write' | 'keep';

export interface PayloadOptions {
  readonly endpoints: number;
  readonly scenario: Scenario;
  /** Tells the slices of different connections apart: goes into names, addresses and uids. */
  readonly variant: number;
}

/** A review as plain data, and the object that must result from it. */
export interface Payload<Kind extends object = EndpointSlice> {
  readonly uid: string;
  readonly review: { request: { object: Kind; [field: string]: unknown }; [field: string]: unknown };
  readonly expected: Kind;
}

const ZONES = ['europe-central-1a', 'europe-central-1b', 'europe-central-1c'];
const NAMESPACE = 'shoot--bench--payments';
const SERVICE = 'kube-apiserver';

const hex = (value: number, width: number): string => value.toString(16).padStart(width, '0');
const uidOf = (variant: number, index: number): string => `6f9619ff-8b86-d011-${hex(variant, 4)}-${hex(index, 12)}`;

const endpointAt = (index: number, { scenario, variant }: PayloadOptions): Endpoint => {
  const zone = ZONES[index % ZONES.length] ?? '';
  return {
    addresses: [`10.${variant % 256}.${index >> 8}.${index % 256}`],
    conditions: { ready: true, serving: true, terminating: false },
    ...(scenario === 'keep' && { hints: { forZones: [{ name: zone }] } }),
    nodeName: `shoot--bench--worker-${zone}-${hex(index % 97, 5)}`,
    targetRef: {
      kind: 'Pod',
      namespace: NAMESPACE,
      name: `${SERVICE}-7d4b9c6f5-${hex(index, 5)}`,
      uid: uidOf(variant, index),
    },
    zone,
  };
};

const managedFields = [
  {
    manager: 'kube-controller-manager',
    operation: 'Update',
    apiVersion: 'discovery.k8s.io/v1',
    time: '2026-11-20T08:15:30Z',
    fieldsType: 'FieldsV1',
    fieldsV1: {
      'f:addressType': {},
      'f:endpoints': {},
      'f:metadata': {
        'f:annotations': { '.': {}, 'f:endpoints.kubernetes.io/last-change-trigger-time': {} },
        'f:generateName': {},
        'f:labels': { '.': {}, [`f:${LABEL_CONSIDER}`]: {}, [`f:${LABEL_SERVICE_NAME}`]: {} },
        'f:ownerReferences': { '.': {}, 'k:{"uid":"0d9d5bd1-1ae8-4e3c-9f0a-0f4c0d2b1a11"}': {} },
      },
      'f:ports': {},
    },
  },
];

const sliceWith = (endpoints: Endpoint[], options: PayloadOptions, resourceVersion: string): EndpointSlice => ({
  kind: 'EndpointSlice',
  apiVersion: 'discovery.k8s.io/v1',
  metadata: {
    name: `${SERVICE}-${hex(options.variant, 5)}`,
    generateName: `${SERVICE}-`,
    namespace: NAMESPACE,
    uid: uidOf(options.variant, 0xfffff),
    resourceVersion,
    generation: 7,
    creationTimestamp: '2026-11-19T17:40:02Z',
    labels: {
      app: 'kubernetes',
      'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
      [LABEL_CONSIDER]: 'true',
      [LABEL_SERVICE_NAME]: SERVICE,
      role: 'apiserver',
    },
    annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': '2026-11-20T08:15:30Z' },
    ownerReferences: [
      {
        apiVersion: 'v1',
        kind: 'Service',
        name: SERVICE,
        uid: '0d9d5bd1-1ae8-4e3c-9f0a-0f4c0d2b1a11',
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
    managedFields,
  },
  addressType: 'IPv4',
  endpoints,
  ports: [{ name: 'kube-apiserver', protocol: 'TCP', port: 443 }],
});

const hinted = (endpoint: Endpoint): Endpoint => ({
  ...endpoint,
  hints: { forZones: [{ name: endpoint.zone ?? '' }] },
});

const reviewOf = <Kind extends object>(group: string, kind: string, variant: number, object: Kind, oldObject: Kind) => {
  const uid = uidOf(variant, 0xabcde);
  const gvk = { group, version: 'v1', kind };
  const gvr = { group, version: 'v1', resource: `${kind.toLowerCase()}s` };
  const review = {
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    request: {
      uid,
      kind: gvk,
      resource: gvr,
      requestKind: gvk,
      requestResource: gvr,
      name: SERVICE,
      namespace: NAMESPACE,
      operation: 'UPDATE',
      userInfo: {
        username: 'system:serviceaccount:kube-system:endpointslice-controller',
        uid: '1c0f3ad5-6c61-4f34-8a4f-2f1f6f6f3f10',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'],
      },
      object,
      oldObject,
      dryRun: false,
      options: { kind: 'UpdateOptions', apiVersion: 'meta.k8s.io/v1' },
    },
  };
  return { uid, review };
};

/** An UPDATE by the EndpointSlice controller: the old slice lacks the last endpoint, so that something did change. */
export const buildPayload = (options: PayloadOptions): Payload => {
  const endpoints = Array.from({ length: options.endpoints }, (_, index) => endpointAt(index, options));
  const object = sliceWith(endpoints, options, '184467');
  const oldObject = sliceWith(endpoints.slice(0, -1), options, '184467');
  const payload = reviewOf('discovery.k8s.io', 'EndpointSlice', options.variant, object, oldObject);
  return { ...payload, expected: { ...object, endpoints: endpoints.map(hinted) } };
};

/** An UPDATE by an owner who does not know what the settings-reconciler set. */
export const buildSettingsPayload = (variant: number): Payload<object> => {
  const applied = { trafficDistribution: 'PreferSameZone' };
  const serviceWith = (routing: object) => ({
    kind: 'Service',
    apiVersion: 'v1',
    metadata: {
      name: `${SERVICE}-${variant}`,
      namespace: NAMESPACE,
      uid: uidOf(variant, 0xfffff),
      labels: { app: 'kubernetes', role: 'apiserver' },
      annotations: { [ANNOTATION_APPLIED]: JSON.stringify(applied) },
      managedFields,
    },
    spec: { clusterIP: `10.0.0.${variant}`, type: 'ClusterIP', ports: [{ port: 443, protocol: 'TCP' }], ...routing },
  });
  return { ...reviewOf('', 'Service', variant, serviceWith({}), serviceWith(applied)), expected: serviceWith(applied) };
};
