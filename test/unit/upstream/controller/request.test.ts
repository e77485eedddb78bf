// What a Service asks for, or why what it says means nothing.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { hintRequest } from '../../../../pkg/upstream/controller/sync.ts';
import { HINTS, MODE, aService, minor } from '../support.ts';

describe('hintRequest', () => {
  for (const { name, annotations = {}, value, version = 36, gates = {}, mode, reason } of [
    { name: 'nothing', mode: 'none', reason: 'NotRequested' },
    { name: 'Auto', annotations: { [MODE]: 'Auto' }, mode: 'proportional', reason: 'ProportionalHints' },
    {
      name: 'Auto and the field',
      annotations: { [MODE]: 'Auto' },
      value: 'PreferClose',
      mode: 'proportional',
      reason: 'AnnotationWins',
    },
    { name: 'AUTO', annotations: { [MODE]: 'AUTO' }, mode: 'none', reason: 'AnnotationNotRecognized' },
    {
      name: 'AUTO and the field',
      annotations: { [MODE]: 'AUTO' },
      value: 'PreferClose',
      mode: 'same-zone',
      reason: 'SameZoneRequested',
    },
    {
      name: 'the newer key in 1.26',
      annotations: { [MODE]: 'Auto' },
      version: 26,
      mode: 'none',
      reason: 'AnnotationKeyNotRead',
    },
    {
      name: 'gate off by default in 1.23',
      annotations: { [HINTS]: 'auto' },
      version: 23,
      mode: 'none',
      reason: 'HintsControllerGateOff',
    },
    {
      name: 'gate off, field set',
      annotations: { [HINTS]: 'auto' },
      value: 'PreferClose',
      version: 31,
      gates: { TopologyAwareHints: false },
      mode: 'none',
      reason: 'HintsControllerGateOff',
    },
    { name: 'PreferClose', value: 'PreferClose', mode: 'same-zone', reason: 'SameZoneRequested' },
    { name: 'PreferSameNode', value: 'PreferSameNode', mode: 'same-node', reason: 'SameNodeRequested' },
    {
      name: 'PreferSameZone in 1.33',
      value: 'PreferSameZone',
      version: 33,
      mode: 'none',
      reason: 'TrafficDistributionNotRecognized',
    },
    { name: 'a value from the future', value: 'PreferMoon', mode: 'none', reason: 'TrafficDistributionNotRecognized' },
  ]) {
    it(`${name}: ${reason}`, () => {
      const result = hintRequest(aService(annotations, value), minor(version), gates);
      expect(result).to.include({ mode, reason });
      expect(result.message)
        .to.include('Service default/server')
        .and.to.not.match(/\{\w+\}/);
    });
  }
});
