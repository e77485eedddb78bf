// etcd, kube-apiserver and kube-controller-manager in a namespace of their own.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Pki } from './access.ts';
import type { Binaries } from './binaries.ts';
import { type Component, type ComponentOptions, createComponent } from './component.ts';
import type { Bed } from './index.ts';
import { controlPlaneAddresses, enterPrefix, run, serviceRanges } from './machine.ts';

const gateway = 'http://127.0.0.1:2379/v3/kv';

/** Asks etcd's JSON gateway from inside the control plane's namespace. */
const ask = async (namespace: string, method: string, body: object): Promise<{ header: { revision: string } }> => {
  const script = `process.stdout.write(await (await fetch(process.argv[1], { method: 'POST', body: process.argv[2] })).text())`;
  const [program, ...prefix] = enterPrefix(namespace);
  const node = [
    process.execPath,
    '--input-type=module',
    '--eval',
    script,
    `${gateway}/${method}`,
    JSON.stringify(body),
  ];
  return JSON.parse(await run(program, [...prefix, ...node])) as { header: { revision: string } };
};

/**
 * Compacts etcd at its present revision and restarts the API server, whose watch cache would go on answering for older
 * versions. Afterwards every older resource version and page token is answered with 410.
 */
export const expireOldVersions = async (bed: Bed): Promise<void> => {
  const { header } = await ask(bed.namespace, 'range', { key: btoa('\0'), range_end: btoa('\0'), count_only: true });
  const { apiServer, controllerManager } = bed.controlPlane;
  await Promise.all([apiServer.kill(), controllerManager.kill()]);
  await ask(bed.namespace, 'compaction', { revision: header.revision, physical: true });
  apiServer.start();
  await bed.ready();
  // A new one connects at once; the old one would wait for as long as its back-off has grown.
  controllerManager.start();
};

/** Controllers that a bed runs. Not among them: node lifecycle, which would mark silent nodes NotReady. */
export const defaultControllers = [
  'endpointslice-controller',
  'endpointslice-mirroring-controller',
  'namespace-controller',
  'garbage-collector-controller',
  'deployment-controller',
  'replicaset-controller',
  'statefulset-controller',
  'clusterrole-aggregation-controller',
] as const;

/** The programs of a control plane, for faults. */
export interface ControlPlane {
  readonly etcd: Component;
  readonly apiServer: Component;
  readonly controllerManager: Component;
}

interface ControlPlaneOptions {
  /** Folder for data; logs go to `logs` beneath it. */
  readonly directory: string;
  readonly namespace: string;
  readonly binaries: Binaries;
  readonly pki: Pki;
  /** Kubeconfig of the controller manager: a user of its own, so that its writes can be told from a test's. */
  readonly controllerManagerKubeconfig: string;
  readonly controllers: readonly string[];
  /** Appended to the API server's flags. */
  readonly apiServerFlags: readonly string[];
  /** Appended to the controller manager's flags. */
  readonly controllerManagerFlags: readonly string[];
  /** Users whose reads are in the audit log as well. */
  readonly auditReadsOf: readonly string[];
  readonly onStart: ComponentOptions['onStart'];
}

const etcdUrl = 'http://127.0.0.1:2379';

const etcdFlags = (directory: string): string[] => [
  `--data-dir=${join(directory, 'etcd')}`,
  `--listen-client-urls=${etcdUrl}`,
  `--advertise-client-urls=${etcdUrl}`,
  '--listen-peer-urls=http://127.0.0.1:2380',
  // The data goes away with the bed: waiting for the disk would only cost time.
  '--unsafe-no-fsync',
  '--log-level=warn',
];

/** Who did what to which object, without bodies: enough to count the writes of each user. */
const auditPolicy = (readers: readonly string[]): object => ({
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [
    { level: 'Metadata', verbs: ['create', 'update', 'patch', 'delete', 'deletecollection'] },
    // No user at all would mean every user.
    ...(readers.length > 0 ? [{ level: 'Metadata', users: readers }] : []),
    { level: 'None' },
  ],
});

/** Where the audit log of a bed is: one JSON event per line for every write, and for reads of the users asked for. */
export const auditLogOf = (directory: string): string => join(directory, 'logs', 'audit.log');

const apiServerFlags = ({ directory, pki, auditReadsOf, apiServerFlags: extra }: ControlPlaneOptions): string[] => {
  const policy = join(directory, 'audit-policy.json');
  writeFileSync(policy, JSON.stringify(auditPolicy(auditReadsOf)));
  return [
    `--etcd-servers=${etcdUrl}`,
    '--bind-address=0.0.0.0',
    // Without it the server looks for a default route, and there is none.
    `--advertise-address=${controlPlaneAddresses.ipv4}`,
    '--secure-port=6443',
    `--service-cluster-ip-range=${serviceRanges.join(',')}`,
    '--authorization-mode=RBAC',
    '--allow-privileged=true',
    // Pods need no service account, and new Nodes no taint that only the node lifecycle controller would remove.
    '--disable-admission-plugins=ServiceAccount,TaintNodesByCondition',
    `--tls-cert-file=${pki.server.certificate}`,
    `--tls-private-key-file=${pki.server.key}`,
    `--client-ca-file=${pki.authority.certificate}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${pki.serviceAccountKey}`,
    `--service-account-signing-key-file=${pki.serviceAccountKey}`,
    `--requestheader-client-ca-file=${pki.frontProxyAuthority.certificate}`,
    '--requestheader-allowed-names=front-proxy',
    '--requestheader-username-headers=X-Remote-User',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    `--proxy-client-cert-file=${pki.frontProxyClient.certificate}`,
    `--proxy-client-key-file=${pki.frontProxyClient.key}`,
    // Webhooks and API services are reached through the slices of their Service, as in a cluster.
    '--enable-aggregator-routing=true',
    `--audit-policy-file=${policy}`,
    `--audit-log-path=${auditLogOf(directory)}`,
    // Megabytes. At the default of 100 the file would be put aside in the middle of a long suite.
    '--audit-log-maxsize=10000',
    ...extra,
  ];
};

const controllerManagerFlags = (options: ControlPlaneOptions): string[] => [
  `--kubeconfig=${options.controllerManagerKubeconfig}`,
  `--controllers=${options.controllers.join(',')}`,
  // Each controller writes as its own service account, as kubeadm and Gardener set it up.
  '--use-service-account-credentials=true',
  '--leader-elect=false',
  '--bind-address=127.0.0.1',
  ...options.controllerManagerFlags,
];

/** Describes the programs of a control plane; none runs yet. */
export const describeControlPlane = (options: ControlPlaneOptions): ControlPlane => {
  const { directory, namespace, binaries, onStart } = options;
  const program = (name: Parameters<Binaries>[0], flags: readonly string[]): Component =>
    createComponent({
      name,
      namespace,
      command: [binaries(name), ...flags],
      logFile: join(directory, 'logs', `${name}.log`),
      onStart,
    });
  return {
    etcd: program('etcd', etcdFlags(directory)),
    apiServer: program('kube-apiserver', apiServerFlags(options)),
    controllerManager: program('kube-controller-manager', controllerManagerFlags(options)),
  };
};
