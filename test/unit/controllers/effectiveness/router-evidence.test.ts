// SPDX-License-Identifier: Apache-2.0
// What the settings-reconciler reads of who routes: three kinds of objects, each of which it may be refused.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { createRouterEvidence } from '../../../../pkg/controllers/effectiveness/router-evidence.ts';
import { ApiError } from '../../../../pkg/kubernetes/errors.ts';
import type { Client } from '../../../../pkg/kubernetes/types.ts';
import { nullLogger } from '../../../../pkg/telemetry/log.ts';
import { kubeProxy } from '../../../fixtures/core.ts';
import { configMap } from '../../../fixtures/data-planes.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';

const refusal = (): ApiError => {
  const error: ApiError = Object.create(ApiError.prototype) as ApiError;
  return Object.assign(error, { status: 403 });
};

const read = async (client: Pick<Client, 'list' | 'get'>): Promise<{ names: string[]; changes: number }> => {
  let changes = 0;
  const end = new AbortController();
  const onChange = (): void => void (changes += 1);
  let asked = 0;
  const counting = {
    list: (...args: Parameters<Client['list']>) => client.list(...args),
    get: (...args: Parameters<Client['get']>) => {
      asked += 1;
      return client.get(...args);
    },
  } as Pick<Client, 'list' | 'get'>;
  const evidence = createRouterEvidence({ client: counting, clock: createFakeClock(), logger: nullLogger });
  evidence.onChange(onChange);
  const running = evidence.run(end.signal);
  while (asked < 2) await new Promise((resolve) => void setImmediate(resolve));
  await new Promise((resolve) => void setImmediate(resolve));
  end.abort(new Error('over'));
  await running;
  return { names: evidence.objects().map(({ kind, name }) => `${kind} ${name}`), changes };
};

describe('evidence of who routes', () => {
  it('is of DaemonSets, of the ConfigMap and of the FelixConfiguration', async () => {
    const { names, changes } = await read({
      list: () => Promise.resolve({ items: [kubeProxy()], metadata: {} }),
      get: (resource: { kind: string }) =>
        Promise.resolve(
          resource.kind === 'ConfigMap'
            ? configMap('cilium-config', { 'enable-service-topology': 'true' })
            : { metadata: { name: 'default' }, spec: { bpfEnabled: true } },
        ),
    } as unknown as Pick<Client, 'list' | 'get'>);
    expect(names).to.deep.equal(['DaemonSet kube-proxy', 'ConfigMap cilium-config', 'FelixConfiguration default']);
    expect(changes).to.equal(1);
  });

  it('is none where nothing may be read, and that is no change', async () => {
    const refused = { list: () => Promise.reject(refusal()), get: () => Promise.reject(refusal()) };
    expect(await read(refused)).to.deep.equal({ names: [], changes: 0 });
  });
});
