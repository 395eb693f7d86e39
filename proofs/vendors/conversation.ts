import { toolOf } from './requests';
import type { CallerName } from './testbed';

type Json = Record<string, unknown>;

const objectOf = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.map(objectOf) : []);

/** A tool conversation as a client of one dialect keeps it: messages received are sent back unchanged. */
export class ToolConversation {
  private readonly turns: object[] = [];

  constructor(private readonly caller: CallerName) {}

  /** The simulator calls the tool on request. */
  say(text: string): this {
    this.turns.push({ role: 'user', content: text });
    return this;
  }

  bodyFor(model: string): object {
    const { caller, turns } = this;
    const tools = [toolOf[caller]];
    if (caller === 'chat') return { model, tools, messages: turns };
    if (caller === 'messages') return { model, tools, max_tokens: 8_000, messages: turns };
    return { model, tools, store: false, include: ['reasoning.encrypted_content'], input: turns };
  }

  /** Adds the response and answers its tool calls; returns their number. */
  addResponse(answer: unknown): number {
    if (this.caller === 'chat') return this.addChatResponse(objectOf(answer));
    return this.caller === 'messages'
      ? this.addMessagesResponse(objectOf(answer))
      : this.addResponsesResponse(objectOf(answer));
  }

  private addChatResponse(answer: Json): number {
    const message = objectOf(listOf(answer['choices'])[0]?.['message']);
    const calls = listOf(message['tool_calls']);
    const results = calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: '1' }));
    this.turns.push(message, ...results);
    return calls.length;
  }

  private addMessagesResponse(answer: Json): number {
    const content = listOf(answer['content']);
    const calls = content.filter(({ type }) => type === 'tool_use');
    this.turns.push({ role: 'assistant', content });
    const results = calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: '1' }));
    if (results.length > 0) this.turns.push({ role: 'user', content: results });
    return calls.length;
  }

  private addResponsesResponse(answer: Json): number {
    const output = listOf(answer['output']);
    const calls = output.filter(({ type }) => type === 'function_call');
    const results = calls.map((call) => ({
      type: 'function_call_output',
      call_id: call['call_id'],
      output: '1',
    }));
    this.turns.push(...output, ...results);
    return calls.length;
  }
}
