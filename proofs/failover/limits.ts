export interface Limits {
  readonly firstTokenMs: number;
  /** Of streams and of whole answers alike, which by default may take longer. */
  readonly firstByteMs: number;
  readonly idleMs: number;
  /** The primary of the recovery drill is down for so long. */
  readonly downMs: number;
}

/** The product's own limits are as in `long`; a tenth of them shows the same in bearable time. */
export const shortLimits: Limits = { firstTokenMs: 1_000, firstByteMs: 4_000, idleMs: 3_000, downMs: 12_000 };
export const longLimits: Limits = {
  firstTokenMs: 10_000,
  firstByteMs: 60_000,
  idleMs: 30_000,
  downMs: 60_000,
};
