// Names of a seed and its shoot in suites about settings, who may read Seeds, and what Gardener's resource manager does to a Service.
import type { Service } from '../../pkg/apis/core.ts';
import { LABEL_MANAGED } from '../../pkg/apis/names.ts';
import { SERVICES } from '../../pkg/apis/resources.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { type ClusterRole, grant } from './bed/access.ts';
import type { Bed } from './bed/index.ts';

export const NS = 'shoot--foo--bar';
/** Named as the chart's values name it. */
export const SEED = 'eu-1';
export const SAME_ZONE = 'PreferSameZone';
export const MANAGED = { [LABEL_MANAGED]: 'true' };

/** What the virtual garden lets extensions read. */
export const SEED_READER: ClusterRole = {
  metadata: { name: 'seed-reader' },
  rules: [{ apiGroups: ['core.gardener.cloud'], resources: ['seeds'], verbs: ['get', 'list', 'watch'] }],
};

/** The virtual garden lets everybody on a seed read Seeds, and is the same API server here. Returns a kubeconfig. */
export const letSeedsBeRead = async (bed: Bed): Promise<string> => {
  const user = 'seed-access';
  await grant(bed.api, SEED_READER, { kind: 'User', name: user });
  return bed.kubeconfig({ user });
};

/** The Service as its ManagedResource has it: foreign labels and annotations stay, spec and owners are the desired ones. See its contract. */
export const resourceManagerReplaces = async (client: Client, namespace: string, name: string): Promise<Service> => {
  const stored = await client.get<Service>(SERVICES, { namespace, name });
  if (stored.metadata?.annotations?.['resources.gardener.cloud/mode'] === 'Ignore') return stored;
  const { trafficDistribution: _, ...spec } = stored.spec ?? {};
  const { ownerReferences: _owners, ...metadata } = stored.metadata ?? {};
  return client.update<Service>(SERVICES, { ...stored, metadata, spec });
};
