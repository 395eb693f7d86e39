const MODE_BITS = 41;
const MOST_MODES = 64;

/**
 * Packets of Vorbis are measured by the three heads of their stream, one after the other. A packet names a
 * mode, and a mode the shorter or the longer block. A packet makes no more than half of its block and half of
 * the one before.
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
  let before = long;
  return (packet) => {
    const mode = ((packet[0] ?? 0) >> 1) & ((1 << modeBits) - 1);
    const block = modes === null || (modes[mode] ?? true) ? long : short;
    const samples = (before + block) / 4;
    before = block;
    return samples / rate;
  };
}

/**
 * The modes stand at the end of the set-up, after their number. Each is a bit for the longer block, 32 bits
 * of nothing and the number of a mapping. They are read from the end, since all before them takes a decoder
 * to read.
 */
function modesOf(setup: Buffer): readonly boolean[] | null {
  const bit = (at: number): number => ((setup[at >> 3] ?? 0) >> (at & 7)) & 1;
  const number = (at: number, bits: number): number => {
    let value = 0;
    for (let place = 0; place < bits; place += 1) value += bit(at + place) * 2 ** place;
    return value;
  };
  let end = setup.length * 8 - 1;
  while (end > 0 && bit(end) === 0) end -= 1;
  const longs: boolean[] = [];
  let found: readonly boolean[] | null = null;
  for (let at = end - MODE_BITS; at > 56 && longs.length < MOST_MODES; at -= MODE_BITS) {
    if (number(at + 1, 32) !== 0 || number(at + 33, 8) >= MOST_MODES) break;
    longs.unshift(bit(at) === 1);
    if (number(at - 6, 6) + 1 === longs.length) found = [...longs];
  }
  return found;
}
