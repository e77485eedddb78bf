// SPDX-License-Identifier: Apache-2.0
// Answers reviews of evacuated slices with the patch that keeps them so, or ends it.
import { decideEvacuated } from '../../evacuation/admit.ts';
import { answerOf } from '../endpoint-slice-hints/handler.ts';
import type { AdmissionHandler } from '../types.ts';

/** @param isLeft - whether an evacuation of the zone is running now. */
export const createEvacuationHandler =
  (isLeft: (zone: string) => boolean): AdmissionHandler =>
  ({ object }) =>
    answerOf(decideEvacuated(object, isLeft));
