// SPDX-License-Identifier: Apache-2.0
// Contract: Nodes come in protobuf to who asks for it, from a server that speaks it, with the same fields as in JSON.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { Fields } from '../../pkg/apis/fields.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { NODES } from '../../pkg/apis/resources.ts';
import { nodeOf } from '../../pkg/diagnosis/project/core.ts';
import { createClient } from '../../pkg/kubernetes/client.ts';
import { ApiError } from '../../pkg/kubernetes/errors.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import { NODES_IN_PROTOBUF } from '../../pkg/kubernetes/protobuf.ts';
import type { Client, ListOptions } from '../../pkg/kubernetes/types.ts';
import { rejection } from '../fixtures/eventually.ts';
import type { ContractServer } from './server.ts';
import { unique } from './server.ts';

const OWN = 'contract.example.com/run';

const aNode = (name: string, run: string, more: object): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name,
    labels: { [OWN]: run, 'topology.kubernetes.io/zone': 'zone-a', empty: '' },
    annotations: { 'example.com/text': 'ein längerer Text, 長いテキスト 🙂', 'example.com/empty': '' },
  },
  ...more,
});

const NODE_KINDS: readonly object[] = [
  {
    spec: {
      podCIDR: '10.0.0.0/24',
      unschedulable: true,
      taints: [
        { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' },
        { key: 'away', effect: 'NoExecute' },
      ],
    },
    status: {
      capacity: { cpu: '8', memory: '32Gi', pods: '110' },
      allocatable: { cpu: '7910m', memory: '30Gi', 'example.com/gpu': '2' },
      conditions: ['MemoryPressure', 'Ready'].map((type) => ({
        type,
        status: type === 'Ready' ? 'True' : 'False',
        reason: 'Kubelet',
        message: `kubelet says ${type}`,
        lastHeartbeatTime: '2026-01-01T00:00:00Z',
      })),
      addresses: [{ type: 'InternalIP', address: '10.1.0.1' }],
      nodeInfo: {
        ...Object.fromEntries(
          ['machineID', 'systemUUID', 'bootID', 'kernelVersion', 'osImage', 'containerRuntimeVersion'].map((name) => [
            name,
            name,
          ]),
        ),
        kubeletVersion: 'v1.34.1',
        kubeProxyVersion: 'v1.34.1',
        operatingSystem: 'linux',
        architecture: 'amd64',
      },
      images: [{ names: ['example.com/image@sha256:0', 'example.com/image:1'], sizeBytes: 5_000_000_000 }],
    },
  },
  { status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } },
  {},
];

export const describeNodes = (server: () => ContractServer): void => {
  describe('Nodes in protobuf', () => {
    const run = unique('nodes');
    let [folder, decoded] = ['', 0];
    let client: Client;
    const encoding: NonNullable<ListOptions['encoding']> = {
      ...NODES_IN_PROTOBUF,
      decode: (bytes) => {
        decoded += 1;
        return NODES_IN_PROTOBUF.decode(bytes);
      },
    };
    const listed = async (options: ListOptions): Promise<unknown[]> => {
      const found: unknown[] = [];
      for await (const { items } of client.pages(NODES, { labelSelector: `${OWN}=${run}`, limit: 2, ...options }))
        found.push(...items.map((item) => nodeOf(item as unknown as Fields)));
      return found;
    };
    before(async () => {
      folder = mkdtempSync(join(tmpdir(), 'contract-'));
      const kubeconfig = join(folder, 'kubeconfig');
      writeFileSync(kubeconfig, server().kubeconfig, { mode: 0o600 });
      client = createClient({ config: loadKubeConfig({ kubeconfig }), userAgent: 'contract/1' });
      for (const [index, kind] of NODE_KINDS.entries()) await client.create(NODES, aNode(`${run}-${index}`, run, kind));
    });
    after(async () => {
      for (const index of NODE_KINDS.keys()) await client.delete(NODES, { name: `${run}-${index}` });
      await client.close();
      rmSync(folder, { recursive: true });
    });

    it('are what they are in JSON, page by page', async () => {
      const [inJson, inProtobuf] = [await listed({}), await listed({ encoding })];
      expect(inJson).to.have.lengthOf(NODE_KINDS.length);
      expect(inJson[0]).to.have.nested.property('status.allocatable.cpu', '7910m');
      expect(inProtobuf).to.deep.equal(inJson);
      expect(decoded, 'pages in protobuf').to.equal(server().protobuf === true ? 2 : 0);
    });

    it('are none where none is selected', async () => {
      expect(await listed({ encoding, labelSelector: `${OWN}=none` })).to.deep.equal([]);
    });

    it('are refused with status, reason and message', async () => {
      const error = await rejection(client.list(NODES, { encoding, continue: 'nonsense' }));
      const inJson = await rejection(client.list(NODES, { continue: 'nonsense' }));
      expect(error).to.be.instanceOf(ApiError).and.include({ status: 400, reason: 'BadRequest' });
      expect((error as Error).message)
        .to.equal((inJson as Error).message)
        .and.contain('continue');
    });
  });
};
