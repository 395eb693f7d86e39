import { randomFillSync } from 'node:crypto';

/** A UUID as four words of 32 bits. */
export type IdWords = Uint32Array;
const wordsPerId = 4;
const roomAtFirst = 512;

/** Callers may choose ids: nobody knows which ones would all belong into one slot. */
const masks = randomFillSync(new Uint32Array(wordsPerId));
const factors = randomFillSync(new Uint32Array(wordsPerId)).map((factor) => factor | 1);

/** Of the id that stands there among the words. */
export function hashOf(words: IdWords, at = 0): number {
  let hash = 0;
  for (let word = 0; word < wordsPerId; word += 1) {
    hash = Math.imul(hash ^ words[at + word]! ^ masks[word]!, factors[word]!);
    hash ^= hash >>> 15;
  }
  return hash;
}

const digitOf = new Uint8Array(128);
for (let digit = 0; digit < 16; digit += 1) digitOf[digit.toString(16).charCodeAt(0)] = digit;

/** Reads a UUID in small letters. */
export function readId(id: string, into: IdWords): IdWords {
  into[0] = (fourDigits(id, 0) << 16) | fourDigits(id, 4);
  into[1] = (fourDigits(id, 9) << 16) | fourDigits(id, 14);
  into[2] = (fourDigits(id, 19) << 16) | fourDigits(id, 24);
  into[3] = (fourDigits(id, 28) << 16) | fourDigits(id, 32);
  return into;
}

export const newIdWords = (): IdWords => new Uint32Array(wordsPerId);

/** UUIDs as numbers outside the heap: as strings in a set, all of them would be copied and marked by the collector. */
export class IdTable {
  private words = new Uint32Array(roomAtFirst * wordsPerId);
  /** Which of the ids is here, counted from one; twice as many as there is room for, so that a free one is near. */
  private slots = new Uint32Array(roomAtFirst * 2);
  private count = 0;

  get room(): number {
    return this.words.length / wordsPerId;
  }

  has(id: IdWords, hash: number): boolean {
    return this.slots[this.slotOf(id, hash)] !== 0;
  }

  /** False where it is here already. */
  add(id: IdWords, hash: number): boolean {
    const slot = this.slotOf(id, hash);
    if (this.slots[slot] !== 0) return false;
    this.words.set(id, this.count * wordsPerId);
    this.count += 1;
    this.slots[slot] = this.count;
    if (this.count === this.room) this.grow();
    return true;
  }

  clear(): void {
    this.count = 0;
    this.slots.fill(0);
  }

  /** Where the id stands, or the free slot where it belongs. */
  private slotOf(id: IdWords, hash: number): number {
    const { slots } = this;
    const last = slots.length - 1;
    let slot = hash & last;
    while (slots[slot] !== 0 && !this.isAt(slots[slot]! - 1, id)) slot = (slot + 1) & last;
    return slot;
  }

  private isAt(place: number, id: IdWords): boolean {
    const own = place * wordsPerId;
    for (let word = 0; word < wordsPerId; word += 1) {
      if (this.words[own + word] !== id[word]) return false;
    }
    return true;
  }

  private grow(): void {
    const larger = new Uint32Array(this.words.length * 2);
    larger.set(this.words);
    this.words = larger;
    this.slots = new Uint32Array(this.slots.length * 2);
    const last = this.slots.length - 1;
    for (let place = 0; place < this.count; place += 1) {
      let slot = hashOf(this.words, place * wordsPerId) & last;
      while (this.slots[slot] !== 0) slot = (slot + 1) & last;
      this.slots[slot] = place + 1;
    }
  }
}

function fourDigits(id: string, at: number): number {
  return (
    (digitOf[id.charCodeAt(at) & 127]! << 12) |
    (digitOf[id.charCodeAt(at + 1) & 127]! << 8) |
    (digitOf[id.charCodeAt(at + 2) & 127]! << 4) |
    digitOf[id.charCodeAt(at + 3) & 127]!
  );
}
