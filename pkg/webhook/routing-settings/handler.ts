// SPDX-License-Identifier: Apache-2.0
// Answers reviews of Services and Etcds with the patch that keeps their routing settings.
import { COMMANDS } from '../../apis/names.ts';
import { ETCDS } from '../../apis/resources.ts';
import type { AdmissionHandler } from '../types.ts';
import { decideSettings } from './decide.ts';

export interface RoutingSettingsOptions {
  /** The user whose writes are never changed. */
  settingsReconcilerUser: string;
}

/**
 * Another installation's reconciler knows as well what it takes back. Who calls an account of their own so gains what the
 * label `managed: "false"` gives anybody who may write the Service.
 */
const isReconciler = (userName: string): boolean =>
  userName.startsWith('system:serviceaccount:') && userName.endsWith(`:${COMMANDS.settingsReconciler}`);

export const createRoutingSettingsHandler =
  ({ settingsReconcilerUser }: RoutingSettingsOptions): AdmissionHandler =>
  ({ kind, object, oldObject, operation, userInfo }) => {
    const userName = userInfo?.username ?? '';
    const decision = decideSettings({
      target: kind.kind === ETCDS.kind ? 'Etcd' : 'Service',
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
