import { expect } from 'chai';
import { describe, it } from 'mocha';
import { decideOperation } from '../../../../pkg/gardener/extension/status.ts';
import { extensionIn, lastOperation, settled } from './support.ts';

const DELETED = { deletionTimestamp: '2026-01-01T00:00:00Z' };

interface Case {
  name: string;
  of: Parameters<typeof extensionIn>[0];
  firstSight?: boolean;
  shoot?: { metadata?: { generation?: number }; status?: { observedGeneration?: number; lastOperation?: object } };
  is: string;
}

const cases: Case[] = [
  { name: 'new, with the order', of: { operation: 'reconcile' }, is: 'Create' },
  { name: 'new, without an order', of: {}, is: 'Create' },
  { name: 'created half', of: { status: { lastOperation: lastOperation('Create', 'Processing') } }, is: 'Create' },
  {
    name: 'failed at creation, ordered again',
    of: { operation: 'reconcile', status: { lastOperation: lastOperation('Create', 'Error'), observedGeneration: 2 } },
    is: 'Create',
  },
  { name: 'settled', of: { status: settled }, is: 'settled' },
  { name: 'settled, seen for the first time', of: { status: settled }, firstSight: true, is: 'settled' },
  { name: 'the order to reconcile', of: { operation: 'reconcile', status: settled }, is: 'Reconcile' },
  { name: 'changed', of: { status: { ...settled, observedGeneration: 1 } }, is: 'Reconcile' },
  {
    name: 'begun by a process that is gone',
    of: { status: { ...settled, lastOperation: lastOperation('Reconcile', 'Processing') } },
    is: 'Reconcile',
  },
  {
    name: 'an error waits for a change',
    of: { status: { ...settled, lastOperation: lastOperation('Reconcile', 'Error') } },
    is: 'settled',
  },
  {
    name: 'an error of an earlier process is looked at once',
    of: { status: { ...settled, lastOperation: lastOperation('Reconcile', 'Error') } },
    firstSight: true,
    is: 'Reconcile',
  },
  { name: 'an order that we do not know', of: { operation: 'dance', status: settled }, is: 'settled' },
  { name: 'wait for the state', of: { operation: 'wait-for-state' }, is: 'waitForState' },
  {
    name: 'is deleted while the state is waited for',
    of: { operation: 'wait-for-state', metadata: DELETED, finalizer: true },
    is: 'Delete',
  },
  { name: 'restore', of: { operation: 'restore', status: {} }, is: 'Restore' },
  {
    name: 'restore what was migrated here before',
    of: { operation: 'restore', status: { ...settled, lastOperation: lastOperation('Migrate') } },
    is: 'Restore',
  },
  {
    name: 'restored half, the order lost',
    of: { status: { ...settled, lastOperation: lastOperation('Restore', 'Processing') } },
    is: 'Restore',
  },
  { name: 'restored', of: { status: { ...settled, lastOperation: lastOperation('Restore') } }, is: 'settled' },
  {
    name: 'after the restoration an order to reconcile',
    of: { operation: 'reconcile', status: { ...settled, lastOperation: lastOperation('Restore') } },
    is: 'Reconcile',
  },
  { name: 'migrate', of: { operation: 'migrate', status: settled }, is: 'Migrate' },
  {
    name: 'migrate goes before delete',
    of: { operation: 'migrate', metadata: DELETED, finalizer: true },
    is: 'Migrate',
  },
  {
    name: 'migrated half, the order lost',
    of: { status: { ...settled, lastOperation: lastOperation('Migrate', 'Processing') } },
    is: 'Migrate',
  },
  {
    name: 'migrated',
    of: { status: { observedGeneration: 1, lastOperation: lastOperation('Migrate') } },
    firstSight: true,
    is: 'migrated',
  },
  {
    name: 'migrated, then deleted: nothing is reverted',
    of: { metadata: DELETED, finalizer: true, status: { lastOperation: lastOperation('Migrate') } },
    is: 'migrated',
  },
  { name: 'deleted', of: { metadata: DELETED, finalizer: true, status: settled }, is: 'Delete' },
  { name: 'deleted, with an order', of: { operation: 'reconcile', metadata: DELETED, finalizer: true }, is: 'Delete' },
  { name: 'deleted, nothing of ours left', of: { metadata: DELETED, status: settled }, is: 'released' },
  {
    name: 'a Shoot that Gardener gave up on is left alone',
    of: { operation: 'reconcile' },
    shoot: { metadata: { generation: 4 }, status: { observedGeneration: 4, lastOperation: { state: 'Failed' } } },
    is: 'shootFailed',
  },
  {
    name: 'until somebody changed it',
    of: { operation: 'reconcile', status: settled },
    shoot: { metadata: { generation: 5 }, status: { observedGeneration: 4, lastOperation: { state: 'Failed' } } },
    is: 'Reconcile',
  },
];

describe('decideOperation', () => {
  for (const { name, of, firstSight = false, shoot, is } of cases) {
    it(`${name}: ${is}`, () => {
      const decision = decideOperation({ extension: extensionIn(of), shoot, firstSight });
      expect(decision.kind === 'run' ? decision.type : decision.why).to.equal(is);
    });
  }
});
