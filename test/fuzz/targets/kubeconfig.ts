// Kubeconfigs: credentials, or an error that says what is wrong and holds none.
import { chmodSync, writeFileSync } from 'node:fs';
import { validateHeaderValue } from 'node:http';
import { join } from 'node:path';
import { systemClock } from '../../../pkg/kubernetes/wait.ts';
import { KubeConfigError, type KubeConfigSource, loadKubeConfig } from '../../../pkg/kubernetes/kubeconfig.ts';
import { type Input, type Sample, type Target, must } from '../types.ts';
import { yamlStyle } from '../inputs.ts';

const SECRET = 'hunter2-hunter2-hunter2';
const base64 = (text: string): string => Buffer.from(text).toString('base64');

const kubeconfig = (user: object, cluster: object = {}, context: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'main',
  preferences: {},
  contexts: [
    { name: 'main', context: { cluster: 'c', user: 'u', namespace: 'garden', ...context } },
    { name: 'other', context: { cluster: 'c', user: 'u' } },
  ],
  clusters: [
    {
      name: 'c',
      cluster: { server: 'https://127.0.0.1:6443', 'certificate-authority-data': base64('CA'), ...cluster },
    },
  ],
  users: [{ name: 'u', user }],
});

const credential = {
  apiVersion: 'client.authentication.k8s.io/v1',
  kind: 'ExecCredential',
  status: { token: SECRET, expirationTimestamp: '2999-01-01T00:00:00Z' },
};

const samplesIn = (folder: string): Sample[] => {
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  file('ca.crt', 'CA');
  const plugin = file('plugin', `#!/bin/sh\necho '${JSON.stringify(credential)}'\n`);
  chmodSync(plugin, 0o755);
  const impersonation = { as: 'me', 'as-uid': '7', 'as-groups': ['a', 'b'], 'as-user-extra': { team: ['shop'] } };
  const exec = {
    apiVersion: credential.apiVersion,
    command: plugin,
    args: ['token'],
    env: [{ name: 'A', value: 'b' }],
    provideClusterInfo: true,
  };
  const extensions = [{ name: 'client.authentication.k8s.io/exec', extension: { audience: 'x' } }];
  const certificates = { 'client-certificate': file('tls.crt', 'CERT'), 'client-key': file('tls.key', SECRET) };
  const proxied = {
    'proxy-url': 'http://127.0.0.1:3128',
    'tls-server-name': 'kube',
    'certificate-authority': 'ca.crt',
  };
  const data = { 'client-certificate-data': base64('CERT'), 'client-key-data': base64(SECRET) };
  return [
    { name: 'token', value: kubeconfig({ token: SECRET }, { 'insecure-skip-tls-verify': true }) },
    { name: 'token file', value: kubeconfig({ tokenFile: file('token', SECRET), ...impersonation }) },
    { name: 'certificate files', value: kubeconfig(certificates, proxied) },
    { name: 'certificate data', value: kubeconfig(data) },
    { name: 'password', value: kubeconfig({ username: 'admin', password: SECRET }) },
    { name: 'plug-in', value: kubeconfig({ exec }, { extensions }) },
  ];
};

/** Programming errors; everything else is a refusal with a reason. */
const CRASHES = new Set(['TypeError', 'RangeError', 'ReferenceError', 'SyntaxError', 'AssertionError']);

const MAX_MESSAGE = 2_000;

/** A change may have put the secret where a name or a path belongs: then it is none. */
const isMisplaced = (text: string): boolean =>
  text.replaceAll(/(?:token|password|client-key-data)"?: ?"?[\w+/=-]+/g, '').includes('hunter2') ||
  text.replaceAll(/(?:token|password|client-key-data)"?: ?"?[\w+/=-]+/g, '').includes(base64(SECRET));

const checkMessage = (error: Error, text: string): void => {
  const { message } = error;
  const tells = message.includes(SECRET) || message.includes(base64(SECRET));
  must(!tells || isMisplaced(text), () => `tells a secret: ${message.slice(0, 200)}`);
  // What the file system says names the path, whatever its length.
  if (!(error instanceof KubeConfigError)) return;
  must(message !== '' && message.length < MAX_MESSAGE, () => `${message.length} characters: ${message.slice(0, 200)}`);
};

/** What a request can be sent with. */
const checkCredentials = async (source: KubeConfigSource): Promise<void> => {
  must(/^https?:$/.test(new URL(source.server).protocol), () => `server ${source.server}`);
  const { headers } = await source.credentials();
  for (const [name, value] of Object.entries(headers)) {
    for (const one of [value].flat()) {
      try {
        validateHeaderValue(name, one);
      } catch {
        // Refused when it is sent, with the name of the header.
        must(typeof one === 'string', () => `header ${name} is ${typeof one}`);
      }
    }
  }
};

export const target: Target = {
  bytes: true,
  async open(folder) {
    const samples = samplesIn(folder);
    const path = join(folder, 'config');
    const load = (text: Buffer | string): KubeConfigSource => {
      writeFileSync(path, text);
      return loadKubeConfig({ kubeconfig: path, clock: systemClock });
    };
    for (const { value } of samples) await checkCredentials(load(JSON.stringify(value)));
    const run = async ({ text }: Input): Promise<void> => {
      let source: KubeConfigSource | undefined;
      try {
        source = load(text);
        await checkCredentials(source);
      } catch (error) {
        if (!(error instanceof Error) || error.name === 'Violation') throw error;
        if (source === undefined && !(error instanceof KubeConfigError)) throw error;
        if (CRASHES.has(error.name)) throw error;
        checkMessage(error, text.toString('utf8'));
      }
    };
    return { samples, print: yamlStyle, run };
  },
};
