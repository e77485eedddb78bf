// What the rest of the project uses of the hint decision.
export { decideHints, patchText } from './decide.ts';
export { HINT_STRATEGIES, SELECTING_LABELS } from './table.ts';
export type { HintsDecision, HintsInput, HintStrategy } from './table.ts';
