// SPDX-License-Identifier: Apache-2.0
// Lists of Nodes in Kubernetes' protobuf encoding, read as far as decisions look at them: everything else, images above all, is stepped over.
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import type { Encoding } from './types.ts';

type Found = Record<string, unknown>;

interface Field {
  readonly wireType: WireType;
  readonly read: (reader: BinaryReader, found: Found) => void;
}

/** Fields by number; one number never gets another meaning (protobuf.dev/best-practices/dos-donts). */
type Message = Readonly<Record<number, Field>>;

/** The reader's own `skip` makes a view of each text and message, which is one for every image of a Node. */
const skip = (reader: BinaryReader, wireType: WireType, number: number): void => {
  if (wireType === WireType.LengthDelimited) {
    const length = reader.uint32();
    reader.pos += length;
  } else {
    reader.skip(wireType, number);
  }
};

/**
 * Reads one message, from where the reader stands to `end`. One reader for all of them: views of parts cost more than their reading.
 *
 * @throws Error for bytes that end too early, and for a field that holds something else than it is known for.
 */
const readMessage = (reader: BinaryReader, end: number, message: Message, found: Found = {}): Found => {
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    const field = message[number];
    if (field === undefined) skip(reader, wireType, number);
    else if (field.wireType === wireType) field.read(reader, found);
    else throw new TypeError(`field ${number} has the wire type ${wireType}`);
  }
  if (reader.pos !== end) throw new RangeError('a field is longer than its message');
  return found;
};

/** A message within another, behind its length. */
const readInner = (reader: BinaryReader, message: Message, found?: Found): Found => {
  const length = reader.uint32();
  const end = reader.pos + length;
  if (end > reader.len) throw new RangeError('a message is longer than what it is in');
  return readMessage(reader, end, message, found);
};

const lengthDelimited = (read: Field['read']): Field => ({ wireType: WireType.LengthDelimited, read });

const scalar =
  (wireType: WireType, valueOf: (reader: BinaryReader) => string | boolean | number, keepsEmpty = false) =>
  (name: string): Field => ({
    wireType,
    read(reader, found) {
      const value = valueOf(reader);
      if (keepsEmpty || (value !== '' && value !== false && value !== 0)) found[name] = value;
    },
  });

/** Empty ones are written here, and left out of JSON (`omitempty`). */
const text = scalar(WireType.LengthDelimited, (reader) => reader.string());
/** Empty ones are in JSON too. */
const required = scalar(WireType.LengthDelimited, (reader) => reader.string(), true);
const flag = scalar(WireType.Varint, (reader) => reader.bool());
const whole = scalar(WireType.Varint, (reader) => reader.int32());

const one = (name: string, message: Message): Field =>
  lengthDelimited((reader, found) => {
    found[name] = readInner(reader, message);
  });

const many = (name: string, message: Message): Field =>
  lengthDelimited((reader, found) => {
    const items = (found[name] ??= []) as Found[];
    items.push(readInner(reader, message));
  });

/** A map of texts; each entry is a message of its own. */
const texts = (name: string, value: Field = text('value')): Field => {
  const entry: Message = { 1: text('key'), 2: value };
  return lengthDelimited((reader, found) => {
    const { key = '', value: of = '' } = readInner(reader, entry);
    const map = (found[name] ??= {}) as Found;
    // What is called so is no prototype; for all others an assignment is faster.
    if (key === '__proto__') Object.defineProperty(map, key, { value: of, enumerable: true });
    else map[String(key)] = of;
  });
};

/** A message that holds nothing but its text. */
const TEXT: Message = { 1: text('value') };
const quantity = lengthDelimited((reader, found) => readInner(reader, TEXT, found));

// Numbers are those of generated.proto in k8s.io/api/core/v1, k8s.io/apimachinery/pkg/apis/meta/v1 and pkg/runtime, alike in 0.30 and 0.37.

const NODE: Message = {
  1: one('metadata', { 1: text('name'), 11: texts('labels'), 12: texts('annotations') }),
  2: one('spec', {
    4: flag('unschedulable'),
    5: many('taints', { 1: required('key'), 2: text('value'), 3: required('effect') }),
  }),
  3: one('status', {
    2: texts('allocatable', quantity),
    4: many('conditions', { 1: required('type'), 2: required('status') }),
    7: one('nodeInfo', { 7: required('kubeletVersion') }),
  }),
};

const NODE_LIST: Message = {
  1: one('metadata', { 2: text('resourceVersion'), 3: text('continue') }),
  2: many('items', NODE),
};

const STATUS: Message = {
  2: text('status'),
  3: text('message'),
  4: text('reason'),
  5: one('details', { 5: whole('retryAfterSeconds') }),
  6: whole('code'),
};

/** What every answer is wrapped in, behind the bytes that announce it. */
const MAGIC = Buffer.from('k8s\0');
const raw = lengthDelimited((reader, found) => {
  found['raw'] = reader.bytes();
});
const WRAPPER: Message = { 1: one('type', { 1: text('apiVersion'), 2: text('kind') }), 2: raw };

/** @param found - What is there where the bytes say nothing of it. */
const readAll = (bytes: Uint8Array, message: Message, found?: Found): Found => {
  // No Buffer: its parts are made ten times slower.
  const reader = new BinaryReader(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  return readMessage(reader, reader.len, message, found);
};

const unwrap = (bytes: Uint8Array): { type: Found; body: Uint8Array } => {
  if (!MAGIC.equals(bytes.subarray(0, MAGIC.length))) throw new TypeError('no protobuf of Kubernetes');
  const { type, raw: body } = readAll(bytes.subarray(MAGIC.length), WRAPPER);
  if (type === undefined || body === undefined) throw new TypeError('nothing is in it');
  return { type: type as Found, body: body as Uint8Array };
};

/**
 * For lists of Nodes: names, labels, annotations, taints, what they can hold, their conditions and the kubelet's version.
 * The API server needs less than half of the time that it takes to write JSON (docs/adr/0030-nodes-in-protobuf.md).
 */
export const NODES_IN_PROTOBUF: Encoding = {
  mediaType: 'application/vnd.kubernetes.protobuf',
  decode(bytes) {
    const { type, body } = unwrap(bytes);
    // Errors come in the encoding that was asked for.
    if (type['kind'] === 'Status') return { ...type, ...readAll(body, STATUS) };
    if (type['kind'] !== 'NodeList') throw new TypeError('neither a NodeList nor a Status');
    return { ...type, ...readAll(body, NODE_LIST, { items: [] }) };
  },
};
