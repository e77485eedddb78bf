// Permissions of the chart that its installation test cannot be made to use at will: why they are there, and what shows their use.
import { FLOW, RECONCILER } from './chart.ts';

/** What no run can be made to do at will, and the test that shows the use of it. */
interface Elsewhere {
  readonly permissions: readonly string[];
  readonly why: string;
  readonly shownBy: { readonly file: string; readonly test: string };
  /** Whether this run may make use of it after all. */
  readonly sometimes?: boolean;
}

export const ELSEWHERE: readonly Elsewhere[] = [
  {
    permissions: [
      `${RECONCILER} patch zoneevacuations/status.topology.extensions.gardener.cloud`,
      `${RECONCILER} list flowpolicies.topology.extensions.gardener.cloud`,
    ],
    why: 'no zone is evacuated while the chart is installed',
    shownBy: {
      file: 'test/e2e/suites/evacuate.test.ts',
      test: 'sends no new connection there, from anywhere, in any family',
    },
  },
  {
    permissions: [`${RECONCILER} get services`],
    why: '--cleanup reads again what somebody else wrote at the same moment',
    shownBy: {
      file: 'test/unit/controllers/settings/apply.test.ts',
      test: 'reads the object again after a conflict',
    },
    sometimes: true,
  },
  {
    permissions: ['services', 'endpointslices.discovery.k8s.io'].map((resource) => `${FLOW} get ${resource}`),
    why: '--cleanup reads again what somebody else wrote at the same moment',
    shownBy: { file: 'test/unit/controllers/flow/label.test.ts', test: 'reads ${plural} again after a conflict' },
    sometimes: true,
  },
  {
    permissions: [`${FLOW} list persistentvolumes`],
    why: 'a Node of a NodeGroup that has a zone already, with takeover, and Pods with volumes',
    shownBy: {
      file: 'test/e2e/suites/kubeedge.test.ts',
      test: 'leaves it alone also with takeover, while a Pod there uses a volume of the zone',
    },
  },
  {
    permissions: [RECONCILER, FLOW].map((name) => `${name} patch events`),
    why: 'an event that repeats is counted in the one that there is',
    shownBy: { file: 'test/unit/kubernetes/events.test.ts', test: 'counts repeats on the same Event' },
    sometimes: true,
  },
];
