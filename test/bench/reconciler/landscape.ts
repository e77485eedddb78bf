// The objects of a seed with many shoots: five Services, two Etcds and a Cluster with its CloudProfile each.
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { LABEL_MANAGED } from '../../../pkg/apis/names.ts';
import { node, service, slice } from '../../fixtures/core.ts';
import { cluster, etcd, namespace, shoot, ZONES } from '../../fixtures/gardener.ts';
import type { Scale } from './types.ts';

/** Written by the reconciler: three of the catalogue and one that an extension labelled. */
const CHANGING_SERVICES = ['kube-apiserver', 'gardener-resource-manager', 'vpa-webhook', 'extension-webhook'];
/** Belongs to etcd-druid and must not be touched. */
const UNTOUCHED_SERVICES = ['etcd-main-client'];
const SERVICES = [...CHANGING_SERVICES, ...UNTOUCHED_SERVICES];
const ETCDS = ['etcd-main', 'etcd-events'];

/** What there is, and what of it the setting changes. */
export const scaleOf = (shoots: number): Scale & { changing: { services: number; etcds: number } } => ({
  shoots,
  services: shoots * SERVICES.length,
  etcds: shoots * ETCDS.length,
  // An Etcd is never written.
  changing: { services: shoots * CHANGING_SERVICES.length, etcds: 0 },
});

/** Ten kilobytes, the way real ones repeat themselves. */
const cloudProfile = {
  apiVersion: 'core.gardener.cloud/v1beta1',
  kind: 'CloudProfile',
  metadata: { name: 'bench' },
  spec: {
    machineTypes: Array.from({ length: 60 }, (_, index) => ({
      name: `machine-${index}`,
      cpu: String(2 + index),
      gpu: '0',
      memory: `${8 + index}Gi`,
      architecture: 'amd64',
      usable: true,
      storage: { class: 'premium', type: 'default', size: '50Gi' },
    })),
  },
};

const shootNamespace = (index: number): string => `shoot--bench--${String(index).padStart(4, '0')}`;

const shootObjects = (index: number): KubernetesObject[] => {
  const name = shootNamespace(index);
  const ofShoot = shoot({
    metadata: { name: name.slice(-4), namespace: 'garden-bench' },
    status: { technicalID: name },
  });
  return [
    namespace({ metadata: { name } }),
    cluster({ spec: { shoot: ofShoot, cloudProfile } }),
    ...SERVICES.map((service_) =>
      service({
        metadata: {
          name: service_,
          namespace: name,
          labels: { app: service_, ...(service_ === 'extension-webhook' && { [LABEL_MANAGED]: 'true' }) },
        },
      }),
    ),
    ...SERVICES.map((service_) =>
      slice({ metadata: { name: `${service_}-x7k2p`, namespace: name }, service: service_ }),
    ),
    ...ETCDS.map((name_) => etcd({ metadata: { name: name_, namespace: name } })),
  ];
};

/** Everything of the seed cluster except the Seed, which lives in the virtual garden. */
export const landscapeObjects = (shoots: number): KubernetesObject[] => [
  ...ZONES.flatMap((zone) => [0, 1, 2].map((index) => node({ metadata: { name: `node-${zone}-${index}` }, zone }))),
  ...Array.from({ length: shoots }, (_, index) => shootObjects(index)).flat(),
];
