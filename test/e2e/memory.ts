// Memory of the commands under test, and what the chart gives them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { parseQuantity } from '../../pkg/apis/quantity.ts';
import { parseMemory } from '../bench/processes.ts';
import type { Memory } from '../bench/processes.ts';
import type { Component } from './bed/component.ts';
import { chart } from './chart.ts';

interface Values {
  readonly settingsReconciler: { readonly resources: { readonly limits: { readonly memory: string } } };
  readonly endpointsliceWebhook: Values['settingsReconciler'];
  readonly flowController: Values['settingsReconciler'];
  readonly trafficMeter: Values['settingsReconciler'];
}

const nano = 1_000_000_000n;

/** Memory limits of the chart's values, bytes: beyond them, a cluster ends the process. */
export const readMemoryLimits = (): Readonly<
  Record<'webhook' | 'reconciler' | 'flowController' | 'trafficMeter', number>
> => {
  const values = parse(readFileSync(join(chart, 'values.yaml'), 'utf8')) as Values;
  const bytesOf = ({ resources }: Values['settingsReconciler']): number =>
    Number(parseQuantity(resources.limits.memory) / nano);
  return {
    webhook: bytesOf(values.endpointsliceWebhook),
    reconciler: bytesOf(values.settingsReconciler),
    flowController: bytesOf(values.flowController),
    trafficMeter: bytesOf(values.trafficMeter),
  };
};

/** Memory of a program that runs. */
export const memoryOf = ({ pid }: Component): Memory => parseMemory(readFileSync(`/proc/${pid}/status`, 'utf8'));
