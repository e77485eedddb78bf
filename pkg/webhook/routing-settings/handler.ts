// Answers reviews of Services, and of those that etcd-druid makes, with the patch that keeps their routing settings.
import { COMMANDS, LABEL_MANAGED } from '../../apis/names.ts';
import { etcdClientSettings, isEtcdClient, patchEtcdClient } from '../../routing/etcd-clients.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import type { AdmissionDecision, AdmissionHandler } from '../types.ts';
import { decideSettings } from './decide.ts';
import { readObject } from './fields.ts';
import { jsonPatchOf } from './merge-patch.ts';

interface EtcdClientsOptions {
  /** Whether the namespace asks for routing by zone: the registration has a path for either. */
  enabled: boolean;
  /** Version of the API server. */
  version: () => KubernetesVersion;
}

/** For Services that etcd-druid makes: sets what routes by zone in druid's own write, or reverts it there. */
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

export interface RoutingSettingsOptions {
  /** The user whose writes are never changed. */
  settingsReconcilerUser: string;
}

/**
 * Another installation's reconciler knows as well what it reverts. Who calls an account of their own so gains what the
 * label `managed: "false"` gives to every account that may write the Service.
 */
const isReconciler = (userName: string): boolean =>
  userName.startsWith('system:serviceaccount:') && userName.endsWith(`:${COMMANDS.settingsReconciler}`);

export const createRoutingSettingsHandler =
  ({ settingsReconcilerUser }: RoutingSettingsOptions): AdmissionHandler =>
  ({ object, oldObject, operation, userInfo }) => {
    const userName = userInfo?.username ?? '';
    const decision = decideSettings({
      object,
      oldObject: operation === 'UPDATE' ? oldObject : undefined,
      userName: isReconciler(userName) ? settingsReconcilerUser : userName,
      settingsReconcilerUser,
    });
    switch (decision.kind) {
      case 'unchanged':
        return decision;
      case 'patch':
        return { kind: 'patch', patch: JSON.stringify(decision.operations), operations: decision.operations.length };
      case 'invalid':
        return { kind: 'unserved', reason: 'HostileFields', message: decision.message };
    }
  };
