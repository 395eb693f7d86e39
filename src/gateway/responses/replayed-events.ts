import { formatEvent, type JsonFields } from '../../kernel';
import { isRecord } from '../../protocol';

/** Rebuilds the stream events of a stored response that follow number `after`. */
export function replayEvents(response: JsonFields, after = -1): string {
  const events = [...eventsOf(response)].map(([type, fields], number) => ({
    place: number,
    text: formatEvent({ event: type, data: JSON.stringify({ type, sequence_number: number, ...fields }) }),
  }));
  return events.flatMap(({ place, text }) => (place > after ? [text] : [])).join('');
}

function* eventsOf(response: JsonFields): Generator<readonly [type: string, fields: JsonFields]> {
  const output: readonly unknown[] = Array.isArray(response.output) ? response.output : [];
  const startedResponse = { ...response, status: 'in_progress', output: [], usage: null };
  yield ['response.created', { response: startedResponse }];
  yield ['response.in_progress', { response: startedResponse }];
  for (const [index, item] of output.entries()) if (isRecord(item)) yield* itemEvents(item, index);
  yield [`response.${response.status === 'incomplete' ? 'incomplete' : 'completed'}`, { response }];
}

function* itemEvents(
  item: JsonFields,
  index: number,
): Generator<readonly [type: string, fields: JsonFields]> {
  const content: readonly unknown[] = Array.isArray(item.content) ? item.content : [];
  const startedItem = { ...item, status: 'in_progress', ...(item.type === 'message' && { content: [] }) };
  yield ['response.output_item.added', { output_index: index, item: startedItem }];
  for (const [contentIndex, part] of content.entries()) {
    if (!isRecord(part) || part.type !== 'output_text') continue;
    const position = { item_id: item.id, output_index: index, content_index: contentIndex };
    yield ['response.content_part.added', { ...position, part: { ...part, text: '', annotations: [] } }];
    yield ['response.output_text.delta', { ...position, delta: part.text, logprobs: [] }];
    yield ['response.output_text.done', { ...position, text: part.text, logprobs: [] }];
    yield ['response.content_part.done', { ...position, part }];
  }
  yield ['response.output_item.done', { output_index: index, item }];
}
