import type { GateRecord } from '../../audit';

/** The verdicts as they stand now; null without any. */
export const recorded = (gates: readonly GateRecord[] | null | undefined): readonly GateRecord[] | null =>
  gates === null || gates === undefined || gates.length === 0 ? null : [...gates];
