import { parseJsonText, SseScanner } from '../kernel';

interface ChatChunk {
  readonly model?: unknown;
  readonly choices?: readonly { readonly delta?: { readonly content?: unknown } }[];
  readonly error?: { readonly code?: unknown; readonly message?: unknown };
}

/** Reason a reply broke off, in the words of the gateway's API. */
export interface StreamProblem {
  readonly code: string;
  readonly message: string;
}

const MAX_REPLY_LENGTH = 2_000_000;

export class ReplyText {
  text = '';
  model: string | null = null;
  problem: StreamProblem | null = null;
  private newText = '';
  private readonly scanner = new SseScanner({ onText: (data) => this.readData(data) });

  push(chunk: Buffer): string {
    this.newText = '';
    this.scanner.push(chunk);
    return this.newText;
  }

  private readData(data: string): void {
    if (data === '[DONE]') return;
    const { model, choices, error } = parseChunk(data);
    if (typeof model === 'string') this.model ??= model;
    if (error !== undefined) {
      this.problem = { code: String(error.code), message: String(error.message) };
      return;
    }
    const content = choices?.[0]?.delta?.content;
    if (typeof content !== 'string') return;
    this.newText += content;
    if (this.text.length < MAX_REPLY_LENGTH) this.text += content;
  }
}

/** Returns an empty chunk for data that is not JSON: a supplier's bytes pass through unchecked. */
function parseChunk(data: string): ChatChunk {
  try {
    const chunk: unknown = parseJsonText(data);
    return typeof chunk === 'object' && chunk !== null ? chunk : {};
  } catch {
    return {};
  }
}
