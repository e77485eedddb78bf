// Which operation an Extension waits for, by the contract between Gardener and its extensions. Pure.
//
// Sources: gardener docs/extensions/reconcile-trigger.md (when an extension acts), docs/extensions/migration.md (migrate and
// restore take their annotation away at the end, reconcile at the beginning), and the library's default predicates.
import type { Extension, OperationType } from '../../apis/extension.ts';
import type { Shoot } from '../../apis/gardener.ts';
import { ANNOTATION_OPERATION, EXTENSION_FINALIZER } from '../../apis/names.ts';

/** What is to be done with an Extension now. */
export type OperationDecision =
  | {
      readonly kind: 'none';
      /** `settled`: nothing was asked for; the others: Gardener wants us to leave it alone. */
      readonly why: 'settled' | 'waitForState' | 'shootFailed' | 'migrated' | 'released';
    }
  | { readonly kind: 'run'; readonly type: OperationType };

export interface OperationInput {
  readonly extension: Extension;
  /** The Shoot of the namespace as its Cluster carries it; undefined for classes without one, and before there is one. */
  readonly shoot: Pick<Shoot, 'metadata' | 'status'> | undefined;
  /** This process has not looked at it before: what an earlier one began, or failed at, is taken up. */
  readonly firstSight: boolean;
}

export const hasFinalizer = ({ metadata }: Extension): boolean =>
  metadata?.finalizers?.includes(EXTENSION_FINALIZER) === true;

export const operationOf = ({ metadata }: Extension): string | undefined =>
  metadata?.annotations?.[ANNOTATION_OPERATION];

/** Gardener gave up on this generation of the Shoot: nothing is done until it changes. */
const isFailed = (shoot: OperationInput['shoot']): boolean =>
  shoot?.status?.lastOperation?.state === 'Failed' && shoot.metadata?.generation === shoot.status.observedGeneration;

const run = (type: OperationType): OperationDecision => ({ kind: 'run', type });
const none = (why: Extract<OperationDecision, { kind: 'none' }>['why']): OperationDecision => ({ kind: 'none', why });

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
  if (observedGeneration !== metadata?.generation) return true;
  return firstSight && lastOperation.state !== 'Succeeded';
};

export const decideOperation = ({ extension, shoot, firstSight }: OperationInput): OperationDecision => {
  const annotation = operationOf(extension);
  const last = extension.status?.lastOperation;
  // What is deleted has no state to wait for.
  const deleted = extension.metadata?.deletionTimestamp !== undefined;
  if (annotation === 'wait-for-state' && !deleted) return none('waitForState');
  if (isFailed(shoot)) return none('shootFailed');
  if (annotation === 'migrate') return run('Migrate');
  if (last?.type === 'Migrate' && annotation !== 'restore') {
    return last.state === 'Succeeded' ? none('migrated') : run('Migrate');
  }
  if (deleted) {
    return hasFinalizer(extension) ? run('Delete') : none('released');
  }
  if (annotation === 'restore') return run('Restore');
  if (annotation === 'reconcile' || isDue(extension, firstSight)) return run(typeToGoOnWith(extension));
  return none('settled');
};
