// Whatever stands in names, nothing but text and our own colours reaches a terminal, by any command and in any format.
import { anyCharacter } from '../../../fixtures/any-character.ts';
import { writeFileSync } from 'node:fs';
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { parse } from 'yaml';
import { reportCrash, throughScreen } from '../../../../cmd/kubectl-topology/app.ts';
import type { Io, Output } from '../../../../cmd/kubectl-topology/io.ts';
import { paintFor, renderJson, renderJsonLine } from '../../../../pkg/report/text.ts';
import { renderYaml } from '../../../../pkg/report/yaml.ts';
import { temporaryFolder } from '../../../fixtures/temporary-folder.ts';
import { runTopology } from '../../../fixtures/topology-command.ts';

const OBEYED = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;
const COLOR = /\u001B\[(?:1|2|22|31|32|39)m/g;

/** Texts full of what terminals obey: escape sequences, C0, C1, bidi controls, line separators, halves of surrogate pairs. */
const hostileText = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '\u001B[2J',
        '\u001B]0;x\u0007',
        '\u009B31m',
        '\u202E',
        '\u2066',
        '\u200E',
        '\u2028',
        '\uFEFF',
        '\r',
      ),
      fc.constantFrom(
        '\u0000',
        '\u0008',
        '\u007F',
        '\u0085',
        '\uD800',
        '\u{E0041}',
        'web',
        '-',
        'ü',
        '😀',
        '"',
        '\\',
        ': ',
      ),
      fc.string({ unit: anyCharacter, maxLength: 3 }),
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map((parts) => parts.join(''));

const world = (terminal: boolean): { io: Io; seen: () => string } => {
  let seen = '';
  const output: Output = {
    write: (text) => void (seen += text),
    control: (sequence) => void (seen += `<${sequence}>`),
    terminal,
    columns: 100,
  };
  const io: Io = {
    out: output,
    err: output,
    env: {},
    readStdin: () => Promise.resolve(Buffer.alloc(0)),
    lines: () => (async function* none() {})(),
    now: () => 0,
    signal: new AbortController().signal,
  };
  return { io, seen: () => seen };
};

describe('the screen of kubectl topology', () => {
  it('keeps text, line breaks, tabs and, on a terminal, our own colours', () => {
    const { good, bad, strong, faint } = paintFor(true);
    const text = `${good('ü')}\t${bad('😀')}\n${strong('a')}${faint('b')}`;
    const [colored, plain] = [world(true), world(false)];
    throughScreen(colored.io).out.write(text);
    throughScreen(plain.io).out.write(good('x'));
    expect(colored.seen()).to.equal(text);
    expect(plain.seen()).to.equal(' [32mx [39m');
  });

  it('lets nothing else through, on standard output and on standard error', () => {
    fc.assert(
      fc.property(hostileText, fc.boolean(), (text, terminal) => {
        const { io, seen } = world(terminal);
        const { out, err } = throughScreen(io);
        out.write(text);
        err.write(text);
        expect(seen().replaceAll(COLOR, '')).not.to.match(OBEYED);
      }),
    );
  });

  it('reports a crash cleanly, with its stack and the exit code of a question without an answer', () => {
    const { io, seen } = world(true);
    expect(reportCrash(io, new Error('broken by \u001B[2J\u202E'))).to.equal(2);
    expect(seen()).to.match(/^error: kubectl topology failed: Error: broken by {2}\[2J \n {4}at /);
  });

  describe('with hostile names in a file', () => {
    const folder = temporaryFolder();

    const web = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace: 'shop' }, spec: {} };
    const clusterWith = (text: string): object => ({
      apiVersion: 'v1',
      kind: 'List',
      items: [
        web,
        { ...web, metadata: { name: text, namespace: text } },
        {
          apiVersion: 'discovery.k8s.io/v1',
          kind: 'EndpointSlice',
          metadata: { name: text, namespace: 'shop', labels: { 'kubernetes.io/service-name': 'web' } },
          addressType: 'IPv4',
          endpoints: [
            {
              addresses: ['10.0.0.1'],
              zone: text,
              nodeName: text,
              conditions: { ready: true },
              hints: { forZones: [{ name: text }] },
            },
          ],
        },
        { apiVersion: 'v1', kind: 'Node', metadata: { name: text, labels: { 'topology.kubernetes.io/zone': text } } },
      ],
    });
    const QUESTIONS = [
      ['explain', 'web', '-n', 'shop'],
      ['explain', 'missing', '-n', 'shop'],
      ['audit'],
      ['route', '--service', 'shop/web'],
      ['hints'],
      ['simulate', 'web', '-n', 'shop'],
      ['__complete', 'explain', ''],
    ];

    for (const question of QUESTIONS) {
      it(`${question.join(' ')}: gives no orders to the terminal, in any format`, async () => {
        await fc.assert(
          fc.asyncProperty(hostileText, fc.constantFrom('table', 'wide', 'json', 'yaml'), async (text, format) => {
            const file = folder.at('cluster.json');
            writeFileSync(file, JSON.stringify(clusterWith(text)));
            const [name = '', ...words] = question;
            const input = ['-f', file];
            const asked =
              name === '__complete' ? [name, words[0] ?? '', ...input, ''] : [...question, ...input, '-o', format];
            const { out, err } = await runTopology(asked, { terminal: true });
            expect(out.replaceAll(COLOR, '')).not.to.match(OBEYED);
            expect(err.replaceAll(COLOR, '')).not.to.match(OBEYED);
          }),
          { numRuns: 25 },
        );
      });
    }

    it('a file of this name that does not exist is named without its orders', async () => {
      const { code, err } = await runTopology(['audit', '-f', folder.at('a\u001B[2J\u009B.yaml')]);
      expect(code).to.equal(2);
      expect(err).to.contain('no such file').and.not.to.match(OBEYED);
    });
  });

  it('JSON and YAML hold every value as it was, and no character that acts', () => {
    fc.assert(
      fc.property(fc.dictionary(hostileText, fc.array(hostileText)), (dictionary) => {
        const value = { ...dictionary };
        for (const text of [renderJson(value), renderJsonLine(value), renderYaml(value)])
          expect(text).not.to.match(OBEYED);
        expect(JSON.parse(renderJson(value))).to.deep.equal(value);
        expect(JSON.parse(renderJsonLine(value))).to.deep.equal(value);
        expect(parse(renderYaml(value))).to.deep.equal(value);
      }),
    );
  });

  it('writes C1 and bidi characters as escapes of JSON', () => {
    expect(renderJsonLine('\u009B31m \u202E')).to.equal('"\\u009b31m \\u202e"\n');
    expect(renderYaml({ zone: 'a\u009B' })).to.equal('zone: "a\\u009b"\n');
  });
});
