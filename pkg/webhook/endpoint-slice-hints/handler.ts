// SPDX-License-Identifier: Apache-2.0
// Answers reviews of EndpointSlices with the patch that gives their endpoints the hints which their labels ask for.
import { decideHints, patchText } from '../../hints/index.ts';
import { isProbeOf } from '../../hints/policy/index.ts';
import type { AdmissionHandler } from '../types.ts';

export interface EndpointSliceHintsOptions {
  /** Users whose planned hints pass untouched. */
  flowControllerUsers: Pick<ReadonlySet<string>, 'has'>;
  /** False while the flow controller is known to be gone. */
  plannerAlive: () => boolean;
  /** Whether the API knows `forNodes` (Kubernetes 1.33 and newer). */
  nodeHints: () => boolean;
  /** Slices arrive that were chosen by namespace and name instead of a label. Default false. */
  chosen?: boolean;
}

export const createEndpointSliceHintsHandler =
  ({ flowControllerUsers, plannerAlive, nodeHints, chosen = false }: EndpointSliceHintsOptions): AdmissionHandler =>
  ({ object, oldObject, operation, userInfo }) => {
    if (isProbeOf('policy', object)) return { kind: 'unchanged' };
    const decision = decideHints({
      object,
      oldObject: operation === 'UPDATE' ? oldObject : undefined,
      userName: userInfo?.username ?? '',
      flowControllerUsers,
      plannerAlive: plannerAlive(),
      nodeHints: nodeHints(),
      chosen,
    });
    switch (decision.kind) {
      case 'unchanged':
        return decision;
      case 'patch':
        return { kind: 'patch', patch: patchText(decision.operations), operations: decision.operations.length };
      case 'invalid':
        return { kind: 'unserved', reason: 'HostileFields', message: decision.message };
    }
  };
