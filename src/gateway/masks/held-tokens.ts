import type { JsonObject } from '../../protocol';

/** More tokens of one choice are left out. */
const MOST_HELD = 50_000;

/** The tokens of a choice, held back until it is known whether something of its text is masked. */
export class HeldTokens {
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
      if (this.count <= MOST_HELD) earlier.push(...(value as readonly unknown[]));
    }
  }

  take(): JsonObject | null {
    const held = this.count > MOST_HELD ? null : this.held;
    this.held = null;
    return held;
  }
}
