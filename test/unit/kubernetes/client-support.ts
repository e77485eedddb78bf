// A client on a scripted server.
import { beforeEach } from 'mocha';
import nock from 'nock';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { createClient } from '../../../pkg/kubernetes/client.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { type TestConfig, testConfig } from '../../fixtures/config-source.ts';
import { type FakeClock, createFakeClock } from '../../fixtures/fake-clock.ts';
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
  let client: Client;
  let config: TestConfig;
  let clock: FakeClock;
  const api = (): nock.Scope => nock(SERVER);
  beforeEach(() => {
    clock = createFakeClock();
    config = testConfig(SERVER);
    client = createClient({ config, userAgent: 'unit/1.0', clock, random: () => 0 });
  });
  useScriptedServer(
    () => clock,
    () => client.close(),
  );
  const through = <T>(promise: Promise<T>): Promise<T> => passTimeUntil(clock, promise);
  return {
    get client() {
      return client;
    },
    set client(next) {
      client = next;
    },
    get config() {
      return config;
    },
    get clock() {
      return clock;
    },
    api,
    through,
  };
};
