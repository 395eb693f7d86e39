import { pieceMemory } from '../../../../src/platform/http/wire/piece-memory';

const PIECE_BYTES = 16 * 1024;
const MEBIBYTE = 1024 * 1024;

describe('the memory of pieces', () => {
  it('does not pile up while a long answer passes', () => {
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    for (let passed = 0; passed < 512 * MEBIBYTE; passed += PIECE_BYTES) {
      pieceMemory(PIECE_BYTES);
      if (passed % MEBIBYTE === 0) most = Math.max(most, process.memoryUsage().arrayBuffers - before);
    }
    expect(most).toBeLessThan(24 * MEBIBYTE);
  });

  it('is as long as asked for, and stays while it is held', () => {
    const held = pieceMemory(PIECE_BYTES).fill('held');
    for (let passed = 0; passed < 32 * MEBIBYTE; passed += PIECE_BYTES) pieceMemory(PIECE_BYTES).fill('lost');
    expect(held.equals(Buffer.alloc(PIECE_BYTES, 'held'))).toBe(true);
  });
});
