// Answers reviews of evacuated slices with the patch that keeps them so, or ends it, and of those that bring endpoints of the zone.
import { decideEvacuated, decideJoining } from '../../evacuation/admit.ts';
import { answerOf } from '../endpoint-slice-hints/handler.ts';
import type { AdmissionHandler } from '../types.ts';
import type { EvacuationWatch } from './watch.ts';

export interface EvacuationHandlerOptions extends Pick<EvacuationWatch, 'isLeft' | 'joiningOf'> {
  /** Who decides about whole Services: what it leaves without a mark stays so. */
  readonly settingsReconcilerUser: string;
}

export const createEvacuationHandler =
  ({ isLeft, joiningOf, settingsReconcilerUser }: EvacuationHandlerOptions): AdmissionHandler =>
  ({ object, operation, userInfo }) => {
    const kept = decideEvacuated(object, isLeft);
    if (kept.kind !== 'unchanged' || userInfo?.username === settingsReconcilerUser) return answerOf(kept);
    return answerOf(decideJoining({ object, created: operation === 'CREATE', joiningOf }));
  };
