// Kubeconfigs in a temporary folder.
import { beforeEach } from 'mocha';
import { stringify } from 'yaml';
import { loadKubeConfig } from '../../../pkg/kubernetes/kubeconfig.ts';
import { type FakeClock, createFakeClock } from '../../fixtures/fake-clock.ts';
import { type TemporaryFolder, temporaryFolder } from '../../fixtures/temporary-folder.ts';

export const base64 = (text: string): string => Buffer.from(text).toString('base64');

export const SERVER = 'https://kube.test:6443';

export const kubeconfig = ({
  cluster = {},
  user = {},
  context = {},
  ...rest
}: { cluster?: object; user?: object; context?: object; [key: string]: unknown } = {}): string =>
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'main',
    contexts: [{ name: 'main', context: { cluster: 'c', user: 'u', namespace: 'garden', ...context } }],
    clusters: [{ name: 'c', cluster: { server: SERVER, 'certificate-authority-data': base64('CA'), ...cluster } }],
    users: [{ name: 'u', user }],
    ...rest,
  });

export const useKubeConfig = () => {
  let folder: TemporaryFolder;
  let clock: FakeClock;
  beforeEach(() => {
    folder = temporaryFolder();
    clock = createFakeClock();
  });
  const load = (content: string, context?: string) =>
    loadKubeConfig({
      kubeconfig: folder.write('config', content),
      clock,
      ...(context === undefined ? {} : { context }),
    });
  return {
    get folder() {
      return folder;
    },
    get clock() {
      return clock;
    },
    load,
  };
};
