// Tests of what a Service asks the flow controller for.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ANNOTATION_TOPOLOGY_MODE, GROUP, LABEL_STRATEGY } from '../../../../pkg/apis/names.ts';
import { askOf } from '../../../../pkg/flow/assemble/slice.ts';
import { service } from '../../../fixtures/core.ts';
import { flowEndpoint, flowSlice } from './support.ts';

const labelled = flowSlice([], { strategy: 'load-aware' });
const bare = flowSlice([], { strategy: '' });
const asking = service({ metadata: { labels: { [LABEL_STRATEGY]: 'load-aware' } } });
const { selector: _, ...withoutSelector } = asking.spec ?? {};

describe('what a Service asks for', () => {
  it('is nothing without label and annotation, and nothing here for same-zone', () => {
    const ask = { slices: [labelled], observeOnly: false };
    expect(askOf({ ...ask, service: service() })).to.deep.equal({ kind: 'none' });
    const other = service({ metadata: { labels: { [LABEL_STRATEGY]: 'same-zone' } } });
    expect(askOf({ ...ask, service: other })).to.deep.equal({ kind: 'none' });
  });

  it('is a plan by label or by annotation, for the slices that carry the label', () => {
    for (const metadata of [
      { labels: { [LABEL_STRATEGY]: 'proportional' } },
      { annotations: { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/proportional` } },
    ]) {
      const slices = [bare, flowSlice([], { strategy: 'proportional' })];
      expect(askOf({ service: service({ metadata }), slices, observeOnly: false })).to.deep.equal({
        kind: 'planned',
        strategy: 'proportional',
        writable: [slices[1]],
      });
    }
  });

  const refused: (readonly [
    name: string,
    input: Partial<Parameters<typeof askOf>[0]>,
    reason: string,
    says: RegExp,
  ])[] = [
    [
      'Auto beside it',
      {
        service: service({
          metadata: { labels: { [LABEL_STRATEGY]: 'load-aware' }, annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'Auto' } },
        }),
      },
      'ConflictingMode',
      /default\/server asks for load-aware, but .*topology-mode.* is "Auto"/,
    ],
    ['slices without label', { slices: [bare] }, 'WaitingForSlices', /carries its strategy label yet/],
    [
      'slices without label, and no selector',
      { slices: [bare], service: { ...asking, spec: withoutSelector } },
      'NotMirrored',
      /which has no selector/,
    ],
  ];
  for (const [name, input, reason, says] of refused) {
    it(`is refused with ${name}`, () => {
      const ask = askOf({ service: asking, slices: [labelled], observeOnly: false, ...input });
      expect(ask).to.deep.include({ kind: 'refused', strategy: 'load-aware', reason });
      expect(ask.kind === 'refused' && ask.message).to.match(says);
    });
  }

  it('is refused without selector while one slice with endpoints lacks the label', () => {
    const plain = { ...asking, spec: withoutSelector };
    const other = flowSlice([flowEndpoint('a')], { strategy: '' });
    const ask = askOf({ service: plain, slices: [labelled, other], observeOnly: false });
    expect(ask).to.deep.include({ kind: 'refused', reason: 'NotMirrored' });
    const all = askOf({ service: plain, slices: [labelled, bare], observeOnly: false });
    expect(all, 'an empty slice has nobody to hint').to.deep.include({ kind: 'planned', writable: [labelled] });
  });

  it('needs no label on slices while nothing is written', () => {
    expect(askOf({ service: asking, slices: [bare], observeOnly: true })).to.deep.include({
      kind: 'planned',
      writable: [bare],
    });
  });
});
