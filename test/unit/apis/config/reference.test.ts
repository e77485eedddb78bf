import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ENDPOINTSLICE_WEBHOOK_CONFIGURATION } from '../../../../pkg/apis/config/endpointslice-webhook.ts';
import { renderConfigurationReference } from '../../../../pkg/apis/config/reference.ts';
import { SETTINGS_RECONCILER_CONFIGURATION } from '../../../../pkg/apis/config/settings-reconciler.ts';

const FILE = new URL('../../../../docs/reference/configuration.md', import.meta.url);

describe('renderConfigurationReference', () => {
  it('lists nested fields with type, default and meaning', () => {
    const text = renderConfigurationReference([
      {
        kind: 'Sample',
        schema: {
          type: 'object',
          required: ['a'],
          properties: {
            a: {
              type: 'object',
              description: 'One | two.',
              properties: { b: { type: 'integer', minimum: 1, maximum: 9, default: 3 } },
            },
            c: { type: 'string', enum: ['x', 'y'], default: 'x' },
            d: { type: 'array', items: { type: 'string' }, default: [] },
          },
        },
      },
    ]);
    expect(text).to.contain('## Sample');
    expect(text).to.contain('| `a` | object | required | One \\| two. |');
    expect(text).to.contain('| `a.b` | integer, 1 to 9 | `3` |  |');
    expect(text).to.contain('| `c` | `x`, `y` | `"x"` |  |');
    expect(text).to.contain('| `d` | list of string | `[]` |  |');
  });

  const kinds = [SETTINGS_RECONCILER_CONFIGURATION, ENDPOINTSLICE_WEBHOOK_CONFIGURATION];
  for (const { kind, schema } of kinds) {
    it(`docs/reference/configuration.md is up to date for ${kind}`, () => {
      const section = renderConfigurationReference([{ kind, schema }]).split('\n\n').at(-1);
      // The formatter pads tables; cells are what counts.
      const cells = (text: string): string => text.replaceAll(/ *\| */g, '|').replaceAll(/-{3,}/g, '---');
      expect(cells(readFileSync(FILE, 'utf8'))).to.contain(cells(section ?? 'no section').trim());
    });
  }

  it('describes every value of the settings reconciler', () => {
    const missing = renderConfigurationReference([SETTINGS_RECONCILER_CONFIGURATION])
      .split('\n')
      .filter((line) => line.startsWith('| `') && line.endsWith('|  |') && !line.includes('| object |'));
    expect(missing).to.deep.equal([]);
  });
});
