/** A segment of the write-ahead log: 8 digits of timeline, 16 of position. */
const SEGMENT = /^[0-9A-F]{24}$/;
const HISTORY = /^[0-9A-F]{8}\.history$/;

export const isSegment = (name: string): boolean => SEGMENT.test(name);
export const isHistory = (name: string): boolean => HISTORY.test(name);

const hex = (value: bigint): string => value.toString(16).toUpperCase().padStart(8, '0');
const BYTES_PER_FILE = 0x1_0000_0000n;

export function segmentAt(timeline: number, lsn: bigint, segmentBytes: number): string {
  return nameOf(BigInt(timeline), lsn / BigInt(segmentBytes), segmentBytes);
}

export function segmentAfter(name: string, segmentBytes: number): string {
  return nameOf(BigInt(`0x${name.slice(0, 8)}`), numberOf(name, segmentBytes) + 1n, segmentBytes);
}

export const endOfSegment = (name: string, segmentBytes: number): bigint =>
  (numberOf(name, segmentBytes) + 1n) * BigInt(segmentBytes);

/** Parses PostgreSQL's format: two 32-bit numbers separated by a slash. */
export function readLsn(text: string): bigint {
  const [high = '0', low = '0'] = text.split('/');
  return BigInt(`0x${high}`) * BYTES_PER_FILE + BigInt(`0x${low}`);
}

export const writeLsn = (lsn: bigint): string =>
  `${(lsn / BYTES_PER_FILE).toString(16).toUpperCase()}/${(lsn % BYTES_PER_FILE).toString(16).toUpperCase()}`;

export const timelineOf = (name: string): number => parseInt(name.slice(0, 8), 16);

const numberOf = (name: string, segmentBytes: number): bigint =>
  BigInt(`0x${name.slice(8, 16)}`) * (BYTES_PER_FILE / BigInt(segmentBytes)) + BigInt(`0x${name.slice(16)}`);

function nameOf(timeline: bigint, number: bigint, segmentBytes: number): string {
  const perFile = BYTES_PER_FILE / BigInt(segmentBytes);
  return `${hex(timeline)}${hex(number / perFile)}${hex(number % perFile)}`;
}
