export interface ExampleOutcome {
  readonly model: string;
  /** From 0 to 1. */
  readonly score: number;
  readonly tokensOut: number;
  readonly latencyMs?: number;
}

/** A scored request. Of its text it contains only salted hashes. */
export interface Example {
  /** Outcomes with the same id are learned once per model. */
  readonly id: string;
  /** Time of the request, in ms since 1970. */
  readonly at: number;
  /** Trust in the scores, above 0; 1 is full trust. */
  readonly weight: number;
  readonly bucket: string;
  readonly tokensIn: number;
  readonly structure: Float32Array;
  readonly hashes: Uint16Array;
  readonly counts: Uint8Array;
  readonly outcomes: readonly ExampleOutcome[];
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
  readonly outcomes: readonly ExampleOutcome[];
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

/** Copies into a separate buffer: a pooled one can start at an odd address. */
export const bytes = (text: string): ArrayBuffer => {
  const buffer = Buffer.from(text, 'base64');
  return buffer.buffer.slice(buffer.byteOffset, buffer.byteOffset + buffer.byteLength);
};
