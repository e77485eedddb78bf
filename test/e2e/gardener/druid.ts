// The real etcd-druid beside a bed, configured, certified, entitled and registered as gardenlet does it.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { exposeAddress } from '../bed/access.ts';
import type { Component } from '../bed/component.ts';
import type { Bed } from '../bed/index.ts';
import { waitFor } from '../bed/machine.ts';
import { builtProgram } from '../built.ts';
import { asText, documents } from '../chart.ts';
import { apply } from '../installation.ts';
import type { Owner } from './owner.ts';

export const DRUID_USER = 'system:serviceaccount:garden:etcd-druid';

/** Beside the ports of our own commands, which share the control plane's namespace. */
const PORTS = { webhooks: 20_475, metrics: 20_476 };

type ConfigMap = KubernetesObject & { data: Record<string, string> };
type Configuration = Record<string, Record<string, Record<string, unknown>>>;

/** Gardener's configuration; only where it listens and how often it looks at members differ, and that it is one. */
const configured = (text: string, folder: string): string => {
  const config = parse(text) as Configuration;
  const bindAddress = '0.0.0.0';
  config['server'] = {
    webhooks: { bindAddress, port: PORTS.webhooks, serverCertDir: folder },
    metrics: { bindAddress, port: PORTS.metrics },
  };
  config['leaderElection'] = { ...config['leaderElection'], enabled: false as never };
  config['controllers'] = {
    ...config['controllers'],
    etcd: { ...config['controllers']?.['etcd'], etcdStatusSyncPeriod: '1s' },
  };
  return stringify(config);
};

/** What gardenlet installs, but for the Deployment: the program runs here. */
const INSTALLED: ReadonlySet<string> = new Set([
  'ServiceAccount',
  'ClusterRole',
  'ClusterRoleBinding',
  'Service',
  'ValidatingWebhookConfiguration',
]);

/** Installs and starts it, and waits until it works: it sleeps ten seconds first. The namespace `garden` must exist. */
export const startDruid = async (bed: Bed, owner: Owner): Promise<Component> => {
  const folder = join(bed.directory, 'etcd-druid');
  mkdirSync(folder, { recursive: true });
  await owner.describeDruid(folder);
  const objects = documents(readFileSync(join(folder, 'objects.yaml'), 'utf8'));
  const map = objects.find(({ kind }) => kind === 'ConfigMap') as ConfigMap | undefined;
  const file = join(folder, 'config.yaml');
  writeFileSync(file, configured(Object.values(map?.data ?? {})[0] ?? '', folder));
  const wanted = objects.filter(({ kind }) => INSTALLED.has(kind ?? ''));
  await apply(bed, 'etcd-druid.yaml', asText(wanted), '--force-conflicts');
  await exposeAddress(bed.api, {
    namespace: 'garden',
    name: 'etcd-druid',
    targetPort: PORTS.webhooks,
    portName: 'webhooks',
  });
  const groups = ['system:serviceaccounts', 'system:serviceaccounts:garden', 'system:authenticated'];
  const druid = bed.program({
    name: 'etcd-druid',
    command: [builtProgram('gardener/etcd-druid-0.36/etcd-druid'), '--config', file],
    environment: { KUBECONFIG: await bed.kubeconfig({ user: DRUID_USER, groups }) },
  });
  druid.start();
  await waitFor(
    'etcd-druid at work',
    () => readFileSync(druid.logFile, 'utf8'),
    (log) => log.includes('Starting workers'),
    { assert: () => druid.assertRunning() },
  );
  return druid;
};
