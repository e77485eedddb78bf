// Code, tables and reference of reasons are the same set: nothing is emitted that is not documented, or documented in vain.
import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { DIAGNOSIS_REASONS } from '../../../pkg/diagnosis/explain/reasons.ts';
import { REASONS } from '../../../pkg/upstream/reasons.ts';

const root = resolve(import.meta.dirname, '../../..');
const reference = readFileSync(join(root, 'docs/reference/reasons.md'), 'utf8');
const ROWS = [...reference.matchAll(/^\| `(\w+)` \| (.+) \| (.+) \|$/gm)].map(
  ([, reason = '', sentence = '', remedy = '']) => ({ reason, sentence, remedy }),
);
const DOCUMENTED = new Set(ROWS.map(({ reason }) => reason));

/** Reasons that are not causes: what Kubernetes calls its events, and why a function has no answer. */
const OTHER = new Set([
  'TopologyAwareHintsEnabled',
  'TopologyAwareHintsDisabled',
  'FewerThanTwoZones',
  // What conditions and events say: docs/reference/events.md, docs/reference/routers.md.
  'HintsNotFollowed',
  'RouterAssumed',
  // Why `kubectl topology evacuate` refuses: its answer says it in a sentence.
  'LastZone',
  'NothingToMove',
  'TogetherNoEndpoint',
  'TooManyZones',
]);

const sources = (folder: string): { path: string; text: string }[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('reasons.ts'))
    .map((path) => ({ path: `${folder}/${path}`, text: readFileSync(join(root, folder, path), 'utf8') }));

/** `reason: 'X'`, `cause('stage', 'X'`, `given('X'` and the like: CamelCase words where a reason stands. */
const EMITTED = /(?:\breason: |\b(?:cause|said)\('?\w+'?, |\b(?:all|given)\(\s*)'([A-Z][a-z]\w+)'/g;

describe('reasons', () => {
  let files: { path: string; text: string }[];
  before(() => {
    files = [...sources('pkg/upstream'), ...sources('pkg/diagnosis')];
  });

  it('every code that the models or a diagnosis emit is documented', () => {
    const emitted = files.flatMap(({ path, text }) =>
      [...text.matchAll(EMITTED)].map(([, reason = '']) => ({ path, reason })),
    );
    expect(emitted).to.have.lengthOf.above(50);
    expect(emitted.filter(({ reason }) => !DOCUMENTED.has(reason) && !OTHER.has(reason))).to.deep.equal([]);
  });

  it('every documented code is emitted somewhere', () => {
    const idle = [...DOCUMENTED].filter((reason) => !files.some(({ text }) => text.includes(`'${reason}'`)));
    expect(idle).to.deep.equal([]);
  });

  it('the two tables share no code', () => {
    expect(Object.keys(REASONS).filter((reason) => Object.hasOwn(DIAGNOSIS_REASONS, reason))).to.deep.equal([]);
  });

  it('the reference has a row with a remedy for each, once', () => {
    expect(DOCUMENTED.size).to.equal(ROWS.length);
    const missing = Object.keys({ ...REASONS, ...DIAGNOSIS_REASONS }).filter((reason) => !DOCUMENTED.has(reason));
    expect(missing, 'reasons that docs/reference/reasons.md does not have: run make generate').to.deep.equal([]);
    for (const { reason, sentence, remedy } of ROWS) {
      expect(sentence, reason).to.match(/\S.*\.$/);
      expect(remedy, reason).to.match(/\S.*\.$/);
    }
  });
});
