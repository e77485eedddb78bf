// SPDX-License-Identifier: Apache-2.0
// Bytes of protobuf, right, unknown and hostile. That an API server writes such bytes is shown by the contract (test/contract/nodes.ts).
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type nock from 'nock';
import { NODES } from '../../../pkg/apis/resources.ts';
import { ApiError, ConnectionError } from '../../../pkg/kubernetes/errors.ts';
import { NODES_IN_PROTOBUF } from '../../../pkg/kubernetes/protobuf.ts';
import { rejection } from '../../fixtures/eventually.ts';
import { status, useClient } from './client-support.ts';

type Write = (writer: BinaryWriter) => BinaryWriter;

const bytesOf = (...fields: readonly Write[]): Uint8Array => {
  const writer = new BinaryWriter();
  for (const write of fields) write(writer);
  return writer.finish();
};
const text =
  (number: number, value: string): Write =>
  (writer) =>
    writer.tag(number, WireType.LengthDelimited).string(value);
const whole =
  (number: number, value: number): Write =>
  (writer) =>
    writer.tag(number, WireType.Varint).int32(value);
const inner =
  (number: number, ...fields: readonly Write[]): Write =>
  (writer) =>
    writer.tag(number, WireType.LengthDelimited).bytes(bytesOf(...fields));
const entries = (number: number, map: Readonly<Record<string, string>>): Write[] =>
  Object.entries(map).map(([key, value]) => inner(number, text(1, key), text(2, value)));

const answer = (kind: string, ...fields: readonly Write[]): Buffer =>
  Buffer.concat([Buffer.from('k8s\0'), bytesOf(inner(1, text(1, 'v1'), text(2, kind)), inner(2, ...fields))]);
const listOf = (...nodes: readonly Write[]): Buffer =>
  answer('NodeList', inner(1, text(2, '7'), text(3, 'next')), ...nodes);
const decode = (bytes: Uint8Array): unknown => NODES_IN_PROTOBUF.decode(bytes);
const decoded = (...nodes: readonly Write[]): unknown => (decode(listOf(...nodes)) as { items: unknown }).items;

const NODE = inner(
  2,
  inner(1, text(1, 'node-1'), text(3, ''), ...entries(11, { zone: 'a', empty: '' }), ...entries(12, { note: 'ä 🙂' })),
  inner(2, whole(4, 1), inner(5, text(1, 'gpu'), text(2, ''), text(3, 'NoSchedule')), inner(5, text(1, 'away'))),
  inner(
    3,
    inner(1, text(1, 'cpu'), inner(2, text(1, '8'))),
    inner(2, text(1, 'cpu'), inner(2, text(1, '7910m'))),
    inner(4, text(1, 'MemoryPressure'), text(2, 'False'), text(6, 'enough')),
    inner(4, text(1, 'Ready'), text(2, 'True')),
    inner(7, text(6, 'containerd://2'), text(7, 'v1.36.3')),
    inner(8, text(1, 'image')),
  ),
);

const EXPECTED = {
  metadata: { name: 'node-1', labels: { zone: 'a', empty: '' }, annotations: { note: 'ä 🙂' } },
  spec: { unschedulable: true, taints: [{ key: 'gpu', effect: 'NoSchedule' }, { key: 'away' }] },
  status: {
    allocatable: { cpu: '7910m' },
    conditions: [
      { type: 'MemoryPressure', status: 'False' },
      { type: 'Ready', status: 'True' },
    ],
    nodeInfo: { kubeletVersion: 'v1.36.3' },
  },
};

describe('Nodes in protobuf', () => {
  it('have the same fields as in JSON, as far as a model uses them', () => {
    expect(decode(listOf(NODE, NODE))).to.deep.equal({
      apiVersion: 'v1',
      kind: 'NodeList',
      metadata: { resourceVersion: '7', continue: 'next' },
      items: [EXPECTED, EXPECTED],
    });
  });

  it('keep empty texts where JSON has them, and only there', () => {
    const bare = inner(3, inner(4, text(1, 'Ready'), text(2, '')), inner(7, text(7, '')));
    const spec = inner(2, whole(4, 0), inner(5, text(1, 'away'), text(2, ''), text(3, '')));
    expect(decoded(inner(2, inner(1, text(1, '')), spec, bare))).to.deep.equal([
      {
        metadata: {},
        spec: { taints: [{ key: 'away', effect: '' }] },
        status: { conditions: [{ type: 'Ready', status: '' }], nodeInfo: { kubeletVersion: '' } },
      },
    ]);
  });

  it('are an empty list where there are none', () => {
    expect(decoded()).to.deep.equal([]);
  });

  it('step over fields of every type that are not known', () => {
    const unknown: Write[] = [
      whole(100, 5),
      text(101, 'x'),
      (writer) => writer.tag(102, WireType.Bit32).fixed32(1),
      (writer) => writer.tag(103, WireType.Bit64).fixed64(1n),
    ];
    const node = inner(2, ...unknown, inner(1, ...unknown, text(1, 'node-1')), ...unknown);
    expect(decoded(node, ...unknown)).to.deep.equal([{ metadata: { name: 'node-1' } }]);
  });

  it('keep a label that is called like a prototype to themselves', () => {
    const [node] = decoded(inner(2, inner(1, ...entries(11, JSON.parse('{"__proto__":"a"}') as object as never)))) as [
      { metadata: { labels: object } },
    ];
    expect(Object.entries(node.metadata.labels)).to.deep.equal([['__proto__', 'a']]);
    expect(Object.getPrototypeOf(node.metadata.labels)).to.equal(Object.prototype);
  });

  it('are refused where they end too early, wherever that is', () => {
    const complete = listOf(NODE);
    for (let length = 0; length < complete.length; length += 1)
      expect(() => decode(complete.subarray(0, length)), `${length} of ${complete.length} bytes`).to.throw();
  });

  for (const [what, bytes] of [
    ['no announcement', bytesOf(inner(1, text(1, 'v1'), text(2, 'NodeList')), inner(2))],
    ['another kind', answer('PodList', NODE)],
    ['a name that is a number', listOf(inner(2, inner(1, whole(1, 5))))],
    ['a Node that is a number', listOf(whole(2, 5))],
    [
      'a condition longer than its status',
      listOf(inner(2, (writer) => writer.tag(3, 2).uint32(99).raw(Buffer.of(34)))),
    ],
  ] as const) {
    it(`are refused with ${what}`, () => {
      expect(() => decode(bytes)).to.throw();
    });
  }

  it('never take long or crash over bytes of any kind', () => {
    const good = listOf(NODE);
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(good.length - 1), fc.integer({ min: 0, max: 255 })), { maxLength: 4 }),
        (changes) => {
          const bytes = Buffer.from(good);
          for (const [at, byte] of changes) bytes[at] = byte;
          try {
            expect(decode(bytes)).to.be.an('object');
          } catch (error) {
            expect(error).to.be.instanceOf(Error);
          }
        },
      ),
    );
  });
});

describe('a client that asks for Nodes in protobuf', () => {
  const bed = useClient();
  const PROTOBUF = { 'content-type': 'application/vnd.kubernetes.protobuf' };
  const nodes = (): nock.Interceptor =>
    bed
      .api()
      .matchHeader('accept', 'application/vnd.kubernetes.protobuf, application/json;q=0.9')
      .get('/api/v1/nodes?limit=500');
  const list = () => bed.client.list(NODES, { encoding: NODES_IN_PROTOBUF });

  it('reads it', async () => {
    nodes().reply(200, listOf(NODE), PROTOBUF);
    const { items, metadata } = await list();
    expect(items).to.deep.equal([{ apiVersion: 'v1', kind: 'Node', ...EXPECTED }]);
    expect(metadata.continue).to.equal('next');
  });

  it('reads JSON where a server knows nothing else', async () => {
    nodes().reply(200, { kind: 'NodeList', metadata: {}, items: [{ metadata: { name: 'node-1' } }] });
    expect((await list()).items).to.have.lengthOf(1);
  });

  it('takes bytes that are no list for an invalid answer, unquoted', async () => {
    nodes().reply(200, Buffer.from('k8s\0hunter'), PROTOBUF);
    const error = await rejection(list());
    expect(error).to.be.instanceOf(ConnectionError).and.include({ reason: 'InvalidResponse' });
    expect((error as Error).message)
      .to.match(/the answer \(10 bytes\) is in no encoding that was asked for$/)
      .and.not.contain('hunter');
  });

  it('reads errors in either encoding', async () => {
    nodes().reply(
      403,
      answer('Status', text(2, 'Failure'), text(3, 'not you'), text(4, 'Forbidden'), whole(6, 403)),
      PROTOBUF,
    );
    nodes().reply(403, status(403, 'Forbidden', 'not you'));
    const errors = [await rejection(list()), await rejection(list())];
    for (const error of errors)
      expect(error).to.be.instanceOf(ApiError).and.include({ status: 403, reason: 'Forbidden' });
    expect((errors[0] as Error).message)
      .to.equal((errors[1] as Error).message)
      .and.contain('not you');
  });

  it('waits as long as the Status says', async () => {
    nodes().reply(429, answer('Status', inner(5, whole(5, 3))), PROTOBUF);
    nodes().reply(200, listOf(), PROTOBUF);
    const began = bed.clock.monotonic();
    expect((await bed.through(list())).items).to.deep.equal([]);
    expect(bed.clock.monotonic() - began).to.be.at.least(3_000);
  });
});
