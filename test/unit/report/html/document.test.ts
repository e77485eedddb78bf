// The policy of a page lets in its own style and script, by their digests, and nothing else.
import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { markup, renderPage } from '../../../../pkg/report/html/document.ts';

const page = renderPage({
  title: '<Title>',
  style: 'p > a {}',
  script: 'if (1 < 2) run();',
  body: markup`<p>${'</p>'}</p>`,
});

const inside = (tag: string): string => new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(page)?.[1] ?? '';
const digest = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

describe('report: document', () => {
  it('names style and script by the digests of what stands in the page', () => {
    const policy = (/http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(page)?.[1] ?? '').replaceAll(
      '&#39;',
      "'",
    );
    expect(policy.split('; ')).to.deep.equal([
      "default-src 'none'",
      `style-src ${digest(inside('style'))}`,
      `script-src ${digest(inside('script'))}`,
      'img-src data:',
      "base-uri 'none'",
      "form-action 'none'",
    ]);
    expect(inside('style')).to.equal('p > a {}');
    expect(inside('script')).to.equal('if (1 < 2) run();');
  });

  it('escapes the title and begins as HTML does', () => {
    expect(page.startsWith('<!doctype html>\n<html lang="en">')).to.equal(true);
    expect(inside('title')).to.equal('&lt;Title&gt;');
    expect(page).to.contain('<p>&lt;/p&gt;</p>');
  });
});
