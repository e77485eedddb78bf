// The messages of events, word for word.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { EVENT_SOURCE, type Occurrence, controllerEvent } from '../../../../pkg/upstream/controller/sync.ts';

const figures = { kind: 'refused', endpoints: 4, zones: 3 } as const;

describe('controllerEvent', () => {
  const cases: readonly { occurrence: Occurrence; message: string }[] = [
    { occurrence: { reason: 'ProportionalHints' }, message: 'Topology Aware Hints has been enabled' },
    {
      occurrence: { kind: 'refused', reason: 'InsufficientNodeInformation' },
      message: 'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes',
    },
    { occurrence: { ...figures, reason: 'NodesInOneZone' }, message: 'Nodes only ready in one zone' },
    {
      occurrence: { ...figures, reason: 'TooFewEndpoints' },
      message: 'Insufficient number of endpoints (4 endpoints, 3 zones)',
    },
    {
      occurrence: { ...figures, reason: 'OverloadThreshold' },
      message:
        'Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (4 endpoints, 3 zones)',
    },
    { occurrence: { reason: 'EndpointWithoutZone' }, message: 'One or more endpoints do not have a zone specified' },
    { occurrence: { reason: 'AnnotationRemoved' }, message: 'Topology Aware Hints has been disabled' },
  ];
  for (const { occurrence, message } of cases) {
    it(occurrence.reason, () => {
      const enabled = occurrence.reason === 'ProportionalHints';
      expect(controllerEvent(occurrence, 'IPv6')).to.deep.equal({
        type: enabled ? 'Normal' : 'Warning',
        reason: enabled ? 'TopologyAwareHintsEnabled' : 'TopologyAwareHintsDisabled',
        message: `${message}, addressType: IPv6`,
      });
    });
  }
  it('is recorded by the controller', () => expect(EVENT_SOURCE).to.equal('endpoint-slice-controller'));
});
