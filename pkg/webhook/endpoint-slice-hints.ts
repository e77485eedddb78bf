// Answers reviews of EndpointSlices with the hints that their labels ask for, and how these reviews are registered.
import type { GroupVersionKind } from '../apis/admission.ts';
import { ETCD_CLIENT_SERVICES, GROUP, LABEL_ETCD_CLIENTS, LABEL_SERVICE_NAME } from '../apis/names.ts';
import { ENDPOINT_SLICES } from '../apis/resources.ts';
import { withoutEvacuation } from '../evacuation/admit.ts';
import { decideHints, patchText } from '../hints/decide.ts';
import { type HintsDecision, STRATEGIES_BY_LABEL } from '../hints/table.ts';
import { atLeast } from '../routing/version.ts';
import { type RegistrationOptions, type WebhookEntry, notExcluded, notIn, ruleFor } from './registration-types.ts';
import type { AdmissionDecision, AdmissionHandler, AdmissionInputs } from './review.ts';

export const answerOf = (decision: HintsDecision): AdmissionDecision => {
  if (decision.kind === 'unchanged') return decision;
  if (decision.kind === 'invalid') return { kind: 'unserved', reason: 'HostileFields', message: decision.message };
  return { kind: 'patch', patch: patchText(decision.operations), operations: decision.operations.length };
};

export const createEndpointSliceHintsHandler =
  (
    { plannerUsers, plannerAlive, version }: Pick<AdmissionInputs, 'plannerUsers' | 'plannerAlive' | 'version'>,
    /** Slices arrive that were chosen by namespace and name instead of a label. */
    chosen = false,
  ): AdmissionHandler =>
  ({ object, oldObject, operation, userInfo }) =>
    answerOf(
      decideHints({
        object,
        // A plan is carried over as it was before the zone was left.
        oldObject: operation === 'UPDATE' ? withoutEvacuation(oldObject) : undefined,
        userName: userInfo?.username ?? '',
        flowControllerUsers: plannerUsers,
        plannerAlive: plannerAlive(),
        nodeHints: atLeast(version(), 33),
        chosen,
      }),
    );

export const HINTS_NAME = 'endpoint-slice-hints';
export const HINTS_PATH = `/webhooks/${HINTS_NAME}`;
/** For slices that are chosen by namespace and name: their labels need not ask for anything. */
export const CHOSEN_HINTS_PATH = `${HINTS_PATH}/etcd-clients`;

export const HINTS_KINDS: readonly GroupVersionKind[] = [ENDPOINT_SLICES];

/** The labels that ask for a strategy, with the values that do. */
const ASKING = [...STRATEGIES_BY_LABEL].map(([key, byValue]) => ({ key, values: [...byValue.keys()].map(String) }));

/** Labels that ask for no strategy in any of these ways. */
const asksForNothing = (asking: typeof ASKING) => asking.map(({ key, values }) => notIn(key, values));

export const SLICE_RULES = [ruleFor(ENDPOINT_SLICES, ['CREATE', 'UPDATE'])];

const nameAt = (index: number): string => `${index === 0 ? '' : `label-${index}.`}${HINTS_NAME}.${GROUP}`;

/** Entries that the configured failure policy applies to: of slices whose labels ask for hints. Every other entry is `Ignore`. */
export const MAY_FAIL: ReadonlySet<string> = new Set(ASKING.map((_asking, index) => nameAt(index)));

const COMMON = {
  rules: SLICE_RULES,
  matchConditions: [{ name: 'has-endpoints', expression: 'has(object.endpoints)' }],
};

/** The slices of Etcds' client Services where the namespace says so: they cannot have this project's labels. No etcd ever waits for us. */
const chosenEntry = ({ excludedNamespaces }: RegistrationOptions): WebhookEntry => ({
  name: `etcd-clients.${HINTS_NAME}.${GROUP}`,
  ...COMMON,
  path: CHOSEN_HINTS_PATH,
  namespaceSelector: { matchLabels: { [LABEL_ETCD_CLIENTS]: 'true' }, ...notExcluded(excludedNamespaces) },
  objectSelector: {
    matchExpressions: [
      { key: LABEL_SERVICE_NAME, operator: 'In', values: [...ETCD_CLIENT_SERVICES] },
      ...asksForNothing(ASKING),
    ],
  },
});

/**
 * A selector cannot say "this label or that one", so there is one entry a label. An entry leaves out what an earlier one
 * selects: no slice is asked about twice.
 */
export const hintsEntries = (options: RegistrationOptions): WebhookEntry[] => {
  const { address, excludedNamespaces } = options;
  const byLabel = ASKING.map(({ key, values }, index) => ({
    name: nameAt(index),
    ...COMMON,
    path: HINTS_PATH,
    namespaceSelector: notExcluded(excludedNamespaces),
    objectSelector: {
      matchExpressions: [
        { key, operator: 'In' as const, values },
        ...asksForNothing(ASKING.slice(0, index)),
        // Whatever is excluded or not: the slices of the Service through which we are reached never wait for us.
        ...(address.kind === 'service' ? [notIn(LABEL_SERVICE_NAME, [address.name])] : []),
      ],
    },
  }));
  return [...byLabel, chosenEntry(options)];
};
