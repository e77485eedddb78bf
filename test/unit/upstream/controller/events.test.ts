// The messages of events, word for word.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { EVENT_SOURCE, type Occurrence, controllerEvent } from '../../../../pkg/upstream/controller/sync.ts';

const figures = { kind: 'refused', endpoints: 4, zones: 3 } as const;

describe('controllerEvent', () => {
  const cases: (readonly [occurrence: Occurrence, message: string])[] = [
    [{ reason: 'ProportionalHints' }, 'Topology Aware Hints has been enabled'],
    [
      { kind: 'refused', reason: 'InsufficientNodeInformation' },
      'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes',
    ],
    [{ ...figures, reason: 'NodesInOneZone' }, 'Nodes only ready in one zone'],
    [{ ...figures, reason: 'TooFewEndpoints' }, 'Insufficient number of endpoints (4 endpoints, 3 zones)'],
    [
      { ...figures, reason: 'OverloadThreshold' },
      'Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (4 endpoints, 3 zones)',
    ],
    [{ reason: 'EndpointWithoutZone' }, 'One or more endpoints do not have a zone specified'],
    [{ reason: 'AnnotationRemoved' }, 'Topology Aware Hints has been disabled'],
  ];
  for (const [occurrence, message] of cases) {
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
