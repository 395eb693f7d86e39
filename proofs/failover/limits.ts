export interface DrillLimits {
  readonly firstTokenMs: number;
  /** For streaming and non-streaming responses; by default the latter may take longer. */
  readonly firstByteMs: number;
  readonly idleMs: number;
  /** Downtime of the primary in the recovery drill. */
  readonly downMs: number;
}

/** A tenth of the product's defaults (see `long`), which shows the same in less time. */
export const shortLimits: DrillLimits = {
  firstTokenMs: 1_000,
  firstByteMs: 4_000,
  idleMs: 3_000,
  downMs: 12_000,
};
export const longLimits: DrillLimits = {
  firstTokenMs: 10_000,
  firstByteMs: 60_000,
  idleMs: 30_000,
  downMs: 60_000,
};
