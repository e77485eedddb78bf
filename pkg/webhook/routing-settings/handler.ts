// SPDX-License-Identifier: Apache-2.0
// Answers reviews of Services with the patch that keeps their routing settings.
import { COMMANDS } from '../../apis/names.ts';
import type { AdmissionHandler } from '../types.ts';
import { decideSettings } from './decide.ts';

export interface RoutingSettingsOptions {
  /** The user whose writes are never changed. */
  settingsReconcilerUser: string;
}

/**
 * Another installation's reconciler knows as well what it reverts. Who calls an account of their own so gains what the
 * label `managed: "false"` gives anybody who may write the Service.
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
