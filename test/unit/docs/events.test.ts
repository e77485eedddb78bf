// The list of events is what the code records: no reason more, none less, and every warning says what to do.
import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { EVENT_GROUPS } from '../../../hack/lib/events.ts';
import { unionMembers } from '../../fixtures/union-members.ts';

const root = resolve(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const sources = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name}`);

/**
 * CamelCase words in quotes in a file that are no reasons of events: kinds, types of events and of conditions, and reasons
 * that only a status, a label or a return value holds.
 */
const NO_REASONS = new Set(
  (
    'Normal Warning Service Etcd Node NodeGroup Namespace Observed Effective Stable Observe ' +
    'WaitingForMetrics Accepted Evacuated Returned Enabled NotRequested True False Ready None Zone ServiceMissing Pending NoReadyEndpoints Infinity'
  ).split(' '),
);
const literalsOf = (path: string): string[] =>
  [...read(path).matchAll(/'([A-Z][a-z]+(?:[A-Z][A-Za-z]*)?)'/g)]
    .map((match) => match[1] ?? '')
    .filter((word) => !NO_REASONS.has(word));

/** Reasons of a file that another one holds: literals there count as well. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  'pkg/controllers/hint-repair/resync.ts': ['pkg/controllers/hint-repair/resync.ts'],
};

describe('the list of events', () => {
  it('names every file that records events', () => {
    const recording = ['cmd', 'pkg'].flatMap(sources).filter((path) => /\bevents\??\.record\(/.test(read(path)));
    expect([...new Set(EVENT_GROUPS.map(({ file }) => file))].sort()).to.deep.equal(recording.sort());
  });

  for (const { file, union, rows } of EVENT_GROUPS) {
    const documented = rows.map(({ reason }) => reason);
    it(`has the reasons of ${union === undefined ? file : union.type}`, () => {
      const written =
        union === undefined
          ? [file, ...(ELSEWHERE[file] ?? [])].flatMap(literalsOf)
          : unionMembers(union.path, union.type).map((member) => `${union.prefix ?? ''}${member}`);
      expect([...new Set(written)].sort()).to.deep.equal([...documented].sort());
    });
  }

  for (const { reason, type, when, todo } of EVENT_GROUPS.flatMap(({ rows }) => rows)) {
    it(`${reason}: says when, and what to do`, () => {
      expect(when).to.match(/^[^ ].*\.$/);
      if (type === 'Warning') expect(todo).not.to.equal('nothing');
      else expect(todo).to.equal('nothing');
    });
  }
});
