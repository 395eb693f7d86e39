import type { JsonObject } from '../../protocol';

/** Log probabilities of a choice with more tokens are left out. */
const MAX_HELD_TOKENS = 50_000;

/** Log probabilities of a choice, held back until it is known whether its text is masked. */
export class HeldLogprobs {
  private held: JsonObject | null = null;
  private count = 0;

  add(logprobs: JsonObject): void {
    this.held ??= {};
    for (const [name, value] of Object.entries(logprobs)) {
      const earlier = this.held[name];
      if (!Array.isArray(value) || !Array.isArray(earlier)) {
        this.held[name] = value ?? earlier;
        continue;
      }
      this.count += value.length;
      if (this.count <= MAX_HELD_TOKENS) earlier.push(...(value as readonly unknown[]));
    }
  }

  take(): JsonObject | null {
    const held = this.count > MAX_HELD_TOKENS ? null : this.held;
    this.held = null;
    return held;
  }
}
