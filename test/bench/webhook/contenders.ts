// The programs that are compared, and how each is started on a port.
import { join } from 'node:path';
import { NODE_FLAGS } from '../node-flags.ts';
import { startChild, type Child } from '../processes.ts';

export type ContenderName = 'webhook' | 'bare' | 'go' | 'gardener';

export interface StartOptions {
  /** Holds tls.crt and tls.key. */
  readonly certDir: string;
  readonly port: number;
  readonly metricsPort: number;
  readonly logFile: string;
  /** Core to pin to, if cores can be kept apart. */
  readonly core: number | undefined;
}

export interface Contender {
  readonly name: ContenderName;
  readonly title: string;
  start(options: StartOptions): Child;
}

/** The program of this project as an image runs it: from a bundle, default log level, metrics served. */
export const webhookAt = (bundle: string): Contender => ({
  name: 'webhook',
  title: 'endpointslice-webhook (Express)',
  start: ({ certDir, port, metricsPort, logFile, core }) =>
    startChild({
      command: process.execPath,
      args: [
        ...NODE_FLAGS,
        join(bundle, 'endpointslice-webhook.js'),
        '--kubernetes-version',
        '1.36',
        '--bind-address',
        '127.0.0.1',
      ].concat([
        '--cert-dir',
        certDir,
        '--port',
        String(port),
        '--health-port',
        '0',
        '--metrics-port',
        String(metricsPort),
      ]),
      logFile,
      core,
    }),
});

const bare: Contender = {
  name: 'bare',
  title: 'bare node:https, parse and answer only',
  start: ({ certDir, port, logFile, core }) =>
    startChild({
      command: process.execPath,
      args: [...NODE_FLAGS, join(import.meta.dirname, 'bare-server.ts'), certDir, String(port)],
      logFile,
      core,
    }),
};

const go = (binary: string): Contender => ({
  name: 'go',
  title: 'Go, controller-runtime',
  start: ({ certDir, port, metricsPort, logFile, core }) =>
    startChild({
      command: binary,
      args: ['--cert-dir', certDir, '--port', String(port), '--metrics-port', String(metricsPort)],
      env: { GOMAXPROCS: '1' },
      logFile,
      core,
    }),
});

/** In the order in which they take turns; the peers only where they could be built. */
export const listContenders = (peerBinary: string | undefined, gardener: Contender | undefined): Contender[] => [
  webhookAt(join(import.meta.dirname, '../../../dist/bundle')),
  bare,
  ...(peerBinary === undefined ? [] : [go(peerBinary)]),
  ...(gardener === undefined ? [] : [gardener]),
];
