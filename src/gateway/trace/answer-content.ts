import { type JsonFields, parseJsonText, SseScanner } from '../../kernel';
import { type CanonicalEvent, isRecord, pick, type UnifiedFinish } from '../../protocol';
import type { TextOperation } from '../operations/operation';
import { argumentsOf, type Message, type Part, textPart } from './content-messages';

/** The words of the schema of 1.41, which wanted one of them in each message. */
const finishes: Readonly<Record<UnifiedFinish, string>> = {
  stop: 'stop',
  'stop-sequence': 'stop',
  length: 'length',
  'context-length': 'length',
  'tool-calls': 'tool_call',
  'content-filter': 'content_filter',
  pause: 'stop',
  unknown: 'error',
};

interface Open {
  readonly type: 'text' | 'reasoning' | 'tool';
  readonly id?: string;
  readonly name?: string;
  text: string;
}

/** One answer as its caller got it, as far as there is room for it. */
class AnswerParts {
  isCut = false;
  private finish: UnifiedFinish | null = null;
  private readonly parts: Open[] = [];
  private readonly tools = new Map<number, Open>();

  constructor(private room: number) {}

  readonly push = (event: CanonicalEvent): void => {
    switch (event.type) {
      case 'text-delta':
      case 'reasoning-delta':
        return this.add(this.openOf(event.type === 'text-delta' ? 'text' : 'reasoning'), event.text);
      case 'refusal':
        return this.add(this.openOf('text'), event.text);
      case 'tool-start': {
        const tool: Open = { type: 'tool', id: event.id, name: event.name, text: '' };
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

  message(tellsFinish: boolean): Message {
    const finish = this.finish === null ? 'error' : finishes[this.finish];
    return {
      role: 'assistant',
      parts: this.parts.map(partOf),
      ...(tellsFinish && { finish_reason: finish }),
    };
  }

  private openOf(type: 'text' | 'reasoning'): Open {
    const last = this.parts.at(-1);
    if (last?.type === type) return last;
    const open: Open = { type, text: '' };
    this.parts.push(open);
    return open;
  }

  private add(open: Open, text: string): void {
    if (this.isCut) return;
    this.isCut = text.length > this.room;
    open.text += this.isCut ? text.slice(0, this.room) : text;
    this.room -= text.length;
  }
}

function partOf({ type, id, name, text }: Open): Part {
  if (type === 'text') return textPart(text);
  if (type === 'reasoning') return { type, content: text };
  return { type: 'tool_call', id, name, arguments: argumentsOf(text) };
}

interface Reader {
  push(bytes: Buffer): unknown;
}

/** Reads what leaves to a caller: pieces of a stream as they go, or a whole body. */
export class AnswerContent {
  private readonly first: AnswerParts;
  private answers: readonly AnswerParts[];
  private reader: Reader | null = null;
  private hasFailed = false;
  private isStream = false;

  constructor(
    private readonly operation: TextOperation,
    private readonly most: number,
    private readonly choices: number,
  ) {
    this.first = new AnswerParts(most);
    this.answers = [this.first];
  }

  get isCut(): boolean {
    const isOneOfMany = this.isStream && this.choices > 1;
    return isOneOfMany || this.hasFailed || this.answers.some((answer) => answer.isCut);
  }

  /** A piece of a stream. Of several answers in one stream, the first is read. */
  readonly add = (piece: Buffer | string): void => {
    this.isStream = true;
    if (this.hasFailed || this.first.isCut || piece.length === 0) return;
    this.reading(() => {
      this.reader ??= this.readerOf();
      this.reader.push(Buffer.from(piece));
    });
  };

  whole(body: Buffer): void {
    this.reading(() => {
      const answer: unknown = parseJsonText(body.toString('utf8'));
      if (!isRecord(answer)) return;
      this.answers = onesIn(answer).map((one) => this.readOne(one));
    });
  }

  messages(tellsFinish: boolean): readonly Message[] {
    return this.answers.map((answer) => answer.message(tellsFinish)).filter(({ parts }) => parts.length > 0);
  }

  /** Nobody's request fails because of what is told of it. */
  private reading(work: () => void): void {
    try {
      work();
    } catch {
      this.hasFailed = true;
    }
  }

  private readOne(answer: JsonFields): AnswerParts {
    const parts = new AnswerParts(this.most);
    const { operation } = this;
    if (operation.name === 'completions') pushPiece(parts, answer);
    else for (const event of operation.dialect.decodeAnswer(answer).events) parts.push(event);
    return parts;
  }

  private readerOf(): Reader {
    const { operation, first } = this;
    if (operation.name !== 'completions') return operation.dialect.streamDecoder({ emit: first.push });
    return new SseScanner({
      onText: (text, isWhole) => {
        if (isWhole && text.startsWith('{')) pushPiece(first, parseJsonText(text));
      },
    });
  }
}

/** Several answers of one body, each as a body of its own. */
function onesIn(answer: JsonFields): readonly JsonFields[] {
  const { choices } = answer;
  if (!Array.isArray(choices) || choices.length < 2) return [answer];
  return choices.map((choice: unknown) => ({ ...answer, choices: [choice] }));
}

/** The older completions have their text beside no message. */
function pushPiece(parts: AnswerParts, answer: unknown): void {
  const choices = pick(answer, 'choices');
  const text = pick(Array.isArray(choices) ? choices[0] : null, 'text');
  if (typeof text === 'string') parts.push({ type: 'text-delta', text });
}
