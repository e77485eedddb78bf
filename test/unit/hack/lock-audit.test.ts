import { resolve } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { advisoriesIn } from '../../../hack/lib/advisories.ts';
import { type Lock, auditLock, auditLocks } from '../../../hack/lib/lock-audit.ts';

const INTEGRITY = `sha512-${'a'.repeat(86)}==`;
const GOOD = { version: '1.2.3', integrity: INTEGRITY, license: 'MIT' };
const MANIFEST = { dependencies: { a: '1.2.3' } };

const lockOf = (more: object = {}, root: object = MANIFEST): Lock => ({
  lockfileVersion: 3,
  packages: { '': root, 'node_modules/a': { ...GOOD, ...more } },
});

describe('the audit of lock files', () => {
  it("finds nothing in this project's own sources", () => {
    expect(auditLocks(resolve(import.meta.dirname, '../../..'))).to.deep.equal([]);
  });

  const cases: readonly (readonly [name: string, lock: Lock, says: RegExp])[] = [
    ['no hash', lockOf({ integrity: undefined }), /a has no sha512 integrity/],
    ['a weak hash', lockOf({ integrity: `sha1-${'a'.repeat(27)}=` }), /a has no sha512 integrity/],
    ['a repository as source', lockOf({ resolved: 'git+ssh://git@example.com/a.git#1' }), /a is fixed to "git\+ssh:/],
    ['another registry', lockOf({ resolved: 'https://evil.test/a.tgz' }), /a is fixed to "https:/],
    ['a link', lockOf({ link: true }), /a is a link/],
    ['an install script', lockOf({ hasInstallScript: true }), /a runs a script/],
    ['a licence that is not allowed', lockOf({ license: 'GPL-3.0-only' }), /a has the licence GPL-3.0-only/],
    ['no licence', lockOf({ license: undefined }), /a has the licence \(none\)/],
    ['another dependency', lockOf({}, { dependencies: { a: '1.2.4' } }), /dependencies differ/],
    ['an older format', { lockfileVersion: 2 }, /lockfileVersion is 2/],
  ];
  for (const [name, lock, says] of cases) {
    it(`finds ${name}`, () => {
      const found = auditLock(lock, MANIFEST);
      expect(found).to.have.length(1);
      expect(found[0]).to.match(says);
    });
  }

  it('finds a range', () => {
    const manifest = { devDependencies: { a: '^1.2.3' } };
    expect(auditLock(lockOf({}, manifest), manifest)).to.deep.equal(['devDependencies.a is "^1.2.3", not one version']);
  });
});

describe('advisories', () => {
  it('none', () => {
    expect(advisoriesIn('{"vulnerabilities":{}}')).to.deep.equal({ kind: 'none', lines: ['none'] });
  });

  it('are reported with severity, range, title and what depends on them', () => {
    const report = {
      vulnerabilities: {
        a: { severity: 'high', range: '<2', via: [{ title: 'Overflow', url: 'https://example.test/1' }] },
        b: { severity: 'high', range: '*', via: ['a'] },
      },
    };
    expect(advisoriesIn(JSON.stringify(report))).to.deep.equal({
      kind: 'found',
      lines: ['high: a <2 (Overflow https://example.test/1)', 'high: b * (by a)'],
    });
  });

  const silent: readonly { name: string; text: string; failure?: string; says: RegExp }[] = [
    {
      name: 'a registry that refuses',
      text: '{"message":"405 Method Not Allowed - POST https://r.test/x"}',
      says: /\(405 Method Not Allowed\)/,
    },
    { name: 'no answer at all', text: '', says: /printed no report/ },
    { name: 'no npm', text: '', failure: 'spawn npm ENOENT', says: /ENOENT/ },
  ];
  for (const { name, text, failure, says } of silent) {
    it(`${name} is not the same as none`, () => {
      const { kind, lines } = advisoriesIn(text, failure);
      expect(kind).to.equal('unknown');
      expect(lines.join()).to.match(says).and.not.contain('r.test');
    });
  }
});
