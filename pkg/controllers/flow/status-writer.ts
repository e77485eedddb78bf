// Writes the status of FlowPolicies when it says something new, and creates an empty policy where a Service has none.
import type { Service } from '../../apis/core.ts';
import { FLOW_POLICY_API_VERSION } from '../../apis/flow-policy-schema.ts';
import type { FlowPolicy, FlowPolicyStatus } from '../../apis/flow-policy.ts';
import type { KubernetesObject } from '../../apis/meta.ts';
import { COMMANDS, LABEL_MANAGED_BY } from '../../apis/names.ts';
import { refOf } from '../../apis/object.ts';
import { FLOW_POLICIES } from '../../apis/resources.ts';
import { newsIn } from '../../flow/assemble/status.ts';
import { isAlreadyExists, isForbidden, isNotFound } from '../../kubernetes/errors.ts';
import type { Client, Clock } from '../../kubernetes/types.ts';
import type { Logger } from '../../telemetry/types.ts';

export interface StatusWriterOptions {
  client: Pick<Client, 'create' | 'patch' | 'delete'>;
  clock: Pick<Clock, 'monotonic'>;
  /** Least milliseconds between two writes that only bring new figures. */
  minIntervalMs: number;
  /** Create a policy where there is none. */
  create: boolean;
  /** Whether the definition is installed: without it nothing is written. */
  available(): boolean;
  logger: Logger;
}

export interface StatusWriter {
  /** What is known to be written: by this process, else what the policy carries. */
  last(key: string, policy: FlowPolicy | undefined): FlowPolicyStatus | undefined;
  /** Writes the status if there is need; true if it was written. Failures are logged, and tried again with the next reconcile. */
  write(subject: StatusSubject, status: FlowPolicyStatus, signal: AbortSignal): Promise<boolean>;
  /** Removes a policy of our own that has no spec. */
  remove(policy: FlowPolicy, signal: AbortSignal): Promise<void>;
  forget(key: string): void;
}

export interface StatusSubject {
  readonly key: string;
  readonly service: Service;
  readonly policy: FlowPolicy | undefined;
}

interface Written {
  readonly status: FlowPolicyStatus;
  readonly at: number;
}

/** Created by this controller, and its spec is still empty. */
export const isOwnPolicy = ({ metadata, spec }: FlowPolicy): boolean =>
  metadata.labels?.[LABEL_MANAGED_BY] === COMMANDS.flowController && Object.keys(spec ?? {}).length === 0;

const emptyPolicy = ({ metadata }: Service): FlowPolicy & KubernetesObject => {
  const { name = '', namespace = '', uid = '' } = metadata ?? {};
  return {
    apiVersion: FLOW_POLICY_API_VERSION,
    kind: FLOW_POLICIES.kind,
    metadata: {
      name,
      namespace,
      labels: { [LABEL_MANAGED_BY]: COMMANDS.flowController },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Service', name, uid }],
    },
    spec: {},
  };
};

export const createStatusWriter = (options: StatusWriterOptions): StatusWriter => {
  const { client, clock, minIntervalMs, create, logger } = options;
  const known = new Map<string, Written>();

  /** False where there is none, and none is to be. */
  const ensure = async ({ service, policy }: StatusSubject, signal: AbortSignal): Promise<boolean> => {
    if (policy !== undefined) return true;
    if (!create || service.metadata?.uid === undefined) return false;
    try {
      await client.create(FLOW_POLICIES, emptyPolicy(service), {}, signal);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    return true;
  };

  const due = (key: string, previous: FlowPolicyStatus | undefined, next: FlowPolicyStatus): boolean => {
    const news = newsIn(previous, next);
    if (news === 'now') return true;
    const at = known.get(key)?.at ?? -Infinity;
    return news === 'later' && clock.monotonic() - at >= minIntervalMs;
  };

  return {
    last: (key, policy) => known.get(key)?.status ?? policy?.status,
    async write(subject, status, signal) {
      const { key, service, policy } = subject;
      if (!options.available()) return false;
      const previous = policy === undefined && !create ? undefined : (known.get(key)?.status ?? policy?.status);
      // A policy that was deleted takes its status along.
      const lost = policy === undefined && known.has(key);
      if (!due(key, previous, status) && !lost) return false;
      const { namespace, name } = refOf(service);
      const patch = [{ op: 'add', path: '/status', value: status }];
      try {
        if (!(await ensure(subject, signal))) return false;
        await client.patch(FLOW_POLICIES, { namespace, name }, 'json', patch, { subresource: 'status' }, signal);
        known.set(key, { status, at: clock.monotonic() });
        return true;
      } catch (error) {
        signal.throwIfAborted();
        // The definition is not installed, or the namespace is going away.
        if (!isNotFound(error) && !isForbidden(error)) logger.warn('cannot write the status', { service: key, error });
        return false;
      }
    },
    async remove({ metadata }, signal) {
      const { namespace = '', name = '', uid } = metadata;
      const preconditions = uid === undefined ? {} : { preconditions: { uid } };
      await client.delete(FLOW_POLICIES, { namespace, name }, preconditions, signal).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    },
    forget: (key) => void known.delete(key),
  };
};
