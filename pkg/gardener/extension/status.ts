// The patches that an operation writes on an Extension: its status, its finalizer, its annotation. Pure: time is an argument.
import type { Extension, LastOperation, OperationType, Shoot } from '../../apis/gardener.ts';
import type { Condition } from '../../apis/meta.ts';
import { ANNOTATION_OPERATION, CONDITION_EFFECTIVE, EXTENSION_FINALIZER } from '../../apis/names.ts';
import { keyOf, timeText } from '../../apis/values.ts';
import { type Governing, type ReadExtension, assessReading, describeProblems, extensionClassOf } from './select.ts';

// Which operation an Extension waits for, by the contract between Gardener and its extensions.
//
// Sources: gardener docs/extensions/reconcile-trigger.md (when an extension acts), docs/extensions/migration.md (migrate and
// restore take their annotation away at the end, reconcile at the beginning), and the library's default predicates.

/** What is to be done with an Extension now. `settled`: nothing was asked for; the others: Gardener wants us to leave it alone. */
type OperationDecision = OperationType | 'settled' | 'waitForState' | 'shootFailed' | 'migrated' | 'released';

interface OperationInput {
  readonly extension: Extension;
  /** The Shoot of the namespace as its Cluster carries it; undefined for classes without one, and before there is one. */
  readonly shoot: Pick<Shoot, 'metadata' | 'status'> | undefined;
  /** This process has not looked at it before: what an earlier one began, or failed at, is taken up. */
  readonly firstSight: boolean;
}

export const hasFinalizer = ({ metadata }: Extension): boolean =>
  metadata?.finalizers?.includes(EXTENSION_FINALIZER) === true;

const operationOf = ({ metadata }: Extension): string | undefined => metadata?.annotations?.[ANNOTATION_OPERATION];

/** Gardener gave up on this generation of the Shoot: nothing is done until it changes. */
const isFailed = (shoot: OperationInput['shoot']): boolean =>
  shoot?.status?.lastOperation?.state === 'Failed' && shoot.metadata?.generation === shoot.status.observedGeneration;

/** What was begun goes on under its own name; everything after it is Reconcile. */
const typeToGoOnWith = ({ status }: Extension): OperationType => {
  const { lastOperation } = status ?? {};
  if (lastOperation === undefined) return 'Create';
  const { type, state } = lastOperation;
  return state !== 'Succeeded' && (type === 'Create' || type === 'Restore') ? type : 'Reconcile';
};

/** Without an annotation: not looked at yet, changed, or left half done. An error waits for a change: its cause is the user's. */
const isDue = ({ metadata, status }: Extension, firstSight: boolean): boolean => {
  const { lastOperation, observedGeneration } = status ?? {};
  if (lastOperation === undefined || lastOperation.state === 'Processing') return true;
  return observedGeneration !== metadata?.generation || (firstSight && lastOperation.state !== 'Succeeded');
};

export const decideOperation = ({ extension, shoot, firstSight }: OperationInput): OperationDecision => {
  const annotation = operationOf(extension);
  const last = extension.status?.lastOperation;
  // What is deleted has no state to wait for.
  const deleted = extension.metadata?.deletionTimestamp !== undefined;
  if (annotation === 'wait-for-state' && !deleted) return 'waitForState';
  if (isFailed(shoot)) return 'shootFailed';
  if (annotation === 'migrate') return 'Migrate';
  if (last?.type === 'Migrate' && annotation !== 'restore') return last.state === 'Succeeded' ? 'migrated' : 'Migrate';
  if (deleted) return hasFinalizer(extension) ? 'Delete' : 'released';
  if (annotation === 'restore') return 'Restore';
  return annotation === 'reconcile' || isDue(extension, firstSight) ? typeToGoOnWith(extension) : 'settled';
};

export interface OutcomeInput {
  readonly extension: ReadExtension;
  readonly type: OperationType;
  /** Where the class of this Extension is read from. */
  readonly namespace: string;
  /** The Extension whose configuration counts there; undefined while the cache has none yet. */
  readonly governing: Governing | undefined;
}

/**
 * What is wrong with the configuration, which is its author's to mend; undefined: the operation succeeds. Effect is not waited for: the
 * condition reports routing that does nothing. Who leaves (Delete, Migrate) leaves, whatever the configuration says.
 */
export const misconfiguration = ({ extension, type, namespace, governing }: OutcomeInput): string | undefined => {
  if (type === 'Delete' || type === 'Migrate') return undefined;
  const name = keyOf(extension);
  const own = extensionClassOf(extension) ?? 'shoot';
  if (extension.metadata?.namespace !== namespace)
    return `Extension ${name}: class ${own} applies in namespace ${namespace} only`;
  if (governing !== undefined && governing.name !== name)
    return `Extension ${name}: Extension ${governing.name} of the same class applies here; remove one`;
  const reading = assessReading(extension.reading ?? { kind: 'absent' }, own);
  return reading.kind === 'invalid' ? describeProblems(name, reading.problems) : undefined;
};

type Patch = Readonly<Record<string, unknown>>;

const WORDS: Readonly<Record<OperationType, readonly [doing: string, done: string, failed: string]>> = {
  Create: ['Creating the Extension', 'Successfully created Extension', 'Error creating Extension'],
  Reconcile: ['Reconciling the Extension', 'Successfully reconciled Extension', 'Error reconciling Extension'],
  Restore: ['Restoring the Extension', 'Successfully restored Extension', 'Error restoring Extension'],
  Migrate: ['Migrating the Extension', 'Successfully migrated Extension', 'Error migrating Extension'],
  Delete: ['Deleting the Extension', 'Successfully deleted Extension', 'Error deleting Extension'],
};

export const isOperation = (decision: OperationDecision): decision is OperationType => decision in WORDS;

/** Another writer in the same moment makes it a conflict, so that no annotation or condition is lost. */
const locked = ({ metadata }: Extension, more: object = {}): Patch => ({
  metadata: { resourceVersion: metadata?.resourceVersion, ...more },
});

/** Written before anything else, so that the next process after a crash sees what was begun. */
export const beginPatch = (extension: Extension, type: OperationType, epochMs: number): Patch => {
  const lastOperation: LastOperation = {
    type,
    state: 'Processing',
    progress: 1,
    description: WORDS[type][0],
    lastUpdateTime: timeText(epochMs),
  };
  return { ...locked(extension), status: { lastOperation } };
};

/** The finalizer comes, and the order to reconcile goes: it is being carried out. Undefined where both are so already. */
export const takeUpPatch = (extension: Extension, type: OperationType): Patch | undefined => {
  const annotated = operationOf(extension) === 'reconcile';
  const holds = hasFinalizer(extension) || type === 'Migrate' || type === 'Delete';
  if (!annotated && holds) return undefined;
  return locked(extension, {
    ...(annotated ? { annotations: { [ANNOTATION_OPERATION]: null } } : {}),
    ...(holds ? {} : { finalizers: [...(extension.metadata?.finalizers ?? []), EXTENSION_FINALIZER] }),
  });
};

/** @param problem what is wrong with the configuration; undefined: success. */
export const endPatch = (
  extension: Extension,
  type: OperationType,
  problem: string | undefined,
  condition: Condition | undefined,
  epochMs: number,
): Patch => {
  const lastUpdateTime = timeText(epochMs);
  const failed = problem !== undefined;
  const [, done, failure] = WORDS[type];
  const description = failed ? `${failure}: ${problem}` : done;
  const [state, progress] = failed ? ['Error', 50] : ['Succeeded', 100];
  const status = {
    lastOperation: { type, state, progress, description, lastUpdateTime },
    // One of Gardener's codes: the user's to mend.
    lastError: failed ? { codes: ['ERR_CONFIGURATION_PROBLEM'], description, lastUpdateTime } : null,
    observedGeneration: extension.metadata?.generation,
    ...(condition === undefined ? {} : { conditions: withCondition(extension, condition) }),
  };
  return { ...locked(extension), status };
};

/** Migrate and Delete give the finalizer up; migrate and restore take their annotation away at the end. */
export const letGoPatch = (extension: Extension, type: OperationType): Patch | undefined => {
  const releases = (type === 'Migrate' || type === 'Delete') && hasFinalizer(extension);
  const annotated = operationOf(extension) === (type === 'Migrate' ? 'migrate' : 'restore');
  const ends = annotated && (type === 'Migrate' || type === 'Restore');
  if (!releases && !ends) return undefined;
  const others = (extension.metadata?.finalizers ?? []).filter((name) => name !== EXTENSION_FINALIZER);
  return locked(extension, {
    ...(ends ? { annotations: { [ANNOTATION_OPERATION]: null } } : {}),
    ...(releases ? { finalizers: others } : {}),
  });
};

/** The conditions of others stay as they are. */
const withCondition = ({ status }: Extension, condition: Condition): Condition[] => [
  ...(status?.conditions ?? []).filter(({ type }) => type !== condition.type),
  condition,
];

export const conditionOf = ({ status }: Extension): Condition | undefined =>
  status?.conditions?.find(({ type }) => type === CONDITION_EFFECTIVE);

export const conditionPatch = (extension: Extension, condition: Condition): Patch => ({
  ...locked(extension),
  status: { conditions: withCondition(extension, condition) },
});
