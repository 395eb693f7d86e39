import { type Fault, fault, formatEvent, parseJsonText, SseScanner } from '../../kernel';
import { type Dialect, isRecord, type JsonObject } from '../../protocol';
import type { AnswerMasks } from './answer-masks';
import { ChatMasks } from './chat-masks';
import type { EventMasks, Fate, OpenText } from './event-masks';
import { EventTemplate } from './event-template';
import { MaskFailed } from './mask-run';
import { MessagesMasks } from './messages-masks';
import { ResponsesMasks } from './responses-masks';

const nothing = Buffer.alloc(0);

export const maskFault = (failure: MaskFailed): Fault =>
  fault('service_unavailable', {
    message: `The gate ${failure.gate}, which every answer has to pass, failed. Try again shortly.`,
    details: { gate: failure.gate, stage: 'answer' },
    cause: failure,
  });

const masksOf = ({ name }: Dialect, masks: AnswerMasks): EventMasks => {
  if (name === 'chat') return new ChatMasks(masks);
  return name === 'messages' ? new MessagesMasks(masks) : new ResponsesMasks(masks);
};

/**
 * The last thing that happens to a stream: its events as the caller may see them. What has no text passes byte for
 * byte. It is given whole events only.
 */
export class MaskedStream {
  /** A mask failed, and nothing goes on without it. */
  failure: Fault | null = null;
  private readonly events: EventMasks;
  private readonly scanner = new SseScanner({
    onText: (text, complete) => this.read(text, complete),
    maxEventBytes: Infinity,
  });
  private out: (Buffer | string)[] = [];
  /** The bytes that are being read; they begin at `from` in the stream, and up to `passed` they are done with. */
  private bytes: Buffer = nothing;
  private from = 0;
  private passed = 0;
  private template: EventTemplate | null = null;

  constructor(
    private readonly dialect: Dialect,
    private readonly masks: AnswerMasks,
  ) {
    this.events = masksOf(dialect, masks);
  }

  take(piece: Buffer | string): Buffer | string {
    if (this.failure !== null || piece.length === 0) return nothing;
    const rest = this.template === null ? piece : this.takeAlike(this.template, piece);
    if (rest === null) return piece;
    const begun = rest === piece ? '' : this.alike;
    if (rest.length === 0 || this.failure !== null) return begun;
    this.bytes = typeof rest === 'string' ? Buffer.from(rest) : rest;
    this.out = begun === '' ? [] : [begun];
    this.scanner.push(this.bytes);
    if (this.failure === null) this.pass(this.scanner.blockEnd);
    this.from += this.bytes.length;
    const { out } = this;
    this.bytes = nothing;
    if (out.length === 1) return out[0]!;
    return out.every((each) => typeof each === 'string')
      ? out.join('')
      : Buffer.concat(out.map((each) => (typeof each === 'string' ? Buffer.from(each) : each)));
  }

  /** What became of the events at the beginning that are like the one before. */
  private alike = '';

  /** What follows those events; null where they are all, and stay as they are. */
  private takeAlike(template: EventTemplate, piece: Buffer | string): Buffer | string | null {
    const { events } = this;
    const text = typeof piece === 'string' ? piece : piece.toString('utf8');
    let differs = false;
    let at = 0;
    this.alike = '';
    try {
      for (let match = template.match(text, at); match !== null; match = template.match(text, at)) {
        const { piece: came, number } = match;
        const shown = template.open.mask.push(came);
        const moved = Number(number) + events.shift;
        differs ||= shown !== came || events.shift > 0;
        this.alike += differs ? template.written(shown, moved) : text.slice(at, match.end);
        at = match.end;
        if (number !== '') events.passed(moved);
      }
    } catch (cause) {
      this.fail(cause);
      return '';
    }
    if (at === 0) return piece;
    if (at < text.length) return text.slice(at);
    return differs ? '' : null;
  }

  private fail(cause: unknown): void {
    this.failure = cause instanceof MaskFailed ? maskFault(cause) : fault('internal_error', { cause });
  }

  /** The failure as the last event, with nothing of what was held back. */
  failureEvent(problem: Fault, requestId: string, model: string, echo: JsonObject): string {
    const watcher = this.dialect.streamWatcher(false);
    const { opening } = this.events;
    if (opening !== null) watcher.watch(opening);
    return watcher.failureEvent(problem, requestId, model, echo);
  }

  private read(text: string, complete: boolean): void {
    if (this.failure !== null || !complete) return;
    const { scanner, events } = this;
    const event = parsed(text);
    const { changes } = this.masks;
    let fate: Fate;
    try {
      fate =
        event === null
          ? this.over(text)
          : events.read(event, (isChanged) => (isChanged ? this.written(event) : this.came()));
    } catch (cause) {
      this.pass(scanner.blockStart);
      this.fail(cause);
      return;
    }
    // What is beside the piece can only be repeated where nothing of it was masked.
    if (this.masks.changes > changes) events.sole = null;
    this.learn();
    if (fate === 'same' && events.before.length === 0) return;
    this.pass(scanner.blockStart);
    for (const before of events.before.splice(0))
      this.out.push(typeof before === 'string' ? before : this.print(before));
    if (fate === 'same') return;
    if (fate === 'changed') this.out.push(this.written(event!));
    this.passed = scanner.blockEnd;
  }

  /** The next event may be like this one. */
  private learn(): void {
    const { sole, before } = this.events;
    if (sole === null || before.length > 0) this.template = null;
    else this.template = EventTemplate.of(this.came(), sole.open, sole.piece) ?? this.ofSame(sole.open);
  }

  /** An event that is spelt in another way does not end the text. */
  private ofSame(open: OpenText): EventTemplate | null {
    return this.template?.open === open ? this.template : null;
  }

  private over(text: string): Fate {
    this.events.sole = null;
    if (text.trim() === '[DONE]') this.events.over();
    return 'same';
  }

  /** Lets the bytes up to a place in the stream go as they are. */
  private pass(to: number): void {
    if (to > this.passed) this.out.push(this.bytes.subarray(this.passed - this.from, to - this.from));
    this.passed = Math.max(this.passed, to);
  }

  /** The event that is being read, as it came. */
  private came(): string {
    const { blockStart, blockEnd } = this.scanner;
    return this.bytes.toString('utf8', blockStart - this.from, blockEnd - this.from);
  }

  private written(event: JsonObject): string {
    return `${this.scanner.otherLines().toString()}data: ${JSON.stringify(event)}\n\n`;
  }

  private print(event: JsonObject): string {
    const { type } = event;
    const data = JSON.stringify(event);
    return formatEvent(typeof type === 'string' ? { event: type, data } : { data });
  }
}

function parsed(text: string): JsonObject | null {
  try {
    const value = parseJsonText(text);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}
