/** One model made this of a request. */
export interface Outcome {
  readonly model: string;
  /** It goes from 0 to 1. */
  readonly score: number;
  readonly tokensOut: number;
  readonly latencyMs?: number;
}

/** A scored request. Nothing of its words is in it but salted hashes. */
export interface Example {
  /** Outcomes with the same id are learned once for each model. */
  readonly id: string;
  /** It was asked at this time, in ms since 1970. */
  readonly at: number;
  /** Scores are trusted in proportion to their weight, which is above 0; at 1 they are fully trusted. */
  readonly weight: number;
  readonly bucket: string;
  readonly tokensIn: number;
  readonly structure: Float32Array;
  readonly hashes: Uint16Array;
  readonly counts: Uint8Array;
  readonly outcomes: readonly Outcome[];
}

/** An example as JSON: vectors are base64 of little-endian numbers. */
export interface StoredExample {
  readonly id: string;
  readonly at: number;
  readonly weight: number;
  readonly bucket: string;
  readonly tokensIn: number;
  readonly structure: string;
  readonly hashes: string;
  readonly counts: string;
  readonly outcomes: readonly Outcome[];
}

export const storedExample = (example: Example): StoredExample => ({
  ...example,
  structure: base64(example.structure),
  hashes: base64(example.hashes),
  counts: base64(example.counts),
});

export const loadedExample = (stored: StoredExample): Example => ({
  ...stored,
  structure: new Float32Array(bytes(stored.structure)),
  hashes: new Uint16Array(bytes(stored.hashes)),
  counts: new Uint8Array(bytes(stored.counts)),
});

export const base64 = (vector: ArrayBufferView): string =>
  Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64');

/** A buffer of its own: one out of the pool may begin at an odd address. */
export const bytes = (text: string): ArrayBuffer => {
  const read = Buffer.from(text, 'base64');
  return read.buffer.slice(read.byteOffset, read.byteOffset + read.byteLength);
};
