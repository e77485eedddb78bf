import { expect } from 'chai';
import { describe, it } from 'mocha';
import { partsFigure } from '../../../hack/generate/parts-figure.ts';
import { COMMANDS } from '../../../pkg/apis/names.ts';

describe('the picture of the parts', () => {
  it('has a box of our colour for each command and the plug-in, and arrows that end in a head', async () => {
    const svg = await partsFigure.render();
    const ours = [...svg.matchAll(/<rect class="first"[^>]*>\n<text class="name"[^>]*>([^<]+)</g)].map(
      ([, name]) => name,
    );
    expect(ours).to.have.members([...Object.values(COMMANDS), 'kubectl topology']);
    const arrows = svg.match(/<path class="arrow[^>]*>/g) ?? [];
    expect(arrows).to.have.length.above(Object.keys(COMMANDS).length);
    for (const arrow of arrows) expect(arrow).to.contain('marker-end="url(#head)"');
  });
});
