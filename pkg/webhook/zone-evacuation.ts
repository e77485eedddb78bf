// Answers reviews of slices while zones are evacuated with the patch that keeps, ends or joins it; how these are registered.
import { ANNOTATION_EVACUATED, GROUP } from '../apis/names.ts';
import { decideEvacuated, decideJoining } from '../evacuation/admit.ts';
import { isZoneName } from '../hints/readiness.ts';
import { SLICE_RULES, answerOf } from './endpoint-slice-hints.ts';
import type { WebhookEntry } from './registration-types.ts';
import type { AdmissionHandler, AdmissionInputs } from './review.ts';

export const createEvacuationHandler =
  ({
    evacuations: { isEvacuating, joiningOf },
    settingsReconcilerUser,
  }: Pick<AdmissionInputs, 'evacuations' | 'settingsReconcilerUser'>): AdmissionHandler =>
  ({ object, operation, userInfo }) => {
    const kept = decideEvacuated(object, isEvacuating);
    // The reconciler decides about whole Services: what it leaves without a mark stays so.
    if (kept.kind !== 'unchanged' || userInfo?.username === settingsReconcilerUser) return answerOf(kept);
    return answerOf(decideJoining(object, operation === 'CREATE', joiningOf));
  };

export const EVACUATION_NAME = 'zone-evacuation';
export const EVACUATION_PATH = `/webhooks/${EVACUATION_NAME}`;

/** Zones are names of labels: no quote is among them. */
const joins = (zones: readonly string[]): string =>
  zones.length === 0
    ? ''
    : ` || object.endpoints.exists(e, has(e.zone) && e.zone in [${zones.map((zone) => `'${zone}'`).join(', ')}])`;

/**
 * After the entries of the strategies, since it works on what they give a slice. Our own Service is part of it: kube-controller-manager would take
 * the hints off its slices a second after they were written. A failure is always ignored.
 *
 * @param zones - whose endpoints are evacuated with the write that adds them, whether the slice is marked yet or not
 */
export const evacuationEntry = (zones: readonly string[]): WebhookEntry => ({
  name: `${EVACUATION_NAME}.${GROUP}`,
  path: EVACUATION_PATH,
  rules: SLICE_RULES,
  namespaceSelector: {},
  objectSelector: {},
  matchConditions: [
    { name: 'has-endpoints', expression: 'has(object.endpoints)' },
    {
      name: 'is-evacuated',
      expression: `has(object.metadata.annotations) && '${ANNOTATION_EVACUATED}' in object.metadata.annotations${joins(zones.filter(isZoneName))}`,
    },
  ],
});
