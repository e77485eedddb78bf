// The sandbox as a process: prints its URL, writes kubeconfigs, ends on SIGTERM or SIGINT.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseAllDocuments } from 'yaml';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { createClient } from '../../pkg/kubernetes/client.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import { startSandbox } from './sandbox.ts';
import type { Sandbox } from './types.ts';
import { DEPLOYMENTS, startWorkloads } from './workloads.ts';

const USAGE = `usage: main.ts [--port N] [--kubernetes-version vX.Y.Z] [--kubeconfig-dir DIR] [--user NAME[=GROUP,GROUP]]... [--apply FILE]... [--workloads]

--port               port at 127.0.0.1; 0 picks a free one (default 0)
--kubernetes-version what /version answers (default v1.36.3)
--kubeconfig-dir     writes NAME.kubeconfig for each user there (":" becomes "_")
--user               a user to write a kubeconfig for (default admin=system:masters)
--apply              YAML file with objects to start with
--workloads          Deployments get Pods that run, spread over the zones; needs --kubeconfig-dir
`;

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    'kubernetes-version': { type: 'string' },
    'kubeconfig-dir': { type: 'string' },
    user: { type: 'string', multiple: true, default: ['admin=system:masters'] },
    apply: { type: 'string', multiple: true, default: [] },
    workloads: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const DEFAULT_VERSION = 'v1.36.3';

/** Returns how to stop it. */
const runWorkloads = (sandbox: Sandbox, directory: string, version: string): (() => Promise<void>) => {
  const file = join(directory, 'workloads.kubeconfig');
  writeFileSync(file, sandbox.kubeconfig('workloads'), { mode: 0o600 });
  const client = createClient({ config: loadKubeConfig({ kubeconfig: file }), userAgent: 'workloads' });
  const workloads = startWorkloads({ sandbox, client, version });
  return async () => {
    await workloads.stop();
    await client.close();
  };
};

const run = async (): Promise<void> => {
  const version = values['kubernetes-version'] ?? DEFAULT_VERSION;
  const sandbox = await startSandbox({
    port: Number(values.port),
    kubernetesVersion: version,
    ...(values.workloads ? { resources: [{ ...DEPLOYMENTS, status: true }] } : {}),
  });
  const directory = values['kubeconfig-dir'];
  if (directory !== undefined) {
    mkdirSync(directory, { recursive: true });
    for (const entry of values.user) {
      const [name = '', groups = ''] = entry.split('=', 2);
      const text = sandbox.kubeconfig(name, groups === '' ? [] : groups.split(','));
      writeFileSync(join(directory, `${name.replaceAll(':', '_')}.kubeconfig`), text, { mode: 0o600 });
    }
  }
  for (const file of values.apply) {
    for (const document of parseAllDocuments(readFileSync(file, 'utf8')))
      await sandbox.apply(document.toJS() as KubernetesObject);
  }
  if (values.workloads && directory === undefined) throw new Error('--workloads needs --kubeconfig-dir');
  const stopWorkloads =
    values.workloads && directory !== undefined ? runWorkloads(sandbox, directory, version) : undefined;
  process.stdout.write(`${sandbox.server}\n`);
  const stop = async (): Promise<void> => {
    await stopWorkloads?.();
    await sandbox.stop();
  };
  process.once('SIGTERM', () => void stop());
  process.once('SIGINT', () => void stop());
};

if (values.help) process.stdout.write(USAGE);
else await run();
