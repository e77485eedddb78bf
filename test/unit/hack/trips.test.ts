import { expect } from 'chai';
import { describe, it } from 'mocha';
import { trips, tripsFigure } from '../../../hack/generate/trips.ts';
import { TRIPS } from '../../../hack/lib/trips.ts';

describe('the picture of the trips', () => {
  it('has a box for each file, joined by arrows, and pure decisions in a colour of their own', async () => {
    const svg = await tripsFigure.render();
    const steps = TRIPS.flatMap((trip) => trip.steps);
    expect(svg.match(/class="name"/g)).to.have.lengthOf(steps.length);
    expect(svg.match(/<path class="arrow/g)).to.have.lengthOf(steps.length - TRIPS.length);
    const pure = steps.filter(({ file }) => /^pkg\/(?:gardener|routing|hints|flow)\//.test(file));
    expect(svg.match(/<rect class="second"[^>]*rx="7"/g)).to.have.lengthOf(pure.length);
  });

  it('names no file that is not there', async () => {
    expect(await trips.render()).to.contain('pkg/hints/decide.ts');
  });
});
