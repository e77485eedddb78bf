import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { architectureFigure } from '../../../hack/generate/architecture-figure.ts';
import { neededArrows } from '../../../hack/generate/architecture.ts';
import { LAYERS } from '../../../hack/lib/layers.ts';

/** Layers that a layer reaches by the arrows that are drawn. */
const reached = (name: string): Set<string> =>
  new Set(neededArrows(name).flatMap((target) => [target, ...reached(target)]));

describe('the picture of the layers', () => {
  let svg: string;
  before(async () => {
    svg = await architectureFigure.render();
  });

  it('has a box for every layer', () => {
    const names = [...svg.matchAll(/class="name"[^>]*>(?:pkg\/)?(\w+)</g)].map(([, name]) => name);
    expect(names).to.have.members(Object.keys(LAYERS));
  });

  it('draws each arrow that is needed, and no other', () => {
    const needed = Object.keys(LAYERS).flatMap(neededArrows);
    expect(svg.match(/class="arrow"/g)).to.have.lengthOf(needed.length);
  });

  it('leads by arrows to all that a layer may import', () => {
    for (const [name, { layers }] of Object.entries(LAYERS))
      expect([...reached(name)], name).to.include.members([...layers]);
  });

  it('leads no arrow through a box, and no box over another', () => {
    const boxes = [...svg.matchAll(/<rect class="\w+" x="([\d.]+)" y="([\d.]+)" width="(\d+)" height="48"/g)].map(
      ([, x, y, width]) => ({ left: Number(x), right: Number(x) + Number(width), top: Number(y) }),
    );
    // Where an arrow passes a row it goes straight down from its top edge.
    const passing = [...svg.matchAll(/([\d.]+),([\d.]+) V([\d.]+)/g)].map(([, x, y]) => ({
      x: Number(x),
      top: Number(y),
    }));
    expect(boxes).to.have.lengthOf(Object.keys(LAYERS).length);
    expect(passing).not.to.be.empty;
    for (const { x, top } of passing)
      expect(boxes.filter((box) => box.top === top && box.left < x && x < box.right)).to.deep.equal([]);
    for (const box of boxes)
      expect(
        boxes.filter(
          (other) => other !== box && other.top === box.top && other.left < box.right && other.right > box.left,
        ),
      ).to.deep.equal([]);
  });
});
