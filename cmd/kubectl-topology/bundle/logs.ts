// SPDX-License-Identifier: Apache-2.0
// The last lines that the Pods of an installation have logged, masked and bounded.
import type { ComponentPod } from '../../../pkg/diagnosis/status/evidence.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { whyNoAnswer } from '../status/serving.ts';
import { maskText } from './mask.ts';

export interface PodLog {
  /** `namespace/pod.log`, with `.previous` before the ending for the run before. */
  readonly name: string;
  readonly text: string;
}

export interface Logs {
  readonly logs: readonly PodLog[];
  /** Which are missing, and why. */
  readonly leftOut: readonly string[];
}

const MAX_PODS = 30;
const TAIL_LINES = 500;
const LIMIT_BYTES = 1_048_576;
const KEPT_BYTES = 262_144;
const PATIENCE_MS = 15_000;

/** The end of the text, from a line's beginning. Masked before it is cut, so that no key is cut in two. */
const lastPart = (text: string): string => {
  const masked = Buffer.from(maskText(text));
  if (masked.length <= KEPT_BYTES) return masked.toString('utf8');
  const end = masked.subarray(masked.length - KEPT_BYTES);
  return end.subarray(end.indexOf(0x0a) + 1).toString('utf8');
};

const pathOf = ({ namespace, name, component }: ComponentPod, previous: boolean): string => {
  const query = new URLSearchParams({
    container: component,
    tailLines: String(TAIL_LINES),
    limitBytes: String(LIMIT_BYTES),
    timestamps: 'true',
    ...(previous ? { previous: 'true' } : {}),
  });
  const [where, who] = [encodeURIComponent(namespace), encodeURIComponent(name)];
  return `/api/v1/namespaces/${where}/pods/${who}/log?${query.toString()}`;
};

/** Of each Pod, and of the run before where its container has been restarted. */
export const readLogs = async (
  client: Pick<Client, 'text'>,
  pods: readonly ComponentPod[],
  signal: AbortSignal,
): Promise<Logs> => {
  const logs: PodLog[] = [];
  const leftOut: string[] = pods
    .slice(MAX_PODS)
    .map(({ namespace, name }) => `log of Pod ${namespace}/${name}: too many Pods`);
  for (const pod of pods.slice(0, MAX_PODS)) {
    for (const previous of pod.restarts > 0 ? [false, true] : [false]) {
      const name = `${pod.namespace}/${pod.name}${previous ? '.previous' : ''}.log`;
      try {
        const within = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
        logs.push({ name, text: lastPart(await client.text(pathOf(pod, previous), within)) });
      } catch (error) {
        leftOut.push(`log ${name}: ${whyNoAnswer(error, signal)}`);
      }
    }
  }
  return { logs, leftOut };
};
