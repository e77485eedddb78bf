import { expect } from 'chai';
import { describe, it } from 'mocha';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_MANAGED,
  LABEL_STRATEGY,
} from '../../../../../pkg/apis/names.ts';
import { decideClusterSettings } from '../../../../../pkg/controllers/settings/decide/modes.ts';
import { service } from '../../../../fixtures/core.ts';
import { context } from '../support.ts';

const ZONES = ['a', 'a', 'b'];
const decide = (
  metadata: { labels?: Record<string, string>; annotations?: Record<string, string> },
  zones: readonly string[] = ZONES,
) => {
  const services = [service({ metadata: { name: 's', namespace: 'n', ...metadata } })];
  return decideClusterSettings({ namespace: 'n', zones, services, context: context() });
};
const mode = (value: string) => ({ [ANNOTATION_TOPOLOGY_MODE]: value });
const managed = (value: string) => ({ [LABEL_MANAGED]: value });

describe('decideClusterSettings', () => {
  const cases: {
    name: string;
    metadata: Parameters<typeof decide>[0];
    zones?: string[];
    result: string | undefined;
  }[] = [
    { name: 'nobody asks', metadata: {}, result: undefined },
    { name: 'the label asks', metadata: { labels: managed('true') }, result: 'Enabled' },
    { name: 'the annotation asks', metadata: { annotations: mode(`${GROUP}/same-zone`) }, result: 'Enabled' },
    {
      name: "the author's strategy label asks",
      metadata: { labels: { [LABEL_STRATEGY]: 'same-zone' } },
      result: 'Enabled',
    },
    { name: 'another domain is not ours', metadata: { annotations: mode('example.com/x') }, result: undefined },
    { name: 'a strategy that is none', metadata: { annotations: mode(`${GROUP}/fastest`) }, result: undefined },
    { name: 'upstream Auto alone is not ours', metadata: { annotations: mode('Auto') }, result: undefined },
    {
      name: 'the label excludes',
      metadata: { labels: managed('false'), annotations: mode(`${GROUP}/same-zone`) },
      result: 'Excluded',
    },
    { name: 'one zone', metadata: { labels: managed('true') }, zones: ['a', 'a'], result: 'SingleZone' },
    { name: 'no zone at all', metadata: { labels: managed('true') }, zones: [], result: 'SingleZone' },
    {
      name: 'nobody asks any more',
      metadata: { annotations: { [ANNOTATION_APPLIED]: '{"trafficDistribution":"PreferSameZone"}' } },
      result: 'NotInCatalogue',
    },
  ];
  for (const { name, metadata, zones = ZONES, result } of cases) {
    it(`${name}: ${result ?? 'untouched'}`, () => {
      const decided = decide(metadata, zones)?.objects[0]?.decision;
      expect(decided?.kind === 'refused' ? decided.reason : decided && 'Enabled').to.equal(result);
    });
  }

  it('turns the annotation into the label that slices inherit', () => {
    const { want } = decide({ annotations: mode(`${GROUP}/proportional`) })?.objects[0] ?? {};
    expect(want).to.deep.equal({ labels: { [LABEL_STRATEGY]: 'proportional' }, annotations: {} });
  });
});
