import type { JsonFields } from '../kernel';
import { isRecord, pick } from './usage';

const recordList = (value: unknown): JsonFields[] => (Array.isArray(value) ? value.filter(isRecord) : []);

const textsIn = (values: readonly unknown[]): string[] =>
  values.filter((value) => typeof value === 'string' && value !== '') as string[];

/** The id that the result of an output item refers to; undefined if no result is expected. */
export const callIdOf = ({ type, id, call_id: callId }: JsonFields): unknown =>
  type === 'mcp_approval_request' ? id : callId;

export const callsInChat = (response: unknown): string[] =>
  textsIn(
    recordList(pick(response, 'choices'))
      .flatMap((choice) => recordList(pick(choice, 'message', 'tool_calls')))
      .map(({ id }) => id),
  );

export const callsInMessages = (response: unknown): string[] =>
  textsIn(
    recordList(pick(response, 'content'))
      .filter(({ type }) => type === 'tool_use')
      .map(({ id }) => id),
  );

export const callsInResponses = (response: unknown): string[] =>
  textsIn(recordList(pick(response, 'output')).map(callIdOf));

export const sealsInMessages = (response: unknown): string[] =>
  textsIn(recordList(pick(response, 'content')).flatMap(({ signature, data }) => [signature, data]));

export const sealsInResponses = (response: unknown): string[] =>
  textsIn(
    recordList(pick(response, 'output'))
      .filter(({ type }) => type === 'reasoning')
      .map(({ encrypted_content: encrypted }) => encrypted),
  );
