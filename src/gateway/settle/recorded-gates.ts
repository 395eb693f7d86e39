import type { GateRecord } from '../../audit';

export const recordedGates = (
  gates: readonly GateRecord[] | null | undefined,
): readonly GateRecord[] | null =>
  gates === null || gates === undefined || gates.length === 0 ? null : [...gates];
