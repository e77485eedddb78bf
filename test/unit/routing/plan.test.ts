// Plans that set something on a single object: what is set, what stays, and who owns it.
import { describe } from 'mocha';
import { strategySettings } from '../../../pkg/routing/plan.ts';
import { APPLIED, CONSIDER, HINTS, MODE, STRATEGY } from './support.ts';
import { check, on } from './plan-support.ts';

const SAME_ZONE = 'topology.extensions.gardener.cloud/same-zone';

describe('planSettings on: a bare Service', () => {
  check([
    {
      name: '1.26: annotation and label',
      object: {},
      want: on(26),
      patch: {
        metadata: {
          labels: { [CONSIDER]: 'true' },
          annotations: {
            [HINTS]: 'auto',
            [APPLIED]: { labels: { [CONSIDER]: 'true' }, annotations: { [HINTS]: 'auto' } },
          },
        },
      },
    },
    {
      name: '1.31: field and label',
      object: {},
      want: on(31),
      patch: {
        metadata: {
          labels: { [CONSIDER]: 'true' },
          annotations: { [APPLIED]: { labels: { [CONSIDER]: 'true' }, trafficDistribution: 'PreferClose' } },
        },
        spec: { trafficDistribution: 'PreferClose' },
      },
    },
    {
      name: '1.34: the field alone',
      object: {},
      want: on(34),
      patch: {
        metadata: { annotations: { [APPLIED]: { trafficDistribution: 'PreferSameZone' } } },
        spec: { trafficDistribution: 'PreferSameZone' },
      },
    },
    {
      name: 'while a kubelet is 1.30 or older: the domain-prefixed annotation beside the field',
      object: {},
      want: on(34),
      mixedKubelets: true,
      patch: {
        metadata: {
          annotations: {
            [MODE]: SAME_ZONE,
            [APPLIED]: { annotations: { [MODE]: SAME_ZONE }, trafficDistribution: 'PreferSameZone' },
          },
        },
        spec: { trafficDistribution: 'PreferSameZone' },
      },
    },
    {
      name: 'a strategy: its label',
      object: {},
      want: strategySettings({ major: 1, minor: 34 }, 'load-aware'),
      patch: {
        metadata: {
          labels: { [STRATEGY]: 'load-aware' },
          annotations: { [APPLIED]: { labels: { [STRATEGY]: 'load-aware' } } },
        },
      },
    },
  ]);
});

describe('planSettings on: what is there already', () => {
  check([
    {
      name: "Gardener's own equal value: nothing to do",
      object: { field: 'PreferSameZone' },
      want: on(34),
      patch: undefined,
    },
    {
      name: 'our own equal value: nothing to do',
      object: { field: 'PreferSameZone', applied: { trafficDistribution: 'PreferSameZone' } },
      want: on(34),
      patch: undefined,
    },
    {
      name: "Gardener's documented form up to 1.30: nothing to do",
      object: { labels: { [CONSIDER]: 'true' }, annotations: { [MODE]: 'auto' } },
      want: on(30),
      patch: undefined,
    },
    {
      name: 'the other spelling of auto is as good',
      object: { labels: { [CONSIDER]: 'true' }, annotations: { [MODE]: 'Auto' } },
      want: on(30),
      patch: undefined,
    },
    {
      name: 'half of it: only the rest is set and claimed',
      object: { field: 'PreferClose' },
      want: on(31),
      patch: {
        metadata: {
          labels: { [CONSIDER]: 'true' },
          annotations: { [APPLIED]: { labels: { [CONSIDER]: 'true' } } },
        },
      },
    },
    {
      name: 'another order of keys in applied is no reason to write',
      object: {
        field: 'PreferClose',
        labels: { [CONSIDER]: 'true' },
        applied: { trafficDistribution: 'PreferClose', labels: { [CONSIDER]: 'true' }, annotations: {} },
      },
      want: on(31),
      patch: undefined,
    },
    {
      name: 'the owner has since set what is wanted: the claim is dropped',
      object: { field: 'PreferSameZone', applied: { trafficDistribution: 'PreferClose' } },
      want: on(34),
      patch: { metadata: { annotations: { [APPLIED]: null } } },
    },
  ]);
});
