// Priority and fairness that leaves nearly nothing to some users, so that the API server answers them with 429.
import { setTimeout as pause } from 'node:timers/promises';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { LEASES } from '../../pkg/apis/resources.ts';
import type { Resource } from '../../pkg/apis/resources.ts';
import { createClient } from '../../pkg/kubernetes/client.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { ApiError } from '../../pkg/kubernetes/errors.ts';
import type { Bed } from './bed/index.ts';
import { waitFor } from './bed/wait-for.ts';

const group = 'flowcontrol.apiserver.k8s.io';
const LEVELS: Resource = {
  group,
  version: 'v1',
  kind: 'PriorityLevelConfiguration',
  plural: 'prioritylevelconfigurations',
  namespaced: false,
};
const SCHEMAS: Resource = { group, version: 'v1', kind: 'FlowSchema', plural: 'flowschemas', namespaced: false };

const name = 'tiny';
const LEASES_APART = 'tiny-leases';

/** Shares of all concurrency: none, which leaves one seat, or as many as the server's own levels have. */
const limits = (tiny: boolean): object => ({
  nominalConcurrencyShares: tiny ? 0 : 30,
  borrowingLimitPercent: 0,
  lendablePercent: 0,
  limitResponse: { type: 'Reject' },
});

interface Schema {
  readonly name: string;
  readonly level: string;
  /** The least one decides. */
  readonly precedence: number;
  readonly users: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
}

const schemaOf = (of: Schema): KubernetesObject & { spec: object } => ({
  apiVersion: `${group}/v1`,
  kind: SCHEMAS.kind,
  metadata: { name: of.name },
  spec: {
    priorityLevelConfiguration: { name: of.level },
    matchingPrecedence: of.precedence,
    rules: [
      {
        subjects: of.users.map((user) => ({ kind: 'User', user: { name: user } })),
        resourceRules: [
          { verbs: ['*'], apiGroups: of.apiGroups, resources: of.resources, clusterScope: true, namespaces: ['*'] },
        ],
      },
    ],
  },
});

/** Leaves one seat to all requests of these users, until `liftLimit`; their Leases are renewed as ever. */
export const limitUsers = async (client: Client, users: readonly string[]): Promise<void> => {
  const level: KubernetesObject & { spec: object } = {
    apiVersion: `${group}/v1`,
    kind: LEVELS.kind,
    metadata: { name },
    spec: { type: 'Limited', limited: limits(true) },
  };
  const leases = { apiGroups: [LEASES.group], resources: [LEASES.plural] };
  const all = { apiGroups: ['*'], resources: ['*'] };
  await client.create(LEVELS, level);
  // The level of the server's own; 1 is the precedence of its schema `exempt` alone.
  await client.create(
    SCHEMAS,
    schemaOf({ name: LEASES_APART, level: 'leader-election', precedence: 2, users, ...leases }),
  );
  await client.create(SCHEMAS, schemaOf({ name, level: name, precedence: 3, users, ...all }));
};

export const liftLimit = async (client: Client): Promise<void> => {
  await client.patch(LEVELS, { name }, 'merge', { spec: { limited: limits(false) } });
};

/** The server waits three seconds for a version that is not there yet, and the request keeps its seat meanwhile. */
const SLOW_REQUEST = '/api/v1/services?resourceVersion=999999999999&resourceVersionMatch=NotOlderThan';

/** Occupies the seat as one of the limited users, so that everybody else's requests find none. */
export const occupySeat = async (bed: Bed, user: string): Promise<{ stop(): Promise<void> }> => {
  const kubeconfig = await bed.kubeconfig({ user, groups: ['occupants'] });
  const client = createClient({
    config: loadKubeConfig({ kubeconfig }),
    userAgent: 'occupant',
    retry: { maxRetries: 0, maxDelayMs: 0 },
  });
  const ending = new AbortController();
  const { signal } = ending;
  let refused = 0;
  const lane = async (): Promise<void> => {
    while (!signal.aborted) {
      await client.raw(SLOW_REQUEST, signal).catch((error: unknown) => {
        if (error instanceof ApiError && error.status === 429) refused += 1;
      });
      await pause(20, undefined, { signal }).catch(() => undefined);
    }
  };
  const running = Promise.all([lane(), lane(), lane()]);
  await waitFor(
    'the only seat taken, and the limit in force',
    () => refused,
    (count) => count > 0,
  );
  return {
    async stop() {
      ending.abort();
      await running;
      await client.close();
    },
  };
};
