// Answers reviews of EndpointSlices with the patch that gives their endpoints the hints which their labels ask for.
import { withoutEvacuation } from '../../evacuation/admit.ts';
import { decideHints, patchText } from '../../hints/index.ts';
import type { HintsDecision } from '../../hints/index.ts';
import type { AdmissionDecision, AdmissionHandler } from '../types.ts';

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

/** The decision as the server answers it. */
export const answerOf = (decision: HintsDecision): AdmissionDecision => {
  switch (decision.kind) {
    case 'unchanged':
      return decision;
    case 'patch':
      return { kind: 'patch', patch: patchText(decision.operations), operations: decision.operations.length };
    case 'invalid':
      return { kind: 'unserved', reason: 'HostileFields', message: decision.message };
  }
};

export const createEndpointSliceHintsHandler =
  ({ flowControllerUsers, plannerAlive, nodeHints, chosen = false }: EndpointSliceHintsOptions): AdmissionHandler =>
  ({ object, oldObject, operation, userInfo }) =>
    answerOf(
      decideHints({
        object,
        // A plan is carried over as it was before the zone was left.
        oldObject: operation === 'UPDATE' ? withoutEvacuation(oldObject) : undefined,
        userName: userInfo?.username ?? '',
        flowControllerUsers,
        plannerAlive: plannerAlive(),
        nodeHints: nodeHints(),
        chosen,
      }),
    );
