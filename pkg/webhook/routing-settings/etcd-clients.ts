// SPDX-License-Identifier: Apache-2.0
// Answers reviews of the Services that etcd-druid makes: sets what routes by zone in druid's own write, or takes it back there.
import { LABEL_MANAGED } from '../../apis/names.ts';
import { etcdClientSettings, isEtcdClient, patchEtcdClient } from '../../routing/etcd-clients.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import type { AdmissionDecision, AdmissionHandler } from '../types.ts';
import { readObject } from './fields.ts';
import { jsonPatchOf } from './merge-patch.ts';

export interface EtcdClientsOptions {
  /** Whether the namespace asks for routing by zone: the registration has a path for either. */
  enabled: boolean;
  /** Version of the API server. */
  version: () => KubernetesVersion;
}

export const createEtcdClientsHandler =
  ({ enabled, version }: EtcdClientsOptions): AdmissionHandler =>
  ({ object, oldObject, operation }): AdmissionDecision => {
    const service = readObject(object);
    if (typeof service === 'string') return { kind: 'unserved', reason: 'HostileFields', message: service };
    if (!isEtcdClient(service)) return { kind: 'unchanged' };
    const stored = operation === 'UPDATE' ? readObject(oldObject) : undefined;
    const wanted = enabled && service.metadata?.labels?.[LABEL_MANAGED] !== 'false';
    const patch = patchEtcdClient(
      service,
      typeof stored === 'string' ? undefined : stored,
      wanted ? etcdClientSettings(version()) : undefined,
    );
    const operations = jsonPatchOf(service, patch);
    if (operations.length === 0) return { kind: 'unchanged' };
    return { kind: 'patch', patch: JSON.stringify(operations), operations: operations.length };
  };
