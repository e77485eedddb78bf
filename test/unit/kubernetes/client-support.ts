// A client on a scripted server.
import { beforeEach } from 'mocha';
import nock from 'nock';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { createClient } from '../../../pkg/kubernetes/client.ts';
import { testConfig } from '../../fixtures/config-source.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import { passTimeUntil, useScriptedServer } from '../../fixtures/scripted-server.ts';

export const SERVER = 'https://kube.test:6443';

export const ref = { namespace: 'a', name: 'b' };

export const service = (extra: object = {}): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'a', name: 'b', resourceVersion: '5' },
  ...extra,
});

export const status = (code: number, reason: string, message = '') => ({
  kind: 'Status',
  status: 'Failure',
  code,
  reason,
  message,
});

export const useClient = () => {
  const fresh = () => {
    const [clock, config] = [createFakeClock(), testConfig(SERVER)];
    return { clock, config, client: createClient({ config, userAgent: 'unit/1.0', clock, random: () => 0 }) };
  };
  const bed = Object.assign(fresh(), {
    api: (): nock.Scope => nock(SERVER),
    through: <T>(promise: Promise<T>): Promise<T> => passTimeUntil(bed.clock, promise),
  });
  beforeEach(() => void Object.assign(bed, fresh()));
  useScriptedServer(
    () => bed.clock,
    () => bed.client.close(),
  );
  return bed;
};
