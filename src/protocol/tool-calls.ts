import type { JsonFields } from '../kernel';
import { isRecord, pick } from './usage';

const recordsIn = (value: unknown): JsonFields[] => (Array.isArray(value) ? value.filter(isRecord) : []);

const textsIn = (values: readonly unknown[]): string[] =>
  values.filter((value) => typeof value === 'string' && value !== '') as string[];

/** The result of an output item refers to this id; undefined where the caller owes none. */
export const callIdOf = ({ type, id, call_id: callId }: JsonFields): unknown =>
  type === 'mcp_approval_request' ? id : callId;

/** The ids of the tool calls in a whole answer, as their results will name them. */
export const callsInChat = (answer: unknown): string[] =>
  textsIn(
    recordsIn(pick(answer, 'choices'))
      .flatMap((choice) => recordsIn(pick(choice, 'message', 'tool_calls')))
      .map(({ id }) => id),
  );

export const callsInMessages = (answer: unknown): string[] =>
  textsIn(
    recordsIn(pick(answer, 'content'))
      .filter(({ type }) => type === 'tool_use')
      .map(({ id }) => id),
  );

export const callsInResponses = (answer: unknown): string[] =>
  textsIn(recordsIn(pick(answer, 'output')).map(callIdOf));

export const sealsInMessages = (answer: unknown): string[] =>
  textsIn(recordsIn(pick(answer, 'content')).flatMap(({ signature, data }) => [signature, data]));

export const sealsInResponses = (answer: unknown): string[] =>
  textsIn(
    recordsIn(pick(answer, 'output'))
      .filter(({ type }) => type === 'reasoning')
      .map(({ encrypted_content: encrypted }) => encrypted),
  );
