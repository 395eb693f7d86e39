import { type JsonFields, parseJsonText, SseScanner } from '../../kernel';
import { type CanonicalEvent, isRecord, pick, type UnifiedFinish } from '../../protocol';
import type { TextOperation } from '../operations/operation';
import { parseArguments, type TraceMessage, type TracePart, textPart } from './content-messages';

/** Finish reasons of schema 1.41, which requires one in each message. */
const finishReasons: Readonly<Record<UnifiedFinish, string>> = {
  stop: 'stop',
  'stop-sequence': 'stop',
  length: 'length',
  'context-length': 'length',
  'tool-calls': 'tool_call',
  'content-filter': 'content_filter',
  pause: 'stop',
  unknown: 'error',
};

interface AnswerPart {
  readonly type: 'text' | 'reasoning' | 'tool';
  readonly id?: string;
  readonly name?: string;
  text: string;
}

class AnswerParts {
  isCut = false;
  private finish: UnifiedFinish | null = null;
  private readonly parts: AnswerPart[] = [];
  private readonly tools = new Map<number, AnswerPart>();

  constructor(private remainingLength: number) {}

  readonly push = (event: CanonicalEvent): void => {
    switch (event.type) {
      case 'text-delta':
      case 'reasoning-delta':
        return this.add(this.partOfType(event.type === 'text-delta' ? 'text' : 'reasoning'), event.text);
      case 'refusal':
        return this.add(this.partOfType('text'), event.text);
      case 'tool-start': {
        const tool: AnswerPart = { type: 'tool', id: event.id, name: event.name, text: '' };
        this.parts.push(tool);
        this.tools.set(event.index, tool);
        return;
      }
      case 'tool-arguments-delta':
        return this.add(this.tools.get(event.index)!, event.text);
      case 'message-end':
        this.finish = event.finish.unified;
        return;
      case 'message-start':
      case 'text-start':
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-end':
      case 'reasoning-signature':
      case 'tool-end':
      case 'citation':
      case 'usage-update':
      case 'fault':
    }
  };

  message(hasFinishReason: boolean): TraceMessage {
    const finish = this.finish === null ? 'error' : finishReasons[this.finish];
    return {
      role: 'assistant',
      parts: this.parts.map(toTracePart),
      ...(hasFinishReason && { finish_reason: finish }),
    };
  }

  private partOfType(type: 'text' | 'reasoning'): AnswerPart {
    const last = this.parts.at(-1);
    if (last?.type === type) return last;
    const part: AnswerPart = { type, text: '' };
    this.parts.push(part);
    return part;
  }

  private add(part: AnswerPart, text: string): void {
    if (this.isCut) return;
    this.isCut = text.length > this.remainingLength;
    part.text += this.isCut ? text.slice(0, this.remainingLength) : text;
    this.remainingLength -= text.length;
  }
}

function toTracePart({ type, id, name, text }: AnswerPart): TracePart {
  if (type === 'text') return textPart(text);
  if (type === 'reasoning') return { type, content: text };
  return { type: 'tool_call', id, name, arguments: parseArguments(text) };
}

interface AnswerPieceReader {
  push(bytes: Buffer): unknown;
}

export class TracedAnswer {
  private readonly first: AnswerParts;
  private answers: readonly AnswerParts[];
  private reader: AnswerPieceReader | null = null;
  private hasFailed = false;
  private isStream = false;

  constructor(
    private readonly operation: TextOperation,
    private readonly maxLength: number,
    private readonly choices: number,
  ) {
    this.first = new AnswerParts(maxLength);
    this.answers = [this.first];
  }

  get isCut(): boolean {
    const hasOtherChoices = this.isStream && this.choices > 1;
    return hasOtherChoices || this.hasFailed || this.answers.some((answer) => answer.isCut);
  }

  /** Adds a piece of a stream. With several choices in one stream, only the first is read. */
  readonly add = (piece: Buffer | string): void => {
    this.isStream = true;
    if (this.hasFailed || this.first.isCut || piece.length === 0) return;
    this.readSafely(() => {
      this.reader ??= this.createReader();
      this.reader.push(Buffer.from(piece));
    });
  };

  addComplete(body: Buffer): void {
    this.readSafely(() => {
      const answer: unknown = parseJsonText(body.toString('utf8'));
      if (!isRecord(answer)) return;
      this.answers = splitChoices(answer).map((choice) => this.readOne(choice));
    });
  }

  messages(hasFinishReason: boolean): readonly TraceMessage[] {
    return this.answers
      .map((answer) => answer.message(hasFinishReason))
      .filter(({ parts }) => parts.length > 0);
  }

  /** A request must not fail because of its tracing. */
  private readSafely(work: () => void): void {
    try {
      work();
    } catch {
      this.hasFailed = true;
    }
  }

  private readOne(answer: JsonFields): AnswerParts {
    const parts = new AnswerParts(this.maxLength);
    const { operation } = this;
    if (operation.name === 'completions') pushPiece(parts, answer);
    else for (const event of operation.dialect.decodeAnswer(answer).events) parts.push(event);
    return parts;
  }

  private createReader(): AnswerPieceReader {
    const { operation, first } = this;
    if (operation.name !== 'completions') return operation.dialect.streamDecoder({ emit: first.push });
    return new SseScanner({
      onText: (text, isWhole) => {
        if (isWhole && text.startsWith('{')) pushPiece(first, parseJsonText(text));
      },
    });
  }
}

function splitChoices(answer: JsonFields): readonly JsonFields[] {
  const { choices } = answer;
  if (!Array.isArray(choices) || choices.length < 2) return [answer];
  return choices.map((choice: unknown) => ({ ...answer, choices: [choice] }));
}

/** Legacy completions hold their text outside a message. */
function pushPiece(parts: AnswerParts, answer: unknown): void {
  const choices = pick(answer, 'choices');
  const text = pick(Array.isArray(choices) ? choices[0] : null, 'text');
  if (typeof text === 'string') parts.push({ type: 'text-delta', text });
}
