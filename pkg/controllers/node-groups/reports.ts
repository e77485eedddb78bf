// Reports the zone decision of each Node: once as an event and a log line, always as a count.
import { defined } from '../../apis/defined.ts';
import type { NodeGroup } from '../../apis/kubeedge.ts';
import type { KubernetesObject } from '../../apis/meta.ts';
import { nameOf } from '../../apis/object.ts';
import { NODE_GROUPS, apiVersionOf } from '../../apis/resources.ts';
import type { ZoneDecision } from '../../kubeedge/decide.ts';
import type { EventInput, EventRecorder } from '../../kubernetes/types.ts';
import type { Logger } from '../../telemetry/types.ts';

export interface ReportsOptions {
  events: Pick<EventRecorder, 'record'>;
  logger: Logger;
  group(name: string): NodeGroup | undefined;
}

export interface ZoneCount {
  /** Empty for a Node that is in no group any more. */
  readonly group: string;
  /** Reason of the decision. */
  readonly state: string;
  readonly nodes: number;
}

export interface Reports {
  /** What was decided, and done where it says so. */
  report(node: KubernetesObject, decision: ZoneDecision): void;
  forget(node: string): void;
  counts(): ZoneCount[];
}

interface Reported {
  readonly group: string;
  readonly state: string;
}

const PREFIX = 'Zone';

const regardingNode = ({ metadata }: KubernetesObject): EventInput['regarding'] => ({
  apiVersion: 'v1',
  kind: 'Node',
  name: metadata?.name ?? '',
  ...defined({ uid: metadata?.uid }),
});

export const createReports = ({ events, logger, group }: ReportsOptions): Reports => {
  const known = new Map<string, Reported>();

  const regardingGroup = (name: string): EventInput['regarding'] => {
    const uid = group(name)?.metadata?.uid;
    return {
      apiVersion: apiVersionOf(NODE_GROUPS),
      kind: NODE_GROUPS.kind,
      name,
      ...defined({ uid }),
    };
  };

  /** The author of the group looks there; the Node's events show both what was done and what was not. */
  const record = (node: KubernetesObject, decision: Exclude<ZoneDecision, { kind: 'none' | 'settled' }>): void => {
    const refused = decision.kind === 'refused';
    const rest = {
      type: refused ? 'Warning' : 'Normal',
      reason: refused ? decision.reason : `${PREFIX}${decision.reason}`,
      message: decision.message,
    } as const;
    events.record({ regarding: regardingNode(node), ...rest });
    if (refused) for (const name of decision.groups) events.record({ regarding: regardingGroup(name), ...rest });
    logger[refused ? 'warn' : 'info'](refused ? 'zone refused' : 'zone written', {
      node: node.metadata?.name,
      reason: decision.reason,
      detail: decision.message,
    });
  };

  return {
    report(node, decision) {
      const name = nameOf(node);
      if (decision.kind === 'none') {
        known.delete(name);
        return;
      }
      const before = known.get(name);
      const now = { group: decision.groups.join(), state: decision.reason };
      const done = decision.kind === 'write' && (decision.reason === 'Restored' || decision.reason === 'Released');
      if (done) known.delete(name);
      else known.set(name, now);
      if (decision.kind === 'settled') return;
      if (decision.kind === 'write' || before?.state !== now.state || before.group !== now.group)
        record(node, decision);
    },
    forget: (node) => void known.delete(node),
    counts() {
      const counts = new Map<string, ZoneCount>();
      for (const { group: of, state } of known.values()) {
        const key = `${of}\n${state}`;
        counts.set(key, { group: of, state, nodes: (counts.get(key)?.nodes ?? 0) + 1 });
      }
      return [...counts.values()];
    },
  };
};
