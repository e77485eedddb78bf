// SPDX-License-Identifier: Apache-2.0
// Answers reviews of Services and Etcds with the patch that keeps their routing settings.
import { ETCDS } from '../../apis/resources.ts';
import type { AdmissionHandler } from '../types.ts';
import { decideSettings } from './decide.ts';

export interface RoutingSettingsOptions {
  /** The user whose writes are never changed. */
  settingsReconcilerUser: string;
}

export const createRoutingSettingsHandler =
  ({ settingsReconcilerUser }: RoutingSettingsOptions): AdmissionHandler =>
  ({ kind, object, oldObject, operation, userInfo }) => {
    const decision = decideSettings({
      target: kind.kind === ETCDS.kind ? 'Etcd' : 'Service',
      object,
      oldObject: operation === 'UPDATE' ? oldObject : undefined,
      userName: userInfo?.username ?? '',
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
