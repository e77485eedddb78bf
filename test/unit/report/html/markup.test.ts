// Whatever is put into a template is text, never markup.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { anyCharacter } from '../../../fixtures/any-character.ts';
import { NOTHING, escapeText, markup, sentence, trusted } from '../../../../pkg/report/html/document.ts';

describe('report: markup', () => {
  it('escapes texts, keeps numbers, lists and markup', () => {
    const inner = markup`<b>${'<i>'}</b>`;
    expect(markup`<p title="${'"\'&'}">${[1, inner, ' ', NOTHING]}</p>`.text).to.equal(
      '<p title="&quot;&#39;&amp;">1<b>&lt;i&gt;</b> </p>',
    );
  });

  it('takes the text of this project as it is', () => {
    expect(markup`<style>${trusted('a > b {}')}</style>`.text).to.equal('<style>a > b {}</style>');
  });

  it('leaves nothing that could end a text or a quoted attribute, whatever comes', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 40 }), (text) => {
        const escaped = escapeText(text);
        expect(escaped).not.to.match(/[<>"'\u0000-\u001F\u202A-\u202E\u2066-\u2069]/);
        expect(escaped.replaceAll(/&(?:amp|lt|gt|quot|#39);/g, '')).not.to.contain('&');
      }),
    );
  });

  it('sets names in backticks as code, and escapes them', () => {
    expect(sentence('Set `<x>` or `y`.').text).to.equal('Set <code>&lt;x&gt;</code> or <code>y</code>.');
    expect(sentence('No code.').text).to.equal('No code.');
  });
});
