import { type Fault, fault, formatEvent, parseJsonText, SseScanner } from '../../kernel';
import { type Dialect, isRecord, type JsonObject } from '../../protocol';
import type { AnswerMasks } from './answer-masks';
import { ChatMasks } from './chat-masks';
import type { EventMasks, EventAction, OpenText } from './event-masks';
import { EventTemplate } from './event-template';
import { MaskError } from './mask-run';
import { MessagesMasks } from './messages-masks';
import { ResponsesMasks } from './responses-masks';

const nothing = Buffer.alloc(0);

export const maskFailureFault = (failure: MaskError): Fault =>
  fault('service_unavailable', {
    message: `The gate ${failure.gate}, which every answer has to pass, failed. Try again shortly.`,
    details: { gate: failure.gate, stage: 'answer' },
    cause: failure,
  });

const createEventMasks = ({ name }: Dialect, masks: AnswerMasks): EventMasks => {
  if (name === 'chat') return new ChatMasks(masks);
  return name === 'messages' ? new MessagesMasks(masks) : new ResponsesMasks(masks);
};

/**
 * Last step of a stream: masks its events for the caller. Accepts only complete events; events without text pass byte
 * for byte.
 */
export class MaskedStream {
  /** Set once a mask failed and its gate fails closed; nothing more is forwarded. */
  failure: Fault | null = null;
  private readonly events: EventMasks;
  private readonly scanner = new SseScanner({
    onText: (text, complete) => this.readEvent(text, complete),
    maxEventBytes: Infinity,
  });
  private out: (Buffer | string)[] = [];
  /** Current chunk, which starts at offset `from` of the stream; bytes up to `doneUpTo` are done. */
  private bytes: Buffer = nothing;
  private from = 0;
  private doneUpTo = 0;
  private template: EventTemplate | null = null;

  constructor(
    private readonly dialect: Dialect,
    private readonly masks: AnswerMasks,
  ) {
    this.events = createEventMasks(dialect, masks);
  }

  take(piece: Buffer | string): Buffer | string {
    if (this.failure !== null || piece.length === 0) return nothing;
    const rest = this.template === null ? piece : this.takeMatching(this.template, piece);
    if (rest === null) return piece;
    const matchedOutput = rest === piece ? '' : this.matchingOutput;
    if (rest.length === 0 || this.failure !== null) return matchedOutput;
    this.bytes = typeof rest === 'string' ? Buffer.from(rest) : rest;
    this.out = matchedOutput === '' ? [] : [matchedOutput];
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

  private matchingOutput = '';

  private takeMatching(template: EventTemplate, piece: Buffer | string): Buffer | string | null {
    const { events } = this;
    const text = typeof piece === 'string' ? piece : piece.toString('utf8');
    let hasChanged = false;
    let offset = 0;
    this.matchingOutput = '';
    try {
      for (let match = template.match(text, offset); match !== null; match = template.match(text, offset)) {
        const { piece: originalPiece, number } = match;
        const maskedPiece = template.open.mask.push(originalPiece);
        const shiftedNumber = Number(number) + events.shift;
        hasChanged ||= maskedPiece !== originalPiece || events.shift > 0;
        this.matchingOutput += hasChanged
          ? template.print(maskedPiece, shiftedNumber)
          : text.slice(offset, match.end);
        offset = match.end;
        if (number !== '') events.noteSent(shiftedNumber);
      }
    } catch (cause) {
      this.fail(cause);
      return '';
    }
    if (offset === 0) return piece;
    if (offset < text.length) return text.slice(offset);
    return hasChanged ? '' : null;
  }

  private fail(cause: unknown): void {
    this.failure = cause instanceof MaskError ? maskFailureFault(cause) : fault('internal_error', { cause });
  }

  failureEvent(problem: Fault, requestId: string, model: string, echo: JsonObject): string {
    const watcher = this.dialect.streamWatcher(false);
    const { opening } = this.events;
    if (opening !== null) watcher.watch(opening);
    return watcher.failureEvent(problem, requestId, model, echo);
  }

  private readEvent(text: string, complete: boolean): void {
    if (this.failure !== null || !complete) return;
    const { scanner, events } = this;
    const event = parseEvent(text);
    const { changes } = this.masks;
    let action: EventAction;
    try {
      action =
        event === null
          ? this.end(text)
          : events.read(event, (isChanged) => (isChanged ? this.printChanged(event) : this.originalText()));
    } catch (cause) {
      this.pass(scanner.blockStart);
      this.fail(cause);
      return;
    }
    // The other parts of the event can be copied only if nothing in them was masked.
    if (this.masks.changes > changes) events.onlyPiece = null;
    this.learnTemplate();
    if (action === 'same' && events.before.length === 0) return;
    this.pass(scanner.blockStart);
    for (const before of events.before.splice(0))
      this.out.push(typeof before === 'string' ? before : this.print(before));
    if (action === 'same') return;
    if (action === 'changed') this.out.push(this.printChanged(event!));
    this.doneUpTo = scanner.blockEnd;
  }

  private learnTemplate(): void {
    const { onlyPiece: sole, before } = this.events;
    if (sole === null || before.length > 0) this.template = null;
    else
      this.template =
        EventTemplate.of(this.originalText(), sole.open, sole.piece) ?? this.currentTemplate(sole.open);
  }

  /** Keeps the template of the same text if this event is spelt differently. */
  private currentTemplate(open: OpenText): EventTemplate | null {
    return this.template?.open === open ? this.template : null;
  }

  private end(text: string): EventAction {
    this.events.onlyPiece = null;
    if (text.trim() === '[DONE]') this.events.end();
    return 'same';
  }

  private pass(to: number): void {
    if (to > this.doneUpTo) this.out.push(this.bytes.subarray(this.doneUpTo - this.from, to - this.from));
    this.doneUpTo = Math.max(this.doneUpTo, to);
  }

  private originalText(): string {
    const { blockStart, blockEnd } = this.scanner;
    return this.bytes.toString('utf8', blockStart - this.from, blockEnd - this.from);
  }

  private printChanged(event: JsonObject): string {
    return `${this.scanner.otherLines().toString()}data: ${JSON.stringify(event)}\n\n`;
  }

  private print(event: JsonObject): string {
    const { type } = event;
    const data = JSON.stringify(event);
    return formatEvent(typeof type === 'string' ? { event: type, data } : { data });
  }
}

function parseEvent(text: string): JsonObject | null {
  try {
    const value = parseJsonText(text);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}
