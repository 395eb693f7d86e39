import { parseJsonText, SseScanner } from '../kernel';

interface Chunk {
  readonly model?: unknown;
  readonly choices?: readonly { readonly delta?: { readonly content?: unknown } }[];
  readonly error?: { readonly code?: unknown; readonly message?: unknown };
}

/** An answer broke off for this reason, in the words for a caller of the gateway. */
export interface StreamProblem {
  readonly code: string;
  readonly message: string;
}

/** So much of an answer is kept. */
const MOST_CHARACTERS = 2_000_000;

/** Reads what was said out of a stream of the chat dialect. */
export class AnswerText {
  text = '';
  /** The stream names the model that answers. */
  model: string | null = null;
  problem: StreamProblem | null = null;
  private fresh = '';
  private readonly scanner = new SseScanner({ onText: (data) => this.take(data) });

  /** The answer is the text that came since the last piece. */
  push(chunk: Buffer): string {
    this.fresh = '';
    this.scanner.push(chunk);
    return this.fresh;
  }

  private take(data: string): void {
    if (data === '[DONE]') return;
    const { model, choices, error } = chunkOf(data);
    if (typeof model === 'string') this.model ??= model;
    if (error !== undefined) {
      this.problem = { code: String(error.code), message: String(error.message) };
      return;
    }
    const said = choices?.[0]?.delta?.content;
    if (typeof said !== 'string') return;
    this.fresh += said;
    if (this.text.length < MOST_CHARACTERS) this.text += said;
  }
}

/** A supplier's own bytes pass through: what is no JSON says nothing. */
function chunkOf(data: string): Chunk {
  try {
    const chunk: unknown = parseJsonText(data);
    return typeof chunk === 'object' && chunk !== null ? chunk : {};
  } catch {
    return {};
  }
}
