import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Condition } from '../../../../pkg/apis/meta.ts';
import { ANNOTATION_OPERATION, CONDITION_EFFECTIVE, EXTENSION_FINALIZER } from '../../../../pkg/apis/names.ts';
import { endPatch, letGoPatch, misconfiguration, takeUpPatch } from '../../../../pkg/gardener/extension/status.ts';
import type { OutcomeInput } from '../../../../pkg/gardener/extension/status.ts';
import { NAME, NOW, NOW_TEXT, extensionIn, governing, read, readingOf, settled } from './support.ts';

const LOCK = { resourceVersion: '7' };
const GONE = { [ANNOTATION_OPERATION]: null };
const OTHER = 'example.com/other';
const others: Condition = { type: 'Other', status: 'True', reason: 'Because', message: 'of others' };
const ours: Condition = { type: CONDITION_EFFECTIVE, status: 'True', reason: 'Effective', message: 'all' };

describe('patches of an Extension', () => {
  it('end with success: the generation that was looked at, no error, conditions of others kept', () => {
    const before = extensionIn({ status: { ...settled, conditions: [others, { ...ours, status: 'False' }] } });
    expect(endPatch(before, 'Reconcile', undefined, ours, NOW)).to.deep.equal({
      metadata: LOCK,
      status: {
        lastOperation: {
          type: 'Reconcile',
          state: 'Succeeded',
          progress: 100,
          description: 'Successfully reconciled Extension',
          lastUpdateTime: NOW_TEXT,
        },
        lastError: null,
        observedGeneration: 2,
        conditions: [others, ours],
      },
    });
  });

  it("end with an error that is the user's to mend", () => {
    const patch = endPatch(extensionIn(), 'Create', 'x', undefined, NOW);
    expect(patch).to.deep.nested.include({
      'status.lastOperation.state': 'Error',
      'status.lastError.codes': ['ERR_CONFIGURATION_PROBLEM'],
      'status.lastError.description': 'Error creating Extension: x',
    });
  });

  const metadata = (patch: { metadata?: unknown } | undefined): unknown => patch?.metadata;
  const cases: readonly (readonly [name: string, patch: unknown, is: unknown])[] = [
    [
      'take up: finalizer comes, order to reconcile goes',
      metadata(takeUpPatch(extensionIn({ operation: 'reconcile' }), 'Create')),
      { ...LOCK, annotations: GONE, finalizers: [EXTENSION_FINALIZER] },
    ],
    [
      'take up: only the order, where the finalizer is there',
      metadata(takeUpPatch(extensionIn({ operation: 'reconcile', finalizer: true }), 'Reconcile')),
      { ...LOCK, annotations: GONE },
    ],
    [
      'take up: the order to restore stays until the end',
      metadata(takeUpPatch(extensionIn({ operation: 'restore' }), 'Restore')),
      { ...LOCK, finalizers: [EXTENSION_FINALIZER] },
    ],
    ['take up: nothing to write', takeUpPatch(extensionIn({ finalizer: true }), 'Reconcile'), undefined],
    ['take up: no finalizer for who leaves', takeUpPatch(extensionIn({ operation: 'migrate' }), 'Migrate'), undefined],
    ['take up: nor for who is deleted', takeUpPatch(extensionIn(), 'Delete'), undefined],
    [
      'let go: Delete, and the finalizers of others stay',
      metadata(letGoPatch(extensionIn({ finalizer: true }), 'Delete')),
      { ...LOCK, finalizers: [OTHER] },
    ],
    [
      'let go: Migrate, in one write with its order',
      metadata(letGoPatch(extensionIn({ operation: 'migrate', finalizer: true }), 'Migrate')),
      { ...LOCK, annotations: GONE, finalizers: [OTHER] },
    ],
    [
      'let go: Restore keeps its finalizer',
      metadata(letGoPatch(extensionIn({ operation: 'restore', finalizer: true }), 'Restore')),
      { ...LOCK, annotations: GONE },
    ],
    [
      'let go: another order that came meanwhile stays',
      letGoPatch(extensionIn({ operation: 'reconcile', finalizer: true }), 'Restore'),
      undefined,
    ],
    ['let go: Reconcile lets nothing go', letGoPatch(extensionIn({ finalizer: true }), 'Reconcile'), undefined],
  ];
  for (const [name, patch, is] of cases) it(name, () => expect(patch).to.deep.equal(is));
});

const HOME = 'shoot--foo--bar';

const problemOf = (input: Partial<OutcomeInput>) =>
  misconfiguration({
    extension: extensionIn(),
    type: 'Reconcile',
    namespace: HOME,
    governing: governing({}),
    ...input,
  });

describe('what is wrong with an Extension', () => {
  it('is not that it has no effect yet, nor that it is looked at before the cache has the Extension', () => {
    const reading = readingOf({ services: [{ name: 'not-there' }] });
    expect(problemOf({ extension: extensionIn({ reading }) })).to.equal(undefined);
    expect(problemOf({ governing: undefined })).to.equal(undefined);
  });

  const wrong: readonly (readonly [name: string, input: Partial<OutcomeInput>, says: string])[] = [
    [
      'a configuration that is no RoutingConfig',
      { extension: extensionIn({ reading: read({ kind: 'x' }) }) },
      `Extension ${NAME}: spec.providerConfig.apiVersion is required`,
    ],
    [
      'one that its class forbids',
      { extension: extensionIn({ reading: readingOf({ exclude: [{ name: 'a', namespace: 'b' }] }) }) },
      'spec.providerConfig.exclude[0].namespace must be left out',
    ],
    [
      'a second one of the class',
      { governing: governing({}, { name: `${HOME}/first` }) },
      `Extension ${HOME}/first of the same class applies here; remove one`,
    ],
    [
      'one that stands where its class is not read',
      { extension: extensionIn({ spec: { class: 'seed' } }), namespace: 'garden' },
      'class seed applies in namespace garden only',
    ],
  ];
  for (const [name, input, says] of wrong) {
    it(`is named: ${name}`, () => expect(problemOf(input)).to.contain(says));
    for (const type of ['Delete', 'Migrate'] as const) {
      it(`does not keep it from leaving (${type}): ${name}`, () =>
        expect(problemOf({ ...input, type })).to.equal(undefined));
    }
  }
});
