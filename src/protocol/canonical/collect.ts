import {
  err,
  type Fault,
  fault,
  JsonText,
  ok,
  printJson,
  readJsonText,
  type Result,
  type Usage,
} from '../../kernel';
import { type CanonicalEvent, type Finish, type ToolStart } from './events';
import { isRecord } from '../usage';
import { parseJsonText } from './fields';
import { type TextSpan } from './citations';
import { type DialectName, type JsonObject } from './request';

interface ResponseText {
  readonly type: 'text' | 'refusal';
  text: string;
  annotations?: JsonObject[];
}
interface ResponseReasoning {
  readonly type: 'reasoning';
  text: string;
  origin?: DialectName;
  signature?: string;
  redacted?: boolean;
}
export interface ResponseToolCall extends Omit<ToolStart, 'type'> {
  readonly type: 'tool';
  arguments: string;
}
export type ResponseBlock = ResponseText | ResponseReasoning | ResponseToolCall;

interface ResponseCitation {
  readonly origin: DialectName;
  readonly value: unknown;
  /** The text block of the citation; `span` is its position in the complete text. */
  readonly block: ResponseBlock | undefined;
  readonly span: TextSpan;
}

export interface CanonicalResponse {
  readonly id: string;
  readonly model: string;
  readonly blocks: readonly ResponseBlock[];
  readonly citations: readonly ResponseCitation[];
  readonly finish: Finish;
  readonly stopSequence?: string;
  readonly usage?: Usage;
}

export const textIn = ({ blocks }: CanonicalResponse, type: 'text' | 'refusal' | 'reasoning'): string =>
  blocks.map((block) => (block.type !== 'tool' && block.type === type ? block.text : '')).join('');

/** Builds a response from events, so that streaming and non-streaming responses can never differ. */
export class ResponseCollector {
  private readonly blocks: ResponseBlock[] = [];
  private readonly tools = new Map<number, ResponseToolCall>();
  private readonly citations: CanonicalResponse['citations'][number][] = [];
  private id = '';
  private model = '';
  private usage: Usage | undefined;
  private end: Extract<CanonicalEvent, { type: 'message-end' }> | undefined;
  private fault: Fault | undefined;

  readonly push = (event: CanonicalEvent): void => {
    switch (event.type) {
      case 'message-start':
        ({ id: this.id, model: this.model, usage: this.usage } = event);
        break;
      case 'text-start':
        this.blocks.push({ type: 'text', text: '' });
        break;
      case 'reasoning-start':
        this.blocks.push({ type: 'reasoning', text: '' });
        break;
      case 'text-delta':
      case 'reasoning-delta':
        this.append(event.type === 'text-delta' ? 'text' : 'reasoning', event.text);
        break;
      case 'refusal':
        if (this.blocks.at(-1)?.type !== 'refusal') this.blocks.push({ type: 'refusal', text: '' });
        this.append('refusal', event.text);
        break;
      case 'reasoning-signature':
        this.sign(event.origin, event.signature, event.redacted);
        break;
      case 'tool-start': {
        const { type: _type, ...start } = event;
        const tool: ResponseToolCall = { type: 'tool', ...start, arguments: '' };
        this.blocks.push(tool);
        this.tools.set(event.index, tool);
        break;
      }
      case 'tool-arguments-delta':
        this.tools.get(event.index)!.arguments += event.text;
        break;
      case 'citation':
        this.citations.push({ origin: event.origin, value: event.value, ...this.citedText() });
        break;
      case 'usage-update':
        this.usage = event.usage;
        break;
      case 'message-end':
        this.end = event;
        break;
      case 'fault':
        this.fault = event.fault;
        break;
      case 'text-end':
      case 'reasoning-end':
      case 'tool-end':
        break;
    }
  };

  result(): Result<CanonicalResponse, Fault> {
    if (this.fault) return err(this.fault);
    if (!this.end) return err(fault('agentcli_incomplete_stream'));
    const { id, model, blocks, citations, usage } = this;
    const { finish, stopSequence } = this.end;
    return ok({ id, model, blocks, citations, finish, stopSequence, usage });
  }

  private citedText(): Pick<ResponseCitation, 'block' | 'span'> {
    const texts = this.blocks.filter(({ type }) => type === 'text') as ResponseText[];
    const block = texts.at(-1);
    const end = texts.reduce((sum, { text }) => sum + text.length, 0);
    return { block, span: { start: end - (block?.text.length ?? 0), end } };
  }

  /** Tools can be open between the pieces of a text, so the text is not always the last block. */
  private append(type: 'text' | 'reasoning' | 'refusal', text: string): void {
    const block = this.blocks.findLast((candidate) => candidate.type === type);
    if (block && block.type !== 'tool') block.text += text;
  }

  private sign(origin: DialectName, signature: string, redacted: boolean | undefined): void {
    const block = this.blocks.findLast((candidate) => candidate.type === 'reasoning');
    if (block) Object.assign(block, { origin, signature }, redacted ? { redacted } : {});
  }
}

export function collect(events: Iterable<CanonicalEvent>): Result<CanonicalResponse, Fault> {
  const collector = new ResponseCollector();
  for (const event of events) collector.push(event);
  return collector.result();
}

/** A call's arguments as the object that some dialects require; anything else is quoted, never guessed. */
export function argumentsObject(text: string): JsonObject | JsonText {
  if (text.trim() === '') return {};
  return isRecord(parseJsonText(text)) ? new JsonText(text.trim()) : { arguments: text };
}

/** The members of such an object; numbers that a double would change stay as written. */
export function argumentsMembers(text: string): JsonObject {
  const parsed = argumentsObject(text);
  if (!(parsed instanceof JsonText)) return parsed;
  const numberOf = (digits: string): unknown =>
    String(Number(digits)) === digits ? Number(digits) : new JsonText(digits);
  return readJsonText(parsed.text, { numberOf }) as JsonObject;
}

/** The text of arguments given as an object; undefined if they are not an object. */
export function argumentsText(value: unknown): string | undefined {
  return isRecord(value) ? printJson(value) : undefined;
}
