const MODE_BITS = 41;
const MAX_MODES = 64;

/**
 * Measures Vorbis packets, set up by the stream's three concatenated headers. A packet's mode selects the short or long
 * block; it plays half of that block and half of the previous one.
 */
export function vorbisPackets(heads: Buffer): ((packet: Buffer) => number) | null {
  const setup = heads.indexOf('\x05vorbis', 30, 'latin1');
  if (heads.toString('latin1', 0, 7) !== '\x01vorbis' || heads.length < 30) return null;
  const rate = heads.readUInt32LE(12);
  const sizes = heads.readUInt8(28);
  if (rate === 0) return null;
  const [short, long] = [2 ** (sizes & 15), 2 ** (sizes >> 4)].sort((a, b) => a - b) as [number, number];
  const modes = setup === -1 ? null : modesOf(heads.subarray(setup));
  const modeBits = modes === null ? 0 : Math.ceil(Math.log2(modes.length));
  let previousBlock = long;
  return (packet) => {
    const mode = ((packet[0] ?? 0) >> 1) & ((1 << modeBits) - 1);
    const block = modes === null || (modes[mode] ?? true) ? long : short;
    const samples = (previousBlock + block) / 4;
    previousBlock = block;
    return samples / rate;
  };
}

/**
 * Reads the modes from the end of the setup, as everything before them needs a full decoder. Each has a bit for the
 * long block, 32 zero bits and a mapping number.
 */
function modesOf(setup: Buffer): readonly boolean[] | null {
  const bit = (at: number): number => ((setup[at >> 3] ?? 0) >> (at & 7)) & 1;
  const number = (at: number, bits: number): number => {
    let value = 0;
    for (let index = 0; index < bits; index += 1) value += bit(at + index) * 2 ** index;
    return value;
  };
  let end = setup.length * 8 - 1;
  while (end > 0 && bit(end) === 0) end -= 1;
  const longs: boolean[] = [];
  let modes: readonly boolean[] | null = null;
  for (let at = end - MODE_BITS; at > 56 && longs.length < MAX_MODES; at -= MODE_BITS) {
    if (number(at + 1, 32) !== 0 || number(at + 33, 8) >= MAX_MODES) break;
    longs.unshift(bit(at) === 1);
    if (number(at - 6, 6) + 1 === longs.length) modes = [...longs];
  }
  return modes;
}
